"""Rule for `sort`: a stable bottom-up merge sort of positions, along one axis.

For every line of the array along the axis, a permutation of its positions is sorted by the keys
(the first `num_keys` operands, compared lexicographically), then applied to all operands. Runs of
`width` sorted positions are merged in pairs from one buffer into another, and `width` doubles.

Order, as JAX has it: -0.0 equals 0.0, NaNs are equal to each other and come last, complex numbers
compare by real, then imaginary part.
"""

from collections.abc import Callable, Sequence
from typing import Any

from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.array_types import is_complex, is_floating, is_unsigned
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.loops import Values, for_each, for_range, if_else, while_true
from diastase_mlir.lowering.operations import (
    all_of,
    any_of,
    compare_floats,
    compare_integers,
    create,
    flag_constant,
    index_binary,
    index_constant,
    index_type,
    negate,
    select,
    to_signless,
)
from diastase_mlir.lowering.registry import Equation, lowers
from diastase_mlir.lowering.tensors import (
    Size,
    as_index,
    element_type,
    empty,
    extract,
    generate,
    insert,
)

Less = Callable[[ir.Value, ir.Value], ir.Value]
"""Whether the element at one position comes strictly before that at another."""


@lowers("sort")
def lower_sort(context: LoweringContext, equation: Equation, *operands: ir.Value) -> list[ir.Value]:
    """Operands sorted together along an axis."""
    axis, keys = equation.params["dimension"], equation.params["num_keys"]
    avals = equation.avals_in
    arrays = [to_signless(operand) for operand in operands]
    sizes = [context.size(size) for size in avals[0].shape]
    others = [size for number, size in enumerate(sizes) if number != axis]
    results = [empty(sizes, element_type(array)) for array in arrays]

    def line(position: Values, carry: Values) -> Values:
        def at(index: ir.Value) -> list[ir.Value]:
            return [*position[:axis], index, *position[axis:]]

        def less(left: ir.Value, right: ir.Value) -> ir.Value:
            pairs = [
                (extract(array, at(left)), extract(array, at(right)), aval.dtype)
                for array, aval in zip(arrays[:keys], avals[:keys], strict=True)
            ]
            return _lexicographic(pairs)

        order = sorted_positions(context, sizes[axis], less)

        def move(index: ir.Value, inner: Values) -> Values:
            source = at(extract(order, [index]))
            return [
                insert(extract(array, source), result, at(index))
                for array, result in zip(arrays, inner, strict=True)
            ]

        return for_range(context, (0, sizes[axis], 1), carry, move)

    return for_each(context, others, results, line)


def _lexicographic(pairs: Sequence[tuple[ir.Value, ir.Value, Any]]) -> ir.Value:
    """Whether the left values come before the right ones: decided by the first that differ."""
    less, equal = order(*pairs[0])
    for pair in pairs[1:]:
        next_less, next_equal = order(*pair)
        less = any_of([less, all_of([equal, next_less])])
        equal = all_of([equal, next_equal])
    return less


def order(left: ir.Value, right: ir.Value, dtype: Any) -> tuple[ir.Value, ir.Value]:
    """Whether left comes before right, and whether neither comes before the other."""
    if is_floating(dtype):
        return _float_order(left, right)
    if is_complex(dtype):
        part = ir.ComplexType(left.type).element_type
        parts = [
            [create(f"complex.{name}", [part], [value]).result for value in (left, right)]
            for name in ("re", "im")
        ]
        (less, equal), (then_less, then_equal) = (_float_order(*pair) for pair in parts)
        return any_of([less, all_of([equal, then_less])]), all_of([equal, then_equal])
    predicate = "ult" if is_unsigned(dtype) else "slt"
    return compare_integers(predicate, left, right), compare_integers("eq", left, right)


def _float_order(left: ir.Value, right: ir.Value) -> tuple[ir.Value, ir.Value]:
    left_nan, right_nan = (compare_floats("uno", value, value) for value in (left, right))
    before_nan = all_of([right_nan, negate(left_nan)])
    less = any_of([compare_floats("olt", left, right), before_nan])
    equal = any_of([compare_floats("oeq", left, right), all_of([left_nan, right_nan])])
    return less, equal


def sorted_positions(context: LoweringContext, length: Size, less: Less) -> ir.Value:
    """The positions `0..length-1` as a tensor of indices, in stable order of their elements."""
    positions = generate([length], index_type(), lambda position: position[0])
    buffer = empty([length], index_type())
    end = as_index(length)

    def double(carry: Values) -> Values:
        width, source, target = carry
        twice = index_binary("addi", width, width)

        def merge_at(start: ir.Value, inner: Values) -> Values:
            middle = index_binary("minsi", index_binary("addi", start, width), end)
            stop = index_binary("minsi", index_binary("addi", start, twice), end)
            return [_merge(context, source, inner[0], (start, middle, stop), less)]

        (merged,) = for_range(context, (0, end, twice), [target], merge_at)
        return [twice, merged, source]

    def unsorted(carry: Values) -> ir.Value:
        return compare_integers("slt", carry[0], end)

    initial = [index_constant(1), positions, buffer]
    return while_true(context, initial, unsorted, double)[1]


def _merge(
    context: LoweringContext,
    source: ir.Value,
    target: ir.Value,
    bounds: tuple[ir.Value, ir.Value, ir.Value],
    less: Less,
) -> ir.Value:
    """Merge the runs `start..middle` and `middle..stop`; of equal elements the left comes first."""
    start, middle, stop = bounds
    flag = flag_constant(True).type
    one = index_constant(1)

    def step(index: ir.Value, inner: Values) -> Values:
        left, right, result = inner

        def compare() -> Values:
            return [negate(less(extract(source, [right]), extract(source, [left])))]

        has_left = compare_integers("slt", left, middle)
        has_right = compare_integers("slt", right, stop)
        both = all_of([has_left, has_right])
        # With one run used up, the other is taken; no element is read beyond a run.
        (take_left,) = if_else(context, both, [flag], compare, lambda: [has_left])
        taken = extract(source, [select(take_left, left, right)])
        return [
            select(take_left, index_binary("addi", left, one), left),
            select(take_left, right, index_binary("addi", right, one)),
            insert(taken, result, [index]),
        ]

    return for_range(context, (start, stop, 1), [start, middle, target], step)[2]
