"""`+`, `-` and `*` of traced scalars: a fast path for floats, integers for mid-circuit outcomes.

JAX makes an array of a Python number, asks which type the two have in common, converts both, and
compares their shapes: a tenth of a millisecond, five times as long as recording the equation, and a
program written out has thousands of them. For a traced float without axes, and either another one
of the same type or a Python number, the common type is the traced one's: the operation is recorded
at once. The equation is the same. Anything else (arrays, integers, numbers that are rounded in ways
of their own) is JAX's, but for outcomes.

An outcome is a traced boolean, and JAX takes the sum of two booleans as "or" and their product as
"and", and has no difference of them: `m + n` would never be 2. So in a circuit that has measured,
two scalar booleans, one of them traced, are taken as integers, wherever they come from: an outcome
that a loop has carried is no longer known as one. What `~ & | ^` give is a truth value, with
PennyLane, too, which NumPy adds as JAX does: two of these are left to JAX, as are arrays of
booleans, `jnp.add`, and functions that JAX traces for itself.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer

from diastase.capture.jax_overlays.effect_probe import recording_scope
from diastase.capture.jax_overlays.overlay import Original, Overlays
from diastase.capture.pennylane_compat.compilers import warn_unlike_catalyst
from diastase.dynamic_shapes.dimensions import DimensionTable
from diastase_mlir.jax_compat import is_recorded, tracer_equation

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
    name: str, is_reflected: bool, _: DimensionTable, original: Original, left: Any, right: Any
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


_SUM = (
    "the sum of two outcomes is 0, 1 or 2",
    "it is True if one of them is",
    "write m | n for that, and m.astype(int) + n for the sum",
)

_LOGIC = frozenset({"and", "not", "or", "xor"})


def of_outcomes(operation: str, original: Original, left: Any, right: Any) -> Any:
    """What an operator of JAX's gives, or means for outcomes."""
    if _is_flag(left) and _is_flag(right) and not (_is_truth(left) and _is_truth(right)):
        scope = recording_scope()
        if scope is not None and scope.has_measured:
            if operation == "add":
                warn_unlike_catalyst(*_SUM)
            left, right = jnp.asarray(left).astype(int), jnp.asarray(right).astype(int)
    return original(left, right)


def _is_flag(value: Any) -> bool:
    if isinstance(value, bool):
        return True
    return getattr(value, "dtype", None) == np.bool_ and getattr(value, "shape", None) == ()


def _is_truth(value: Any) -> bool:
    """Whether a flag is the result of `~ & | ^`."""
    if not isinstance(value, Tracer) or not is_recorded(value):
        return False
    equation = tracer_equation(value)
    return equation is not None and equation.primitive.name in _LOGIC


OVERLAYS: Overlays = {
    f"operator_{reflected}{name}": partial(_operator, name, bool(reflected))
    for name in _OPERATIONS
    for reflected in ("", "r")
}
