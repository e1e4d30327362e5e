"""Rules for what moves elements by a formula of their positions."""

from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.buffers import allocate, as_tensor, put_element
from diastase_mlir.emit.loops import if_else
from diastase_mlir.emit.operations import (
    all_of,
    compare_integers,
    create,
    index_binary,
    index_constant,
    integer_type,
    scalar_constant,
    signless_type,
    to_signless,
)
from diastase_mlir.emit.tensors import (
    DYNAMIC,
    Size,
    as_index,
    element_type,
    extract,
    extract_slice,
    generate,
    larger,
    plus,
    reshape,
    sizes_of,
    smaller,
    times,
    unbox,
)
from diastase_mlir.passes.operations import SCOPE, defining, number_in
from diastase_mlir.passes.tensors.arrays_to_loops.rules import (
    Rule,
    by_axis,
    minus,
    numbers,
    quotient,
    signless_operands,
    sizes_given,
    sizes_known,
)
from diastase_mlir.passes.tensors.arrays_to_loops.window_formulas import (
    KnownAxis,
    Windows,
    by_formula,
)
from diastase_mlir.passes.tensors.scalarize.movement import adds_axes

_FEW = 4
"""Arrays that are told apart one after the other; of more, each choice leaves out half."""


def _pad(operation: Any) -> Sequence[ir.Value]:
    """Elements set apart and surrounded by a value; negative amounts cut off instead."""
    operand, filler, *vectors = signless_operands(operation)
    fill, own = unbox(filler), sizes_of(operand)
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    lows, highs, interiors = by_axis(operation, names, vectors, len(own))
    known = sizes_known(operation)
    if (part := _cut_off(operand, [lows, highs, interiors, known])) is not None:
        return [part]
    if any(isinstance(interior, int) and interior for interior in interiors):
        value = _set_apart(operand, fill, [own, interiors, lows, known])
        if value is not None:
            return [value]
    sizes = [
        _padded(*four) if size is None else size
        for size, *four in zip(known, own, lows, highs, interiors, strict=True)
    ]

    def element(position: list[ir.Value]) -> ir.Value:
        source: list[ir.Value] = []
        inside: list[ir.Value] = []
        for index, low, interior, size in zip(position, lows, interiors, own, strict=True):
            distance = index_binary("subi", index, as_index(low))
            inside.append(compare_integers("sge", distance, index_constant(0)))
            if not isinstance(interior, int) or interior:
                step = as_index(plus(interior, 1))
                remainder = index_binary("remsi", distance, step)
                inside.append(compare_integers("eq", remainder, index_constant(0)))
                distance = index_binary("divsi", distance, step)
            inside.append(compare_integers("slt", distance, as_index(size)))
            source.append(distance)
        if not inside:
            return extract(operand, [])
        kinds, met = [fill.type], all_of(inside)
        return if_else(SCOPE, met, kinds, lambda: [extract(operand, source)], lambda: [fill])[0]

    return [generate(sizes, element_type(operand), element)]


def _cut_off(operand: ir.Value, columns: Sequence[Any]) -> ir.Value | None:
    """The part that is left where nothing is added, as in a gradient of padding."""
    lows, highs, interiors, sizes = columns
    if any(interiors) or not all(size for size in sizes):
        return None
    if not all(isinstance(number, int) and number <= 0 for number in (*lows, *highs)):
        return None
    return extract_slice(operand, [-low for low in lows], sizes, [1] * len(sizes))


def _set_apart(operand: ir.Value, fill: ir.Value, columns: Sequence[Any]) -> ir.Value | None:
    """The same as windows of one element each over an array with holes, where all is known."""
    axes: list[KnownAxis] = []
    for size, interior, low, result in zip(*columns, strict=True):
        numbers_known = all(isinstance(number, int) for number in (size, interior, low, result))
        if not numbers_known or 0 in (size, result) or interior < 0:
            return None
        axes.append(KnownAxis(size, 1, 1, interior + 1, 1, low, result))
    windows = Windows([operand], axes, lambda _, value: [value], None, [fill])
    return by_formula(windows, is_free=False)


def _padded(size: Size, low: Size, high: Size, interior: Size) -> Size:
    """The size with padding; none is negative, nor does a sum wrap around."""
    gaps = larger(plus(size, -1), 0)
    most = quotient("divsi", _MOST_ELEMENTS, larger(gaps, 1)) if interior else 0
    between = times(gaps, smaller(interior, most))
    ends = plus(smaller(low, _MOST_ELEMENTS), smaller(high, _MOST_ELEMENTS))
    return larger(plus(plus(size, between), ends), 0)


_MOST_ELEMENTS = 2**58
"""More than any memory holds: allocating it fails."""


def _iota(operation: Any) -> Sequence[ir.Value]:
    """Positions along an axis, as numbers of any type."""
    kind: Any = signless_type(operation.results[0].type)
    axis = ir.IntegerAttr(operation.attributes["iota_dimension"]).value
    sizes = sizes_given(operation, operation.operands[0])
    element = kind.element_type
    return [generate(sizes, element, lambda position: _as_number(position[axis], element))]


def _as_number(index: ir.Value, element: Any) -> ir.Value:
    """An `index` as a number of an element type."""
    if isinstance(element, ir.ComplexType):
        part = element.element_type
        parts = [_as_number(index, part), scalar_constant(part, 0)]
        return create("complex.create", [element], parts).result
    integer = element if isinstance(element, ir.IntegerType) else integer_type(64)
    number = create("arith.index_cast", [integer], [index]).result
    return number if integer == element else create("arith.sitofp", [element], [number]).result


def _broadcast(operation: Any) -> Sequence[ir.Value]:
    """Repetition along new axes and along axes of size 1."""
    operand = to_signless(operation.operands[0])
    axes = numbers(operation, "broadcast_dimensions")
    sizes, shape = sizes_given(operation, operation.operands[1]), operand.type.shape
    if shape and adds_axes(operation):
        return [reshape(operand, sizes)]
    if not shape:  # the element is known before the loop
        scalar = unbox(operand)
        return [generate(sizes, scalar.type, lambda _: scalar)]

    expanding = {axis for axis, size in enumerate(shape) if size == 1}
    own_sizes = sizes_of(operand)
    kept = {axis for axis, size in enumerate(own_sizes) if isinstance(size, int) and size != 1}
    for known, name in ((expanding, "expanding"), (kept, "nonexpanding")):
        known.update(numbers(operation, f"known_{name}_dimensions"))
    last = {
        axis: index_binary("subi", as_index(size), index_constant(1))
        for axis, size in enumerate(own_sizes)
        if axis not in expanding | kept
    }

    def place(axis: int, position: ir.Value) -> ir.Value:
        if axis in expanding:
            return index_constant(0)
        return index_binary("minsi", position, last[axis]) if axis in last else position

    def element(position: list[ir.Value]) -> ir.Value:
        return extract(operand, [place(own, position[axis]) for own, axis in enumerate(axes)])

    return [generate(sizes, element_type(operand), element)]


def _reshape(operation: Any) -> Sequence[ir.Value]:
    """The same elements under another shape."""
    sizes = sizes_given(operation, operation.operands[1])
    return [reshape(to_signless(operation.operands[0]), sizes)]


def _slice(operation: Any) -> Sequence[ir.Value]:
    """A strided slice whose bounds are known when the program runs."""
    operand, *bounds = operation.operands
    rank = len(operation.results[0].type.shape)
    starts, limits, strides = (
        [number_in(vector, axis) for axis in range(rank)] for vector in bounds
    )
    sizes: list[Size] = []
    for axis, size in enumerate(sizes_known(operation)):
        distance = minus(limits[axis], starts[axis])
        count = quotient("ceildivsi", distance, strides[axis])
        sizes.append(larger(count, 0) if size is None else size)
    return [extract_slice(to_signless(operand), starts, sizes, strides)]


def _reverse(operation: Any) -> Sequence[ir.Value] | None:
    """The array with some axes reversed."""
    (operand,) = signless_operands(operation)
    if operand.type.has_static_shape:
        return None
    turned, sizes = numbers(operation, "dimensions"), sizes_of(operand)
    lasts = {
        axis: index_binary("subi", as_index(sizes[axis]), index_constant(1)) for axis in turned
    }

    def element(position: list[ir.Value]) -> ir.Value:
        source = [
            index_binary("subi", lasts[axis], index) if axis in lasts else index
            for axis, index in enumerate(position)
        ]
        return extract(operand, source)

    return [generate(sizes, element_type(operand), element)]


def _concatenate(operation: Any) -> Sequence[ir.Value] | None:
    """Arrays one behind the other: for each element of the result, halving finds its array."""
    arrays = signless_operands(operation)
    axis = ir.IntegerAttr(operation.attributes["dimension"]).value
    known = sizes_known(operation)
    if len(arrays) <= _FEW and None not in known:
        return None  # MLIR's conversion tells them apart one after the other
    if len(known) > 1 and known[axis] == len(arrays):
        sizes = sizes_of(arrays[0])
        sizes[axis] = len(arrays)
        return [_stacked(arrays, sizes, axis)]
    if len(arrays) <= _FEW:
        return None
    sizes, kind = sizes_of(arrays[0]), element_type(arrays[0])
    starts = [index_constant(0)]
    for array in arrays:
        starts.append(index_binary("addi", starts[-1], as_index(sizes_of(array)[axis])))
    size = known[axis]
    sizes[axis] = starts[-1] if size is None else size

    def element(position: list[ir.Value], first: int, last: int) -> ir.Value:
        if last - first == 1:
            place = list(position)
            place[axis] = index_binary("subi", place[axis], starts[first])
            return extract(arrays[first], place)
        middle = (first + last) // 2
        is_before = compare_integers("slt", position[axis], starts[middle])
        return if_else(
            SCOPE,
            is_before,
            [kind],
            lambda: [element(position, first, middle)],
            lambda: [element(position, middle, last)],
        )[0]

    return [generate(sizes, kind, lambda position: element(position, 0, len(arrays)))]


def _stacked(arrays: Sequence[ir.Value], sizes: list[Size], axis: int) -> ir.Value:
    """Arrays of size 1 along an axis, as memory: bufferization compares all updates in pairs."""
    memory = allocate(sizes, element_type(arrays[0]))
    part = [*sizes[:axis], *sizes[axis + 1 :]]
    for place, array in enumerate(arrays):
        put_element(_without_axis(array, part), memory, index_constant(place), axis)
    return as_tensor(memory)


def _without_axis(array: Any, part: list[Size]) -> ir.Value:
    """The array under this shape, which has an axis of size 1 less; it may have been made of it."""
    owner = defining(array)
    if owner is not None and owner.name in _RESHAPES:
        source = owner.operands[0]
        if source.type.shape == [size if isinstance(size, int) else DYNAMIC for size in part]:
            return source
    return reshape(array, part)


_RESHAPES = ("stablehlo.reshape", "tensor.expand_shape")

RULES: dict[str, Rule] = {
    "stablehlo.pad": _pad,
    "stablehlo.dynamic_pad": _pad,
    "stablehlo.dynamic_iota": _iota,
    "stablehlo.dynamic_broadcast_in_dim": _broadcast,
    "stablehlo.dynamic_reshape": _reshape,
    "stablehlo.real_dynamic_slice": _slice,
    "stablehlo.reverse": _reverse,
    "stablehlo.concatenate": _concatenate,
}
