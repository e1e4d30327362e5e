"""Predication: which elements of a batch are active, where control flow differs between them.

Regions that elements decide to run, each for itself, are run for all of them. What is classical is
chosen afterwards; a lane register cannot be, so in such a region its lanes are active where the
element runs the region, and no others (`primitives.lanes`). Regions nest: an element that does not
run the outer one does not run the inner one, whatever its condition says, as what it computes there
is of no meaning.

Flags are arrays of the batch, and true for elements that are active; `None`: all are.
"""

import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp

from diastase.primitives.lanes import lanes_activate_p
from diastase.primitives.quantum import is_register_aval
from diastase_mlir.jax_compat import BatchAxis


class _Active(threading.local):
    axis: BatchAxis | None = None
    flags: Any = None


_active = _Active()


@contextmanager
def active(axis: BatchAxis, flags: Any) -> Generator[None]:
    """While this code is recorded, these elements are active."""
    before = _active.axis, _active.flags
    _active.axis, _active.flags = axis, flags
    try:
        yield
    finally:
        _active.axis, _active.flags = before


def is_on() -> bool:
    """Whether code is recorded that some elements of a batch do not run."""
    return _active.flags is not None


def active_among(axis: BatchAxis, numbers: Any) -> Any:
    """Flags or counts of elements, which are zero where these are not active around here."""
    if not _is_predicated(axis):
        return numbers
    return jnp.where(_active.flags, numbers, jnp.zeros((), numbers.dtype))


def where_active(flags: Any, values: Sequence[Any]) -> list[Any]:
    """The values, of which registers are active in these lanes."""
    return [
        lanes_activate_p.bind(value, flags.astype(jnp.int64)) if is_register(value) else value
        for value in values
    ]


def active_again(axis: BatchAxis, values: Sequence[Any]) -> list[Any]:
    """The values, of which registers are active where they are around here."""
    if not any(map(is_register, values)):
        return list(values)
    flags = _active.flags if _is_predicated(axis) else jnp.ones(axis.size, bool)
    return where_active(flags, values)


def is_register(value: Any) -> bool:
    """Whether a value is a register, recorded."""
    return is_register_aval(jax.typeof(value))


def _is_predicated(axis: BatchAxis) -> bool:
    return _active.axis is axis and _active.flags is not None
