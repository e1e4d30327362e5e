"""JAX functions of numbers as functions of MLIR scalars, for rules that loop over elements.

What combines two elements is traced by JAX, so it means what it means elsewhere, for every type.
"""

from collections.abc import Callable, Sequence
from typing import Any

from diastase_mlir.emit.tensors import box, unbox
from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.context import LoweringContext

ScalarFunction = Callable[..., list[ir.Value]]
"""MLIR scalars in, MLIR scalars out."""


def scalar_aval(aval: Any) -> Any:
    """The type of an element of an array."""
    return aval.update(shape=())


def scalar_function(
    context: LoweringContext, function: Callable[..., Any], avals: Sequence[Any]
) -> ScalarFunction:
    """A JAX function of numbers, which returns one or a tuple of them."""

    def with_tuple(*numbers: Any) -> tuple[Any, ...]:
        results = function(*numbers)
        return results if isinstance(results, tuple) else (results,)

    def apply(*scalars: ir.Value) -> list[ir.Value]:
        operands = [
            context.typed(box(scalar), aval) for scalar, aval in zip(scalars, avals, strict=True)
        ]
        return [unbox(result) for result in context.lower_function(with_tuple, avals, operands)]

    return apply


def scalar_jaxpr(
    context: LoweringContext, jaxpr: Any, constants: Sequence[Any], avals: Sequence[Any]
) -> ScalarFunction:
    """An open jaxpr of numbers, with its constants."""
    values = [context.constant(constant) for constant in constants]

    def apply(*scalars: ir.Value) -> list[ir.Value]:
        operands = [
            context.typed(box(scalar), aval) for scalar, aval in zip(scalars, avals, strict=True)
        ]
        return [unbox(result) for result in context.lower_inline(jaxpr, values, operands)]

    return apply
