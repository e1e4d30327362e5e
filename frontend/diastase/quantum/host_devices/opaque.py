"""PennyLane's objects with holes: an operator as it is, but for the values that a call brings.

`opaque(obj)` takes an operator or a measurement process apart, by PennyLane's own flattening, as
far as there is a tracer in it: among its parameters, wires, hyperparameters, or those of an
operator inside it. Out: a function that makes it again from numbers, and the tracers that they are
the values of. A part without a tracer is used as it is, so a mid-circuit measurement stays the same
object in all that refers to it.

The trap: numbers are put in as numpy's, whatever the user's program computed with, so that devices
run in numpy; wires are put in as Python integers.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
import pennylane as qml
from jax.core import Tracer
from pennylane.measurements import MeasurementProcess
from pennylane.wires import Wires

from diastase.capture.pennylane_compat import (
    TracedWire,
    flatten_object,
    unflatten_object,
    unwrapped,
)

Maker = Callable[[Sequence[Any]], Any]
"""From the values of all holes to (a part of) the object."""


def opaque(obj: Any) -> tuple[Maker, list[Any]]:
    """A function that makes an object from values for its tracers, and these."""
    holes: list[Any] = []
    return _part(obj, holes), holes


def as_number(value: Any) -> Any:
    """A value of a call as PennyLane's users write it: a numpy scalar or array."""
    return np.asarray(value)[()]


def _part(obj: Any, holes: list[Any]) -> Maker:
    if isinstance(obj, TracedWire):
        return _hole(obj.tracer, holes, int)
    if isinstance(obj, Tracer):
        return _hole(obj, holes, as_number)
    if isinstance(obj, jax.Array):
        return _constant(as_number(obj))
    if isinstance(obj, Wires):
        return _sequence(list(obj), holes, Wires, _wire) or _constant(obj)
    if isinstance(obj, qml.operation.Operator | MeasurementProcess):
        return _object(obj, holes)
    if isinstance(obj, dict):
        keys = list(obj)
        make = _sequence(
            list(obj.values()), holes, lambda values: dict(zip(keys, values, strict=True)), _part
        )
        return make or _constant(obj)
    if type(obj) in (tuple, list):
        return _sequence(list(obj), holes, type(obj), _part) or _constant(obj)
    return _constant(obj)


def _object(obj: Any, holes: list[Any]) -> Maker:
    """An operator or measurement: flattened only if there is a need to make another."""
    leaves, metadata = flatten_object(obj)
    parts = [tuple(leaves), metadata]
    make = _sequence(parts, holes, list, _part)
    if make is None:
        return _constant(obj)

    def remake(values: Sequence[Any]) -> Any:
        filled_leaves, filled_metadata = make(values)
        return unflatten_object(obj, filled_leaves, filled_metadata)

    return remake


def _sequence(
    items: Sequence[Any],
    holes: list[Any],
    build: Callable[[Any], Any],
    part: Callable[[Any, list[Any]], Maker],
) -> Maker | None:
    """Make all items; None if they are as they were."""
    makers = [part(item, holes) for item in items]
    if all(_is_same(make, item) for make, item in zip(makers, items, strict=True)):
        return None
    return lambda values: build([make(values) for make in makers])


def _wire(label: Any, holes: list[Any]) -> Maker:
    label = unwrapped(label)
    if isinstance(label, Tracer):
        return _hole(label, holes, int)
    if isinstance(label, jax.Array | np.ndarray | np.generic) and np.ndim(label) == 0:
        return _constant(np.asarray(label).item())
    return _constant(label)


def _hole(tracer: Any, holes: list[Any], convert: Callable[[Any], Any]) -> Maker:
    position = len(holes)
    holes.append(tracer)
    return lambda values: convert(values[position])


class _constant:
    """A part that is the same in every call."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self, values: Sequence[Any]) -> Any:
        return self.value


def _is_same(make: Maker, item: Any) -> bool:
    return isinstance(make, _constant) and make.value is item
