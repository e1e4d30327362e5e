"""What loops of a program carry, and loops that carry more than arrays, in structured control flow.

Symbols of dimensions defined in a region stay in it (`LoweringContext.region`).
"""

from collections.abc import Callable, Sequence
from typing import Any

from diastase_mlir.emit.loops import Values, append_block
from diastase_mlir.emit.operations import (
    create,
)
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.array_types import retyped
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Value


def region_of(context: LoweringContext, jaxpr: Any) -> Callable[..., Values]:
    """A jaxpr as a function that emits it on values."""

    def emit(*operands: Value) -> Values:
        return [context.value(result) for result in context.lower_jaxpr(jaxpr, operands)]

    return emit


def split(values: Sequence[Any], *counts: int) -> list[list[Any]]:
    """The values in groups of these sizes; the last group is what remains."""
    groups: list[list[Any]] = []
    for count in counts:
        groups.append(list(values[:count]))
        values = values[count:]
    return [*groups, list(values)]


def typed_carry(
    context: LoweringContext, carry: Sequence[ir.Value], avals: Sequence[Any]
) -> Values:
    """Values under the types that a loop carries, or a choice gives."""
    return [context.typed(value, aval) for value, aval in zip(carry, avals, strict=True)]


def resizable_carry(
    context: LoweringContext,
    carry: Sequence[ir.Value],
    given: Sequence[Any],
    avals: Sequence[Any],
) -> Values:
    """Initial values under the types that a loop carries, where these may have other sizes.

    `given`: the types of the values in the jaxpr. The sizes of those whose shapes differ must stay
    unknown until arrays are memory: MLIR's canonicalisation would give the loop the type of the
    initial value, as far as it can find that out, though the body changes it.
    """
    return [
        value if getattr(own, "shape", ()) == getattr(aval, "shape", ()) else hidden(value)
        for value, own, aval in zip(typed_carry(context, carry, avals), given, avals, strict=True)
    ]


def hidden(value: ir.Value) -> ir.Value:
    """The array itself, whose sizes no pass finds out before arrays are memory."""
    return create("runtime.resizable", [value.type], [value]).result


def while_true(
    context: LoweringContext,
    initial: Sequence[ir.Value],
    condition: Callable[[Values], ir.Value],
    body: Callable[[Values], Sequence[ir.Value]],
) -> Values:
    """While the condition (an `i1` computed from the carries) holds."""
    types = [value.type for value in initial]
    operation = create("scf.while", types, initial, regions=2)
    before, after = (append_block(region, types) for region in operation.regions)
    with context.region(after):
        create("scf.yield", [], [*map(retyped, body(list(after.arguments)), types)])
    with context.region(before):
        proceed = condition(list(before.arguments))
        create("scf.condition", [], [proceed, *before.arguments])
    return list(operation.results)
