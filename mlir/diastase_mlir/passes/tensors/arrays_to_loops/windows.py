"""Rules for windows that slide over an array: where they lie, and what is made of each.

    %0 = stablehlo.reduce_window %a, %zero, window = [n], padding = [[n - 1, 0]] { add }

adds up, for each place, all elements before it, and zeros. Where what stands in the padding changes
nothing, that is one loop along the axis. Small windows of one array are formulas
(`window_formulas`); of larger ones, those that do not overlap are reductions (`separate_windows`),
others of known sizes are for MLIR's own conversion, which combines each by itself.

A window at output position `o` starts at `o * stride - low` of the dilated array and has a *tap*
every `window_dilation` elements; `base_dilation - 1` holes lie between neighbours in the dilated
array. Taps in the padding or in a hole count for nothing, as in XLA on the CPU: a window begins
with the initial value and takes in the elements it meets, in row-major order. So the loops run over
the taps inside the array only. Numbers of windows may be known at run time only (`runtime`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.loops import Values, for_each, for_range, if_else, running
from diastase_mlir.emit.operations import (
    compare_integers,
    index_binary,
    index_constant,
    select,
    to_signless,
    to_type,
)
from diastase_mlir.emit.tensors import (
    Size,
    as_index,
    element_type,
    empty,
    extract,
    insert,
    larger,
    plus,
    sizes_of,
    smaller,
    times,
    unbox,
)
from diastase_mlir.passes.operations import SCOPE, defining, number_in
from diastase_mlir.passes.tensors.arrays_to_loops.neutral_numbers import (
    changes_nothing,
    is_sum_of_floats,
    number_of,
)
from diastase_mlir.passes.tensors.arrays_to_loops.rules import (
    Rule,
    function_of,
    minus,
    numbers,
    quotient,
    signless_operands,
    sizes_known,
)
from diastase_mlir.passes.tensors.arrays_to_loops.separate_windows import separate_windows
from diastase_mlir.passes.tensors.arrays_to_loops.window_formulas import (
    KnownAxis,
    Windows,
    by_formula,
    with_pad,
)


@dataclass(frozen=True)
class WindowAxis:
    """How windows lie along one axis."""

    size: Size
    window: Size
    stride: Size = 1
    base_dilation: Size = 1
    window_dilation: Size = 1
    low: Size = 0
    high: Size = 0

    def count(self) -> Size:
        """How many windows there are."""
        taken = plus(times(plus(self.window, -1), self.window_dilation), 1)
        spread = plus(times(plus(self.size, -1), self.base_dilation), 1)
        spread = _when(_is_positive(self.size), spread, 0)
        room = minus(plus(spread, plus(self.low, self.high)), taken)
        # A quotient of negative numbers is rounded towards zero.
        places = plus(quotient("divsi", larger(room, 0), self.stride), 1)
        return _when(_is_positive(plus(room, 1)), places, 0)


def _reduce_window(operation: Any) -> Sequence[ir.Value] | None:
    """What StableHLO says in attributes."""
    rank = operation.operands[0].type.rank
    is_neutral = len(operation.results) == 1 and changes_nothing(operation)
    if is_neutral:
        along = _whole_axis(operation)
        if along is not None:
            return [_running(operation, *along)]
    values = _formulas(operation, is_neutral)
    if values is not None:
        return values
    if is_neutral:
        shapes = (operation.operands[0].type, operation.results[0].type)
        if all(kind.has_static_shape and 0 not in kind.shape for kind in shapes):
            value = separate_windows(operation)
            return None if value is None else [value]
    padding = padding_of(operation, rank)
    columns = [numbers(operation, name, [1] * rank) for name in _NUMBERS]
    columns += [[low for low, _ in padding], [high for _, high in padding]]
    own = sizes_of(operation.operands[0])
    axes = [WindowAxis(*entries) for entries in zip(own, *columns, strict=True)]
    known = sizes_known(operation)
    sizes = [axis.count() if size is None else size for axis, size in zip(axes, known, strict=True)]
    return _over_windows(operation, axes, sizes, list(operation.operands))


_NUMBERS = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")


def _formulas(operation: Any, is_neutral: bool) -> Sequence[ir.Value] | None:
    """Each window as a formula, where windows are small and known well enough."""
    count = len(operation.results)
    arrays, initial = operation.operands[:count], operation.operands[count:]
    rank, places = arrays[0].type.rank, sizes_known(operation)
    lows = [low for low, _ in padding_of(operation, rank)]
    pad = _neutral_pad(operation) if is_neutral else None
    arrays = [to_signless(array) for array in (arrays if pad is None else pad.operands[:1])]
    own_sizes = sizes_of(arrays[0])
    columns = [numbers(operation, name, [1] * rank) for name in _NUMBERS]
    axes: list[KnownAxis] = []
    for axis, (size, low, *entries) in enumerate(zip(own_sizes, lows, *columns, strict=True)):
        place = places[axis]
        result = size if place is None else place
        window, stride, base, dilation = entries
        own = KnownAxis(size, window, stride, base, dilation, low, result)
        if pad is not None:
            names = ("edge_padding_low", "edge_padding_high", "interior_padding")
            own = with_pad(own, *(numbers(pad, name)[axis] for name in names))
        if own is None or not (own.is_plain or (isinstance(size, int) and place is not None)):
            return None
        axes.append(own)
    if 0 in own_sizes or any(axis.result == 0 for axis in axes):
        return None
    neutral = [unbox(to_signless(value)) for value in initial]
    first = None if is_neutral and not is_sum_of_floats(operation) else neutral
    windows = Windows(arrays, axes, function_of(operation.regions[0]), first, neutral)
    values: list[ir.Value] = []
    for number, result in enumerate(operation.results):
        is_used = next(iter(result.uses), None) is not None
        value = (
            by_formula(replace(windows, number=number), is_free=is_neutral)
            if is_used
            else arrays[0]
        )
        if value is None:
            return None
        values.append(value)
    return values


def _neutral_pad(operation: Any) -> Any:
    """The operation that pads the array with numbers that change nothing, if there is one."""
    pad = defining(operation.operands[0])
    if pad is None or pad.name != "stablehlo.pad":
        return None
    filler = defining(pad.operands[1])
    if filler is None or filler.name != "stablehlo.constant":
        return None
    if number_of(filler) != number_of(operation.operands[1].owner):
        return None
    amounts = [*numbers(pad, "edge_padding_low"), *numbers(pad, "edge_padding_high")]
    return None if min(amounts, default=0) < 0 else pad


def padding_of(operation: Any, rank: int) -> list[tuple[int, int]]:
    """Before and behind each axis."""
    if "padding" not in operation.attributes:
        return [(0, 0)] * rank
    elements: Any = ir.DenseIntElementsAttr(operation.attributes["padding"])
    amounts = [int(number) for number in elements]
    return list(zip(amounts[::2], amounts[1::2], strict=True))


def _reduce_window_of_unknown(operation: Any) -> Sequence[ir.Value]:
    """The same by vectors."""
    *groups, shape, windows, strides, base, dilations, low = operation.operands
    operands = [value for group in groups for value in _members(group)]
    own, vectors = sizes_of(to_signless(operands[0])), (windows, strides, base, dilations, low)
    places = range(len(own))
    axes = [WindowAxis(own[axis], *(number_in(one, axis) for one in vectors)) for axis in places]
    sizes = [number_in(shape, axis) for axis in places]
    results = _over_windows(operation, axes, sizes, operands)
    if len(results) == 1:
        return results
    for use in list(operation.results[0].uses):
        user = use.owner.operation
        member = user.results[0]
        result = results[ir.IntegerAttr(user.attributes["index"]).value]
        member.replace_all_uses_with(to_type(result, member.type))
        user.erase()
    return groups[:1]  # nothing uses the tuple any more


def _members(group: Any) -> list[ir.Value]:
    """Several values, if it is a tuple."""
    is_tuple = isinstance(group.type, ir.TupleType)
    return list(group.owner.operands) if is_tuple else [group]


def _over_windows(
    operation: Any, axes: Sequence[WindowAxis], sizes: Sequence[Size], operands: Sequence[ir.Value]
) -> Values:
    """For each window, its elements combined: `combine(*so_far, *elements)`; one per array."""
    count, combine = len(operands) // 2, function_of(operation.regions[0])
    arrays = [to_signless(array) for array in operands[:count]]
    initial = [unbox(to_signless(value)) for value in operands[count:]]
    results = [empty(sizes, element_type(array)) for array in arrays]

    def window(output: Values, carry: Values) -> Values:
        def take_in(position: Values, so_far: Values) -> Values:
            return combine(*so_far, *(extract(array, position) for array in arrays))

        totals = over_taps(axes, output, initial, take_in)
        return [insert(total, result, output) for total, result in zip(totals, carry, strict=True)]

    return for_each(SCOPE, sizes, results, window)


def over_taps(
    axes: Sequence[WindowAxis],
    output: Sequence[ir.Value],
    carry: Values,
    body: Callable[[Values, Values], Values],
) -> Values:
    """Loop over the taps of one window that lie on elements: `body(position, carry)`."""

    def nest(position: Values, inner: Values) -> Values:
        if len(position) == len(axes):
            return body(position, inner)
        axis = axes[len(position)]
        first = minus(times(output[len(position)], axis.stride), axis.low)

        def at(tap: ir.Value, carries: Values) -> Values:
            place = as_index(plus(first, times(tap, axis.window_dilation)))
            if isinstance(axis.base_dilation, int) and axis.base_dilation == 1:
                return nest([*position, place], carries)
            base = as_index(axis.base_dilation)
            hole = index_binary("remsi", place, base)
            place = index_binary("divsi", place, base)
            return if_else(
                SCOPE,
                compare_integers("eq", hole, index_constant(0)),
                [value.type for value in carries],
                lambda: nest([*position, place], carries),
                lambda: carries,
            )

        return for_range(SCOPE, (*_taps_inside(axis, first), 1), inner, at)

    return nest([], carry)


def _taps_inside(axis: WindowAxis, first: Size) -> tuple[Size, Size]:
    """The taps from the first one at or behind the array's start to the last before its end."""
    end = axis.size
    if not isinstance(axis.base_dilation, int) or axis.base_dilation != 1:
        end = plus(times(plus(end, -1), axis.base_dilation), 1)
    lower = larger(quotient("ceildivsi", minus(0, first), axis.window_dilation), 0)
    until = quotient("ceildivsi", minus(end, first), axis.window_dilation)
    return lower, smaller(until, axis.window)


def _is_positive(size: Size) -> bool | ir.Value:
    if isinstance(size, int):
        return size > 0
    return compare_integers("sgt", size, index_constant(0))


def _when(flag: bool | ir.Value, size: Size, otherwise: Size) -> Size:
    if isinstance(flag, bool):
        return size if flag else otherwise
    return select(flag, as_index(size), as_index(otherwise))


# --- running combinations -------------------------------------------------------------------------


def _cumulative(operation: Any) -> Sequence[ir.Value]:
    axis = ir.IntegerAttr(operation.attributes["axis"]).value
    return [_running(operation, axis, ir.BoolAttr(operation.attributes["reverse"]).value)]


def _running(operation: Any, axis: int, backwards: bool) -> ir.Value:
    operand = signless_operands(operation)[0]
    function = function_of(operation.regions[0])

    def combine(total: ir.Value, value: ir.Value) -> ir.Value:
        return function(total, value)[0]

    return running(SCOPE, operand, sizes_of(operand), axis, combine, backwards)


def _whole_axis(operation: Any) -> tuple[int, bool] | None:
    """The axis along which each window ends (begins: True) at its place, and has all before it."""
    kind = operation.operands[0].type
    if not kind.has_static_shape or operation.results[0].type.shape != kind.shape:
        return None
    names = ("window_strides", "base_dilations", "window_dilations")
    if any(number != 1 for name in names for number in numbers(operation, name)):
        return None
    window = numbers(operation, "window_dimensions")
    axes = [axis for axis, size in enumerate(window) if size != 1]
    if len(axes) != 1 or window[axes[0]] != kind.shape[axes[0]]:
        return None
    padding, (axis,) = list(chain(*padding_of(operation, len(window)))), axes
    size = window[axis] - 1
    for backwards in (False, True):
        wanted = [0] * (2 * len(window))
        wanted[2 * axis + backwards] = size
        if padding == wanted:
            return axis, backwards
    return None


RULES: dict[str, Rule] = {
    "stablehlo.reduce_window": _reduce_window,
    "runtime.reduce_window": _reduce_window_of_unknown,
    "runtime.cumulative": _cumulative,
}
