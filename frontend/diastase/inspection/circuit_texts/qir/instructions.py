"""Gates of `stdgates.inc`, controlled by any wires, as instructions that every QIR device has.

These are the ones of pyqir's builder: h, x, y, z, s, t and their adjoints, rx, ry, rz, cx, cz, ccx,
swap; but pyqir writes `cnot` for `cx`, which the Quantum Development Kit does not read. A gate is
equal to its instructions up to a phase that nothing shows: it is controlled by nothing else, and a
branch is taken or not.

    C^k p(a)  = C^k rz(a), C^(k-1) p(a/2) on the last control
    C^k rz(a) = rz(a/2), C^k x, rz(-a/2), C^k x             ry alike
    C^k x     = ccx, with k - 2 spare qubits for whether the first two, three, … controls are 1
                (Barenco et al., Phys. Rev. A 52, 3457 (1995), section 7)

The trap: spare qubits are numbered from the size of the register on, and 0 again afterwards.
"""

from collections.abc import Iterator, Sequence
from math import pi

import numpy as np

from diastase.inspection.circuit_texts.expressions import Expression, expressed, scaled
from diastase.inspection.circuit_texts.statements import Gate, Wire

FUNCTIONS = {
    **{name: f"{name}__body" for name in ("h", "x", "y", "z", "s", "t", "rx", "ry", "rz")},
    "sdg": "s__adj", "tdg": "t__adj", "cx": "cx__body", "cz": "cz__body", "ccx": "ccx__body",
    "swap": "swap__body",
}  # fmt: skip
"""The functions of the instruction set, without `__quantum__qis__`."""

_PHASES = {"s": pi / 2, "sdg": -pi / 2, "t": pi / 4, "tdg": -pi / 4}
_ROOTS = {"sx": pi / 2, "inv @ sx": -pi / 2}
_AROUND = {
    "z": (("h", ()), ("x", ()), ("h", ())),
    "y": (("sdg", ()), ("x", ()), ("s", ())),
    "h": (("ry", (-pi / 4,)), ("z", ()), ("ry", (pi / 4,))),
    **{name: (("h", ()), ("p", (angle,)), ("h", ())) for name, angle in _ROOTS.items()},
}
"""Gates as another one between what turns its axis: all three by name and angles."""


def instructions_of(gate: Gate, spare: int) -> Iterator[Gate]:
    """The instructions that a gate is, in order; spare qubits begin at a number."""
    count = len(gate.controls)
    controls, targets = gate.wires[:count], gate.wires[count:]
    flips = [
        Gate("x", (), (wire,))
        for wire, value in zip(controls, gate.controls, strict=True)
        if not value
    ]
    yield from flips
    yield from _controlled(gate.name, gate.angles, controls, targets, spare)
    yield from flips


def _controlled(
    name: str, angles: Sequence[Expression], controls: Sequence[Wire], wires: Sequence[Wire],
    spare: int,
) -> Iterator[Gate]:  # fmt: skip
    """A gate on wires, if all controls are 1."""
    *_, target = wires

    def inner(gate: str, *parameters: Expression) -> Iterator[Gate]:
        return _controlled(gate, parameters, controls, wires, spare)

    if not controls:
        yield from _plain(name, angles, wires)
    elif name == "z" and len(controls) == 1:
        yield Gate("cz", (), (*controls, target))
    elif name == "rx":
        yield Gate("h", (), (target,))
        yield from inner("rz", *angles)
        yield Gate("h", (), (target,))
    elif name in _AROUND:
        (before, forth), (middle, own), (after, back) = _AROUND[name]
        yield Gate(before, tuple(map(_number, forth)), (target,))
        yield from inner(middle, *map(_number, own))
        yield Gate(after, tuple(map(_number, back)), (target,))
    elif name in _PHASES:
        yield from inner("p", _number(_PHASES[name]))
    elif name == "p":
        yield from inner("rz", *angles)
        half = _times(0.5, angles[0])
        yield from _controlled("p", [half], controls[:-1], controls[-1:], spare)
    elif name in ("ry", "rz"):
        for factor in (0.5, -0.5):
            yield Gate(name, (_times(factor, angles[0]),), (target,))
            yield from inner("x")
    else:
        yield from _flipped(name, controls, wires, spare)


def _plain(name: str, angles: Sequence[Expression], wires: Sequence[Wire]) -> Iterator[Gate]:
    if name in _ROOTS:
        yield Gate("rx", (_number(_ROOTS[name]),), tuple(wires))
    elif name != "id":
        yield Gate("rz" if name == "p" else name, tuple(angles), tuple(wires))


def _flipped(
    name: str, controls: Sequence[Wire], wires: Sequence[Wire], spare: int
) -> Iterator[Gate]:
    """The controlled gates that only move basis states: x, swap, id."""
    match name, wires:
        case "x", (target,):
            yield from _flip(controls, target, spare)
        case "swap", (first, second):
            changed = Gate("cx", (), (second, first))
            yield changed
            yield from _flip([*controls, first], second, spare)
            yield changed
        case _:
            assert name == "id", name


def _flip(controls: Sequence[Wire], target: Wire, spare: int) -> Iterator[Gate]:
    """Flip a wire where all controls are 1."""
    first, *others = controls
    forth = list[Gate]()
    for number, control in enumerate(others[:-1]):
        both = np.int64(spare + number)
        forth.append(Gate("ccx", (), (first, control, both)))
        first = both
    yield from forth
    yield Gate("ccx" if others else "cx", (), (first, *others[-1:], target))
    yield from reversed(forth)


def _number(value: float) -> Expression:
    return expressed(np.float64(value))


def _times(factor: float, angle: Expression) -> Expression:
    known = angle.value
    return scaled(factor, angle) if known is None else _number(factor * float(known))
