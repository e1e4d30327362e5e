"""Functions of elements in operations that combine or compare these, say reductions."""

from collections.abc import Callable, Sequence
from typing import Any

from diastase_mlir.emit.loops import append_block
from diastase_mlir.emit.operations import create, number_type
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.context import LoweringContext


def scalar_aval(aval: Any) -> Any:
    """The type of an element of an array."""
    return aval.update(shape=())


def fill(
    context: LoweringContext,
    region: ir.Region,
    kinds: Sequence[ir.Type],
    function: Callable[[Sequence[ir.Value]], Sequence[ir.Value]],
) -> None:
    """Give a region its block, by a function of its arguments."""
    block = append_block(region, kinds)
    with context.region(block):
        create("stablehlo.return", [], function(list(block.arguments)))


def fill_by_jax(
    context: LoweringContext,
    region: ir.Region,
    function: Callable[..., tuple[Any, ...]],
    avals: Sequence[Any],
) -> None:
    """The same by a JAX function, so that it means what it means elsewhere, for every type."""
    kinds = [context.type_of(aval) for aval in avals]
    fill(context, region, kinds, lambda values: context.lower_function(function, avals, values))


def fill_by_operation(
    context: LoweringContext, region: ir.Region, name: str, element: ir.Type
) -> None:
    """The same by an operation of StableHLO on two numbers."""
    kind = number_type(element)
    fill(
        context,
        region,
        [kind, kind],
        lambda values: [create(f"stablehlo.{name}", [kind], values).result],
    )
