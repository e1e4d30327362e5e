"""Rules for `top_k` and `approx_top_k`: the first positions of an order along an axis.

All positions along the axis are sorted (`sorting.sorted_positions`) and the first `k` are taken, so
of equal elements the one in front comes first. `top_k` has the total order of IEEE 754, in which
-0.0 is less than 0.0, and a NaN is beyond the infinity of its sign.
"""

from collections.abc import Callable, Sequence
from typing import Any

from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.array_types import is_floating, is_unsigned
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.loops import Values, for_each, for_range
from diastase_mlir.lowering.operations import (
    binary,
    compare_integers,
    create,
    integer_type,
    scalar_constant,
    select,
    to_signless,
)
from diastase_mlir.lowering.registry import Equation, lowers
from diastase_mlir.lowering.sorting import order, sorted_positions
from diastase_mlir.lowering.tensors import element_type, empty, extract, insert

Comes = Callable[[ir.Value, ir.Value], ir.Value]
"""Whether the first of two elements comes strictly before the second."""


@lowers("top_k")
def lower_top_k(context: LoweringContext, equation: Equation, operand: ir.Value) -> list[ir.Value]:
    """The largest elements along an axis, in descending order, and where they are."""
    dtype = equation.avals_in[0].dtype
    predicate = "ugt" if is_unsigned(dtype) else "sgt"

    def greater(left: ir.Value, right: ir.Value) -> ir.Value:
        if is_floating(dtype):
            left, right = _total_order_key(left), _total_order_key(right)
        return compare_integers(predicate, left, right)

    axis = equation.params.get("axis", len(equation.avals_in[0].shape) - 1)
    return _first(context, equation, operand, axis, greater)


@lowers("approx_top_k")
def lower_approx_top_k(
    context: LoweringContext, equation: Equation, operand: ir.Value
) -> list[ir.Value]:
    """The same, exactly, which is the best of approximations; or the smallest, ascending."""
    if not equation.params["aggregate_to_topk"]:
        return NotImplemented
    dtype = equation.avals_in[0].dtype

    def comes(left: ir.Value, right: ir.Value) -> ir.Value:
        pair = (right, left) if equation.params["is_max_k"] else (left, right)
        return order(*pair, dtype)[0]

    axis = equation.params["reduction_dimension"] % len(equation.avals_in[0].shape)
    return _first(context, equation, operand, axis, comes)


def _total_order_key(number: ir.Value) -> ir.Value:
    """An integer that is greater for whatever comes later in the total order of floats."""
    width = ir.FloatType(number.type).width
    bits = create("arith.bitcast", [integer_type(width)], [number]).result
    # Of a negative number all bits but the sign are flipped.
    flipped = binary("arith.xori", bits, scalar_constant(bits.type, (1 << (width - 1)) - 1))
    is_negative = compare_integers("slt", bits, scalar_constant(bits.type, 0))
    return select(is_negative, flipped, bits)


def _first(
    context: LoweringContext, equation: Equation, operand: ir.Value, axis: int, comes: Comes
) -> list[ir.Value]:
    """The first elements of the order along an axis, as many as the result has, and positions."""
    operand = to_signless(operand)
    sizes = [context.size(size) for size in equation.avals_in[0].shape]
    wanted = [context.size(size) for size in equation.avals_out[0].shape]
    places_type = context.element_type_of(equation.avals_out[1])
    results = [empty(wanted, element_type(operand)), empty(wanted, places_type)]
    others = [size for number, size in enumerate(sizes) if number != axis]

    def line(outer: Values, carry: Values) -> Values:
        def at(index: ir.Value) -> Sequence[ir.Value]:
            return [*outer[:axis], index, *outer[axis:]]

        def less(left: ir.Value, right: ir.Value) -> ir.Value:
            return comes(extract(operand, at(left)), extract(operand, at(right)))

        positions = sorted_positions(context, sizes[axis], less)

        def take(index: ir.Value, inner: Values) -> Values:
            place = extract(positions, [index])
            number = create("arith.index_cast", [places_type], [place]).result
            found: Any = extract(operand, at(place))
            return [insert(found, inner[0], at(index)), insert(number, inner[1], at(index))]

        return for_range(context, (0, wanted[axis], 1), carry, take)

    return for_each(context, others, results, line)
