"""What passes compute with, `arith` and `math` on numbers, as JAX's functions."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.core import ShapedArray

from diastase_mlir.bindings import ir

_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "arith.addf": lax.add, "arith.subf": lax.sub, "arith.mulf": lax.mul, "arith.divf": lax.div,
    "arith.remf": lax.rem, "arith.negf": lax.neg, "arith.maximumf": lax.max,
    "arith.minimumf": lax.min, "arith.addi": lax.add, "arith.subi": lax.sub, "arith.muli": lax.mul,
    "math.absf": lax.abs, "math.acos": lax.acos, "math.acosh": lax.acosh, "math.asin": lax.asin,
    "math.asinh": lax.asinh, "math.atan": lax.atan, "math.atan2": lax.atan2,
    "math.atanh": lax.atanh, "math.cbrt": lax.cbrt, "math.ceil": lax.ceil, "math.cos": lax.cos,
    "math.cosh": lax.cosh, "math.erf": lax.erf, "math.exp": lax.exp, "math.expm1": lax.expm1,
    "math.floor": lax.floor, "math.log": lax.log, "math.log1p": lax.log1p, "math.powf": lax.pow,
    "math.roundeven": lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
    "math.rsqrt": lax.rsqrt, "math.sin": lax.sin, "math.sinh": lax.sinh, "math.sqrt": lax.sqrt,
    "math.tan": lax.tan, "math.tanh": lax.tanh,
}  # fmt: skip
"""By the names of operations."""

_TYPES = {"f64": np.dtype(np.float64), "i64": np.dtype(np.int64)}


def aval_of(value: ir.Value) -> ShapedArray | None:
    """The abstract value of a number that a pass has made; None for what is no number."""
    dtype = _TYPES.get(str(value.type))
    return None if dtype is None else ShapedArray((), dtype)


def equation_of(operation: ir.Operation) -> Any:
    """An equation that computes what an operation does, of its own variables; None if unknown."""
    kinds = tuple(str(value.type) for value in operation.operands)
    if operation.name not in _FUNCTIONS or not _TYPES.keys() >= set(kinds):
        return None
    return _equation(operation.name, kinds)


@cache
def _equation(name: str, kinds: tuple[str, ...]) -> Any:
    operands = [jax.ShapeDtypeStruct((), _TYPES[kind]) for kind in kinds]
    (equation,) = jax.make_jaxpr(_FUNCTIONS[name])(*operands).jaxpr.eqns
    return equation
