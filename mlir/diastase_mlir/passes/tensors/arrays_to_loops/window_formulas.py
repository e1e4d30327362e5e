"""Windows of few taps as formulas: each element of the result is an expression of some elements.

    result[o] = combine(combine(initial, array[o - 1]), array[o])       where these places exist

is an operation on elements as others are: it is fused with what follows, its innermost loop is that
over neighbours in memory, and tests for the border are taken out of it afterwards
(`passes/buffers/index_set_splitting`).

Taps in holes of a dilated base are left out: places of the result that leave the same rest when
divided by the dilation meet the same taps, so an axis becomes two, `(n / period, period)`, and the
place on the second one decides on the taps. The gradient of an average pool is of this kind; where
windows do not overlap, it has one tap.

More taps along several axes than `MOST_TAPS` are combined axis by axis where their order is free,
and wide windows along an axis are windows of windows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from math import gcd, isqrt, prod

from diastase_mlir.bindings import ir
from diastase_mlir.emit.loops import if_else
from diastase_mlir.emit.operations import all_of, compare_integers, index_binary, index_constant
from diastase_mlir.emit.tensors import (
    Size,
    as_index,
    element_type,
    elementwise,
    extract,
    extract_slice,
    generate,
    hidden,
    sizes_of,
)
from diastase_mlir.passes.operations import SCOPE
from diastase_mlir.passes.tensors.arrays_to_loops.dot_general import merge_axes
from diastase_mlir.passes.tensors.arrays_to_loops.rules import Function

MOST_TAPS = 16
"""Of a formula."""
MOST_ALONG = 32
"""The same along one axis."""
MOST_PHASES = 8
"""Rests of places that meet different taps."""
MOST_LISTED = 2**18
"""Taps of all phases, which are counted one by one."""


@dataclass(frozen=True)
class KnownAxis:
    """How windows lie along an axis: all is known, or the axis has windows of one element each."""

    size: Size
    window: int
    stride: int
    base_dilation: int
    window_dilation: int
    low: int
    result: Size

    @property
    def is_plain(self) -> bool:
        """Whether the result has the same places."""
        numbers = (self.window, self.stride, self.base_dilation, self.low)
        return numbers == (1, 1, 1, 0) and self.size == self.result

    @property
    def period(self) -> int:
        """Places of the result so far apart meet the same taps."""
        return self.base_dilation // gcd(self.base_dilation, self.stride)

    @property
    def step(self) -> int:
        """From the element under a tap to that a period later."""
        return self.period * self.stride // self.base_dilation

    @property
    def is_divisible(self) -> bool:
        """Whether to make its windows of shorter ones, few of them, and each for many windows."""
        is_dense = self.base_dilation == self.window_dilation == 1
        is_shared = self.stride * isqrt(self.window) <= self.window <= MOST_ALONG**2
        return is_dense and is_shared and isinstance(self.result, int)

    @cached_property
    def phases(self) -> list[tuple[tuple[int, ...], int]]:
        """Taps, and how many places of a period after each other meet the same ones."""
        of_places = map(self.taps, range(self.period))
        return [(own, len(list(same))) for own, same in groupby(of_places)]

    @property
    def met(self) -> int:
        """Taps that a place meets at most."""
        return max(len(own) for own, _ in self.phases)

    @property
    def is_short(self) -> bool:
        """Whether a period has few phases."""
        return self.period * self.window <= MOST_LISTED and len(self.phases) <= MOST_PHASES

    def taps(self, phase: int) -> tuple[int, ...]:
        """Elements under the taps, from places that leave this rest when divided by the period."""
        places = (
            phase * self.stride - self.low + tap * self.window_dilation
            for tap in range(self.window)
        )
        dilation = self.base_dilation
        return tuple(place // dilation for place in places if place % dilation == 0)


@dataclass(frozen=True)
class Windows:
    """Arrays that have the same windows, and what is made of the elements of one."""

    arrays: Sequence[ir.Value]
    axes: Sequence[KnownAxis]
    combine: Function
    initial: Sequence[ir.Value] | None
    """What a window begins with; None for its first elements."""
    neutral: Sequence[ir.Value]
    """What windows without elements get."""
    number: int = 0
    """Which of the results is wanted."""


def by_formula(windows: Windows, *, is_free: bool) -> ir.Value | None:
    """One of the combined elements of all windows; None where there are too many.

    `is_free`: whether elements may be combined in any order.
    """
    axes = windows.axes
    if not all(axis.period == 1 or axis.is_short for axis in axes):
        return None
    sizes = [axis.window if axis.period == 1 else axis.met for axis in axes]
    is_wide = max(sizes, default=1) > MOST_ALONG
    if not is_wide and (prod(sizes) <= MOST_TAPS or sum(size > 1 for size in sizes) <= 1):
        return _formula(windows)
    pairs = list(zip(sizes, axes, strict=True))
    if not is_free or any(size > MOST_ALONG and not axis.is_divisible for size, axis in pairs):
        return None
    (array,) = windows.arrays
    for number, (size, axis) in enumerate(pairs):
        if not axis.is_plain:
            along = _along_wide if size > MOST_ALONG else _along
            array = along(replace(windows, arrays=[array]), number, axis)
    return array


def _along(windows: Windows, number: int, axis: KnownAxis) -> ir.Value:
    """Windows along one axis alone."""
    (array,) = windows.arrays
    axes = [_untouched(array, place) for place in range(len(windows.axes))]
    axes[number] = axis
    return _formula(replace(windows, axes=axes))


def _along_wide(windows: Windows, number: int, axis: KnownAxis) -> ir.Value:
    """Wide windows: of windows as long as there are of them, and of what is left over."""
    assert isinstance(axis.result, int)
    length = isqrt(axis.window)
    count, rest = divmod(axis.window, length)
    places = (axis.result - 1) * axis.stride + length * (count - 1) + 1
    inner = replace(axis, window=length, stride=1, result=places)
    outer = KnownAxis(places, count, axis.stride, 1, length, 0, axis.result)
    parts = _along(windows, number, inner)
    # Each of them is read by many windows, and is not to be computed again for each.
    whole = _along(replace(windows, arrays=[hidden(parts)]), number, outer)
    if not rest:
        return whole
    left = _along(windows, number, replace(axis, window=rest, low=axis.low - length * count))
    kind = element_type(whole)
    return elementwise(kind, lambda one, other: windows.combine(one, other)[0], whole, left)


def _untouched(array: ir.Value, place: int) -> KnownAxis:
    """An axis along which nothing is done yet, or any more."""
    size = sizes_of(array)[place]
    return KnownAxis(size, 1, 1, 1, 1, 0, size)


def _formula(windows: Windows) -> ir.Value:
    """One loop over the result, whose axes with a period are two."""
    axes = windows.axes
    groups = [2 if axis.period > 1 else 1 for axis in axes]
    sizes: list[Size] = []
    for axis in axes:
        if axis.period > 1:
            assert isinstance(axis.result, int)
            sizes += [-(-axis.result // axis.period), axis.period]
        else:
            sizes.append(axis.result)

    def element(position: list[ir.Value]) -> ir.Value:
        numbers = iter(position)
        places = [(next(numbers), next(numbers) if group > 1 else None) for group in groups]
        kinds = [value.type for value in windows.neutral]

        def under(taps: list[tuple[int, ...]]) -> list[ir.Value]:
            return _combined(windows, places, taps)

        return _by_phase(axes, places, [], kinds, under)[windows.number]

    kind = element_type(windows.arrays[windows.number])
    value = merge_axes(generate(sizes, kind, element), groups, sizes)
    wanted: list[Size] = [axis.result for axis in axes]
    if sizes_of(value) != wanted and any(group > 1 for group in groups):
        value = extract_slice(value, [0] * len(axes), wanted, [1] * len(axes))
    return value


Places = Sequence[tuple[ir.Value, ir.Value | None]]
"""For each axis the place, and with a period what is left of it when divided by the period."""


def _by_phase(
    axes: Sequence[KnownAxis],
    places: Places,
    taps: list[tuple[int, ...]],
    kinds: Sequence[ir.Type],
    under: Callable[[list[tuple[int, ...]]], list[ir.Value]],
) -> list[ir.Value]:
    """What is under the taps, which depend on where a place lies in the periods of all axes."""
    if len(taps) == len(axes):
        return under(taps)
    _, phase = places[len(taps)]
    groups = axes[len(taps)].phases

    def among(first: int, start: int) -> list[ir.Value]:
        own, count = groups[first]
        if first == len(groups) - 1:
            return _by_phase(axes, places, [*taps, own], kinds, under)
        assert phase is not None
        is_here = compare_integers("slt", phase, index_constant(start + count))
        return if_else(
            SCOPE,
            is_here,
            kinds,
            lambda: _by_phase(axes, places, [*taps, own], kinds, under),
            lambda: among(first + 1, start + count),
        )

    return among(0, 0)


def _combined(windows: Windows, places: Places, taps: Sequence[tuple[int, ...]]) -> list[ir.Value]:
    """The elements under all taps that there are, in row-major order."""
    axes, kinds = windows.axes, [value.type for value in windows.neutral]
    reads = [
        [_read(axis, place, tap) for tap in own]
        for axis, (place, _), own in zip(axes, places, taps, strict=True)
    ]

    def nest(chosen: list[_Read], totals: Sequence[ir.Value] | None) -> Sequence[ir.Value] | None:
        if len(chosen) < len(axes):
            for one in reads[len(chosen)]:
                totals = nest([*chosen, one], totals)
            return totals
        position = [place for place, _ in chosen]
        tests = [test for _, own in chosen for test in own]

        def with_tap() -> list[ir.Value]:
            values = [extract(array, position) for array in windows.arrays]
            return values if totals is None else windows.combine(*totals, *values)

        if not tests:
            return with_tap()
        otherwise = windows.neutral if totals is None else totals
        return if_else(SCOPE, all_of(tests), kinds, with_tap, lambda: otherwise)

    return list(nest([], windows.initial) or windows.neutral)


_Read = tuple[ir.Value, list[ir.Value]]
"""Where an element is, and what must hold for it to be one."""


def _read(axis: KnownAxis, place: ir.Value, tap: int) -> _Read:
    """Where an element is under a tap, and what must hold for it to be one."""
    if axis.is_plain:
        return place, []
    step = axis.step
    first = index_binary("muli", place, index_constant(step)) if step != 1 else place
    where = index_binary("addi", first, index_constant(tap)) if tap else first
    tests: list[ir.Value] = []
    if tap < 0:
        tests.append(compare_integers("sge", where, index_constant(0)))
    is_inside = False
    if isinstance(axis.result, int) and isinstance(axis.size, int):
        is_inside = (-(-axis.result // axis.period) - 1) * step + tap < axis.size
    if not is_inside:
        tests.append(compare_integers("slt", where, as_index(axis.size)))
    return where, tests


def with_pad(axis: KnownAxis, low: int, high: int, interior: int) -> KnownAxis | None:
    """The axis of the array before it was padded by what changes nothing."""
    if axis.base_dilation != 1 and (low or high or interior):
        return None
    return replace(axis, base_dilation=axis.base_dilation * (interior + 1), low=axis.low + low)
