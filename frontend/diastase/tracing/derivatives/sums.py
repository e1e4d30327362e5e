"""Cotangents added to a sum in place: `w[i]` in a loop has one element of `w` to add to.

JAX transposes the reading of a part of an array to an array of zeros with the part in it. To add
that to a sum in each iteration would make a loop over an array quadratic. `added` finds such an
array in the trace that has just recorded it, and adds the part only; the zeros are not read then.
"""

from typing import Any

import jax
import numpy as np
from jax import lax
from jax.core import Tracer

from diastase_mlir.jax_internals import (
    is_recorded,
    is_recorded_variable,
    tracer_equation,
    unwrap_tracer,
)


def added(total: Any, change: Any) -> Any:
    """`total + change`."""
    equation = _equation(change)
    if equation is None:
        return total + change
    name, operands = equation.primitive.name, equation.in_tracers
    if name == "add_any":
        return added(added(total, operands[0]), operands[1])
    if name == "dynamic_update_slice" and _is_zero(operands[0]):
        _, part, *start = operands
        before = lax.dynamic_slice_p.bind(total, *start, slice_sizes=part.shape)
        return lax.dynamic_update_slice_p.bind(total, before + part, *start)
    if name == "scatter-add" and _is_zero(operands[0]):
        return lax.scatter_add_p.bind(total, *operands[1:], **equation.params)
    return total + change


def _equation(value: Any) -> Any:
    value = unwrap_tracer(value)
    if not (isinstance(value, Tracer) and is_recorded(value) and is_recorded_variable(value)):
        return None
    return tracer_equation(value)


def _is_zero(value: Any) -> bool:
    """Whether an array is a number, nought, in all places."""
    equation = _equation(value)
    if equation is None or equation.primitive.name != "broadcast_in_dim":
        return False
    (number, *_) = equation.in_tracers
    if is_recorded(number):
        if is_recorded_variable(number):
            return False
        number = number.val.val
    return bool(jax.typeof(number).shape == () and np.asarray(number) == 0)
