"""The loops and branches of StableHLO that lowering rules emit, for values that are all arrays.

What carries anything else, a register of qubits, is structured control flow instead
(`control_flow.loops`), as StableHLO's operations take arrays only. Signals are not polled for here:
the pass that converts these loops sees to that.
"""

from collections.abc import Callable, Sequence
from typing import Any

from diastase_mlir.emit.loops import Values, append_block
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
    types = [value.type for value in initial]
    bounds = [_bound(number) for number in (0, trips, 1)]
    operation = create("scf.for", types, [*bounds, *initial], regions=1)
    block = append_block(operation.regions[0], [index_type(), *types])
    with context.region(block):
        arguments: list[Any] = list(block.arguments)
        trip = create("runtime.number", [number_type(integer_type(64))], arguments[:1]).result
        create("scf.yield", [], [*map(retyped, body(trip, arguments[1:]), types)])
    return list(operation.results)


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
        _fill(context, append_block(region, types), function, kinds)
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
        _fill(context, append_block(region, []), lambda _, own=branch: own(), types)
    return list(operation.results)


def _fill(
    context: LoweringContext,
    block: Any,
    function: Callable[[Values], Sequence[ir.Value]],
    types: Sequence[ir.Type],
) -> None:
    with context.region(block):
        results = function(list(block.arguments))
        create("stablehlo.return", [], [*map(retyped, results, types)])
