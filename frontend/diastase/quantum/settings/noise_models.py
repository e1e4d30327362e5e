"""Noise that is added to every operation of a circuit: `qml.add_noise`, `qml.noise.insert`.

Both are transforms of tapes, of a QNode or of a device. What they do to one operation does not
depend on the others, so it is said here as a function of one operator (`NoiseStep`), and can be
done in loops and branches, whose operations no tape has (`quantum.inserted_noise`).

In: an entry of a pipeline, or a device with such transforms; they stand in the order in which they
are applied, each to what the one before has made. Out: steps, or None where the transform is
another one, or looks at measurements (the `meas_map` of a noise model).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pennylane as qml
from pennylane.noise import add_noise, insert
from pennylane.noise.conditionals import WiresEq, WiresIn
from pennylane.operation import Operation
from pennylane.tape import make_qscript

from diastase.capture.pennylane_compat import is_traced_wire


@dataclass(frozen=True)
class NoiseStep:
    """What one transform does."""

    around: Callable[[Any], list[Any]]
    """From an operator to those in its place, among them the operator itself."""
    at_start: Callable[[Any], list[Any]] | None = None
    """Operators on a wire before all others, if any."""
    at_end: Callable[[Any], list[Any]] | None = None


Noise = tuple[NoiseStep, ...]


def noise_of_device(device: Any) -> Noise | None:
    """What a device with transforms adds; () for a device without, None if it does other things."""
    steps: list[NoiseStep] = []
    while hasattr(device, "_original_device"):
        step = _step(device.transform, device.targs, device.tkwargs)
        if step is None:
            return None
        steps.insert(0, step)
        device = device._original_device
    return tuple(steps)


def noise_of_entries(entries: Sequence[Any]) -> Noise | None:
    """What transforms of a QNode add."""
    steps = [_step(entry, entry.args, entry.kwargs) for entry in entries]
    return None if None in steps else tuple(step for step in steps if step is not None)


def _step(transform: Any, args: Sequence[Any], kwargs: Any) -> NoiseStep | None:
    own = transform.tape_transform
    if own is add_noise.tape_transform:
        return _model(*args, **kwargs)
    if own is insert.tape_transform:
        return _insertion(*args, **kwargs)
    return None


def _model(noise_model: Any, level: Any = "user") -> NoiseStep | None:
    """Conditions on operators, and what is put around those that meet them."""
    if noise_model.meas_map:
        return None
    rules = [(when, make_qscript(noise)) for when, noise in noise_model.model_map.items()]
    compares = any(map(compares_wires, noise_model.model_map))

    def around(operator: Any) -> list[Any]:
        found = [operator]
        if compares and any(map(is_traced_wire, operator.wires)):
            raise TracedConditionError
        for condition, noise in rules:
            if not condition(operator):
                continue
            made = noise(operator, **noise_model.metadata).operations
            place = next((k for k, one in enumerate(made) if _is_same(one, operator)), None)
            found = (
                [*found, *made] if place is None else [*made[:place], *found, *made[place + 1 :]]
            )
        return found

    return NoiseStep(around)


class TracedConditionError(Exception):
    """A condition compares wires, and some are traced; whoever catches it says in which QNode."""


def compares_wires(condition: Any) -> bool:
    """Whether a condition of a noise model looks at wires, or may do so."""
    parts = [getattr(condition, name, None) for name in ("left", "right", "operand", "operands")]
    if isinstance(condition, WiresIn | WiresEq):
        return True
    flat = [one for part in parts for one in (part if isinstance(part, tuple | list) else [part])]
    return any(compares_wires(one) for one in flat if isinstance(one, qml.BooleanFn))


def _is_same(one: Any, operator: Any) -> bool:
    """Whether a noise function has applied the operator itself, between what it adds."""
    if one is operator:
        return True
    return type(one) is type(operator) and one.data == () and qml.equal(one, operator)


def _insertion(
    op: Any, op_args: Any, position: Any = "all", before: bool = False
) -> NoiseStep | None:
    """An operator on each wire."""
    values = list(op_args) if isinstance(op_args, Sequence) else [op_args]
    kinds = _kinds(position)
    if kinds is None and position not in ("start", "end", "all"):
        return None  # PennyLane says what is wrong

    def on(wire: Any) -> list[Any]:
        return list(make_qscript(op)(*values, wires=wire).operations)

    def around(operator: Any) -> list[Any]:
        asked = position == "all" or (kinds is not None and isinstance(operator, kinds))
        added = [one for wire in operator.wires for one in on(wire)] if asked else []
        return [*added, operator] if before else [operator, *added]

    start, end = (on if position == place else None for place in ("start", "end"))
    return NoiseStep(around, start, end)


def _kinds(position: Any) -> tuple[type, ...] | None:
    """The classes of operators that are asked for."""
    given = position if isinstance(position, list) else [position]
    if all(isinstance(each, type) and Operation in each.__bases__ for each in given):
        return tuple(given)
    return None
