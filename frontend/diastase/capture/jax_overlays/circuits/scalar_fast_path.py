"""`x + 1.5` of traced numbers, without JAX's promotion of types where there is nothing to promote.

JAX makes an array of the Python number, asks which type the two have in common, converts both, and
compares their shapes: a tenth of a millisecond, five times as long as recording the equation, and a
program written out has thousands of them. For a traced float without axes, and either another one
of the same type or a Python number, the common type is the traced one's: the operation is recorded
at once. The equation is the same. Anything else (arrays, integers, numbers that are
rounded in ways of their own) is JAX's, by way of `outcomes`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import numpy as np
from jax import lax

from diastase.capture.jax_overlays.circuits.outcomes import of_outcomes
from diastase.capture.jax_overlays.overlay import Original, Overlays
from diastase.dynamic_shapes.dimensions import DimensionTable
from diastase_mlir.jax_compat import is_recorded

_OPERATIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "add": lax.add,
    "sub": lax.sub,
    "mul": lax.mul,
}

_WHOLE = 2**24
"""Integers up to there are floats of either type."""

_SMALLEST, _LARGEST = 1e-30, 1e30
"""Between them, single precision has no subnormal numbers and no overflow."""


def _operator(
    name: str,
    is_reflected: bool,
    _: DimensionTable,
    original: Original,
    left: Any,
    right: Any,
) -> Any:
    other = _under_its_type(left, right) if is_recorded(left) else None
    if other is None:
        return of_outcomes(name, original, left, right)
    operation = _OPERATIONS[name]
    return operation(other, left) if is_reflected else operation(left, other)


def _under_its_type(traced: Any, other: Any) -> Any:
    """The other operand under the type of the traced one, where that takes no decision."""
    traced_type = _plain_float(traced)
    if traced_type is None:
        return None
    if is_recorded(other):
        return other if _plain_float(other) == traced_type else None
    dtype, is_weak = traced_type
    kind = type(other)
    if kind is int:
        is_exact = -_WHOLE < other < _WHOLE
    else:
        is_double = dtype == np.float64
        is_exact = kind is float and (is_double or other == 0 or _SMALLEST < abs(other) < _LARGEST)
    if not is_exact:
        return None
    return float(other) if is_weak else dtype.type(other)  # JAX's type of a `float` is weak


def _plain_float(tracer: Any) -> tuple[Any, bool] | None:
    """The type of a traced float without axes and whether it is weak, if it is one."""
    aval = tracer.aval
    if getattr(aval, "shape", None) != ():
        return None
    config: Any = jax.config
    default = np.float64 if config.jax_enable_x64 else np.float32
    is_plain = aval.dtype == default or (aval.dtype == np.float32 and not aval.weak_type)
    return (aval.dtype, aval.weak_type) if is_plain else None


OVERLAYS: Overlays = {
    f"operator_{reflected}{name}": partial(_operator, name, bool(reflected))
    for name in _OPERATIONS
    for reflected in ("", "r")
}
