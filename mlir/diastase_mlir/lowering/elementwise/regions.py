"""Operations with regions that rules emit: loops, branches, functions of elements.

Values that are all arrays have StableHLO's loops and branches; signals are not polled for here, the
pass that converts these loops sees to that. What carries anything else, a register of qubits, is
structured control flow (`scf`), as StableHLO's operations take arrays only. Reductions, sorts and
the like have regions that combine or compare elements (`fill`, `fill_by_jax`, `fill_by_operation`).

Symbols of dimensions that are defined in a region stay in it (`LoweringContext.region`).
"""

from collections.abc import Callable, Sequence
from typing import Any

from diastase_mlir.emit.loops import Values, append_block, for_range
from diastase_mlir.emit.operations import (
    create,
    index_type,
    integer_constant,
    integer_type,
    number_type,
)
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.array_types import retyped
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Value
from diastase_mlir.lowering.elementwise.elementwise import compared


def are_arrays(types: Sequence[ir.Type]) -> bool:
    """Whether all values of these types are arrays."""
    return all(isinstance(kind, ir.RankedTensorType) for kind in types)


def on_numbers(name: str, *operands: ir.Value) -> ir.Value:
    """An operation of StableHLO whose result has its first operand's type."""
    return create(f"stablehlo.{name}", [operands[0].type], operands).result


def converted(value: ir.Value, element: ir.Type) -> ir.Value:
    """A number as one of another type."""
    kind = number_type(element)
    return value if value.type == kind else create("stablehlo.convert", [kind], [value]).result


def counted_loop(
    context: LoweringContext,
    trips: int | ir.Value,
    initial: Sequence[ir.Value],
    body: Callable[[ir.Value, Values], Sequence[ir.Value]],
) -> Values:
    """`for trip in range(trips)`; the trip count and the counter are numbers of 64 bits."""
    limit = integer_constant(trips) if isinstance(trips, int) else trips

    def step(values: Values) -> Values:
        counter, *inner = values
        results = body(counter, inner)
        return [on_numbers("add", counter, integer_constant(1)), *results]

    results = while_true(
        context,
        [integer_constant(0), *initial],
        lambda values: compared("lt", "SIGNED", values[0], limit),
        step,
    )
    return results[1:]


def counted_loop_of_registers(
    context: LoweringContext,
    trips: int | ir.Value,
    initial: Sequence[ir.Value],
    body: Callable[[ir.Value, Values], Sequence[ir.Value]],
) -> Values:
    """The same for carries that are not all arrays."""
    lower, upper, step = map(_bound, (0, trips, 1))

    def iteration(index: ir.Value, inner: Values) -> Sequence[ir.Value]:
        kind = number_type(integer_type(64))
        return body(create("runtime.number", [kind], [index]).result, inner)

    return for_range(context, (lower, upper, step), initial, iteration, retyped)


def _bound(number: int | ir.Value) -> ir.Value:
    """A number as structured control flow takes the bounds of a loop."""
    tensor = integer_constant(number) if isinstance(number, int) else number
    return create("runtime.scalar", [index_type()], [tensor]).result


def flag(tensor: ir.Value) -> ir.Value:
    """A flag as structured control flow takes a condition."""
    return create("runtime.scalar", [integer_type(1)], [tensor]).result


def while_true(
    context: LoweringContext,
    initial: Sequence[ir.Value],
    condition: Callable[[Values], ir.Value],
    body: Callable[[Values], Sequence[ir.Value]],
) -> Values:
    """While the condition, a flag computed from the carries, holds."""
    types = [value.type for value in initial]
    operation = create("stablehlo.while", types, initial, regions=2)
    for region, function, kinds in zip(
        operation.regions,
        (lambda values: [condition(values)], body),
        ([number_type(integer_type(1))], types),
        strict=True,
    ):
        fill(context, region, types, function, kinds)
    return list(operation.results)


def case(
    context: LoweringContext,
    index: ir.Value,
    types: Sequence[ir.Type],
    branches: Sequence[Callable[[], Sequence[ir.Value]]],
) -> Values:
    """One of several branches, by a number of 32 bits; the last one where it is out of range."""
    operation = create("stablehlo.case", types, [index], regions=len(branches))
    for region, branch in zip(operation.regions, branches, strict=True):
        fill(context, region, [], lambda _, own=branch: own(), types)
    return list(operation.results)


def scalar_aval(aval: Any) -> Any:
    """The type of an element of an array."""
    return aval.update(shape=())


def fill(
    context: LoweringContext,
    region: ir.Region,
    kinds: Sequence[ir.Type],
    function: Callable[[Values], Sequence[ir.Value]],
    results: Sequence[ir.Type] | None = None,
) -> None:
    """Give a region its block, by a function of its arguments; `results`: under these types."""
    block = append_block(region, kinds)
    with context.region(block):
        values = function(list(block.arguments))
        values = values if results is None else [*map(retyped, values, results)]
        create("stablehlo.return", [], values)


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
