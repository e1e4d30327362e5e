"""What a part of a divided operation does: the operation on a slice, or a result of its own.

A loop over what is combined has a result for each part; these are combined in order.

    linalg.generic {iterator_types = ["reduction"]} ins(%a : memref<?xf64>) outs(%sum : memref<f64>)
    ->
    parts = min(ceil(size / chunk), MOST_PARTS)
    call of the pool: for each part in first..last, %parts[part] = the sum of its slice of %a
    for part in 0..parts: %sum = %sum + %parts[part]

The number of parts depends on the sizes alone, so results do not depend on the number of threads.
"""

from collections.abc import Callable, Sequence
from math import inf

from diastase_mlir.bindings import arith, ir
from diastase_mlir.emit.buffers import allocate
from diastase_mlir.emit.loops import Values, for_each, for_range
from diastase_mlir.emit.operations import create, index_constant, index_type
from diastase_mlir.passes.buffers.parallel_loops.choose import Cut
from diastase_mlir.passes.operations import SCOPE, defining, operations_in, operations_named

MOST_PARTS = 256
Run = Callable[[ir.Value, ir.Value, ir.Value], None]
"""Emits an operation on a slice: where it begins, its length, and where the result goes."""

_DYNAMIC: int = ir.ShapedType.get_dynamic_size()
_CONSTANT = "arith.constant"


def emit_part(
    cut: Cut,
    outside: Sequence[ir.Value],
    inside: Sequence[ir.Value],
    first: ir.Value,
    last: ir.Value,
) -> None:
    """Emit what a function does between its bounds, on its own values."""
    values = dict(zip(outside, inside, strict=True))
    if cut.combines is None:
        _slice(cut, values, first, arith.subi(last, first))
        return

    def run(start: ir.Value, count: ir.Value, result: ir.Value) -> None:
        _slice(cut, {**values, result_of(cut): result}, start, count)

    _run_parts(cut, inside[-3:], (first, last), run)


def _slice(cut: Cut, values: dict[ir.Value, ir.Value], first: ir.Value, count: ir.Value) -> None:
    """Emit the operation on `count` iterations of its loop from `first`."""
    copy = _copy(cut.operation, values)
    with ir.InsertionPoint(copy):
        for position, operand in enumerate(cut.operands):
            if operand is not None and cut.loop in operand.axes:
                axis = operand.axes.index(cut.loop)
                copy.operands[position] = _slice_of(values[operand.array], axis, first, count)
    _shift_index(copy, cut.loop, first)


def _copy(operation: ir.Operation, values: dict[ir.Value, ir.Value]) -> ir.Operation:
    """The operation at the insertion point, on other values, with constants of its own."""
    copy = operation.operation.clone()
    constants: dict[ir.Value, ir.Value] = {}
    for nested in operations_in(copy):
        for position, value in enumerate(nested.operands):
            if value in values:
                nested.operands[position] = values[value]
            elif _is_outside_constant(value, copy):
                if value not in constants:
                    constant = defining(value).operation.clone(ir.InsertionPoint(copy))
                    constants[value] = constant.results[0]
                nested.operands[position] = constants[value]
    return copy


def used_values(operation: ir.Operation) -> list[ir.Value]:
    """Values from outside that an operation uses, without constants."""
    used = dict.fromkeys(value for own in operations_in(operation) for value in own.operands)
    return [
        value
        for value in used
        if not _is_inside(value, operation) and not _is_outside_constant(value, operation)
    ]


def _is_outside_constant(value: ir.Value, operation: ir.Operation) -> bool:
    owner = defining(value)
    is_constant = owner is not None and owner.name == _CONSTANT
    return is_constant and not _is_inside(value, operation)


def _is_inside(value: ir.Value, operation: ir.Operation) -> bool:
    """Whether a value is made in a region of the operation."""
    owner = value.owner
    around = owner.owner if isinstance(owner, ir.Block) else owner.operation.parent
    while around is not None:
        if around.operation == operation.operation:
            return True
        around = around.operation.parent
    return False


def _shift_index(operation: ir.Operation, loop: int, first: ir.Value) -> None:
    """What the body takes for the number of the iteration counts from the start of the whole."""
    found = [
        nested
        for nested in operations_named(operation, "linalg.index")
        if ir.IntegerAttr(nested.attributes["dim"]).value == loop
    ]
    for number in found:
        uses = [(use.owner.operation, use.operand_number) for use in number.results[0].uses]
        with ir.InsertionPoint.after(number), number.location:
            shifted = arith.addi(number.results[0], first)
        for owner, position in uses:
            owner.operands[position] = shifted


def loop_size(cut: Cut, loop: int) -> ir.Value:
    """How often a loop of the operation runs."""
    if cut.sizes[loop] >= 0:
        return index_constant(cut.sizes[loop])
    for operand in cut.operands:
        if operand is not None and loop in operand.axes:
            return _size_of_axis(operand.array, operand.axes.index(loop))
    return index_constant(1)


# --- a result for each part ----------------------------------------------------------------------


def _neutral(combines: ir.Operation) -> ir.Value:
    """What changes nothing when it is combined; -0.0 keeps the sign of a zero sum."""
    kind = combines.results[0].type
    name = combines.name.removeprefix("arith.")
    if isinstance(kind, ir.FloatType):
        numbers = {"addf": -0.0, "mulf": 1.0, "maximumf": -inf, "minimumf": inf}
        return arith.constant(kind, numbers[name])
    width = ir.IntegerType(kind).width
    integers = {
        "addi": 0, "muli": 1, "ori": 0, "xori": 0, "maxui": 0, "andi": -1, "minui": -1,
        "maxsi": -(1 << (width - 1)), "minsi": (1 << (width - 1)) - 1,
    }  # fmt: skip
    number = integers[name]
    # MLIR's attributes of `i1` are 0 and -1, but it is 1 that their constructor takes.
    return arith.constant(kind, number & 1 if width == 1 else number)


def result_of(cut: Cut) -> ir.Value:
    """The array that the operation writes."""
    return cut.operation.operands[len(cut.operands) - 1]


def parts_of(cut: Cut) -> ir.Value:
    """Memory for the results of all parts."""
    result = ir.MemRefType(result_of(cut).type)
    return allocate([MOST_PARTS, *result.shape], result.element_type)


def part_length(size: ir.Value, chunk: ir.Value) -> ir.Value:
    """How many iterations a part has: a chunk, or more if there were too many parts."""
    return arith.maxui(chunk, arith.ceildivui(size, index_constant(MOST_PARTS)))


def _run_parts(cut: Cut, shared: Sequence[ir.Value], bounds: Sequence[ir.Value], run: Run) -> None:
    """Emit the loop over parts first..last-1; `run` emits the operation on a slice."""
    assert cut.combines is not None
    parts, length, size = shared
    first, last = bounds
    start_value = _neutral(cut.combines)
    kind = ir.MemRefType(parts.type)
    # A number on the stack is kept in a register; one in the array of parts would not be.
    local = _room(kind.element_type) if kind.rank == 1 else None

    def one(number: ir.Value) -> None:
        part = _part_of(parts, number)
        result = part if local is None else local
        _for_each(result, lambda place: _store(start_value, result, place))
        start = arith.muli(number, length)
        run(start, arith.minui(length, arith.subi(size, start)), result)
        if local is not None:
            _store(_load(local, ()), part, ())

    _for_all(first, last, one)


def _room(element: ir.Type) -> ir.Value:
    """A number on the stack."""
    segments = {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0])}
    return create("memref.alloca", [ir.MemRefType.get([], element)], [], segments).result


def combine(cut: Cut, parts: ir.Value, count: ir.Value) -> None:
    """Combine the result with those of the parts, in their order."""
    assert cut.combines is not None
    combines, result = cut.combines, result_of(cut)

    def add(part: ir.Value, place: Sequence[ir.Value]) -> None:
        values = [_load(result, place), _load(part, place)]
        block = cut.operation.regions[0].blocks[0]
        so_far = block.arguments[len(block.arguments) - 1]
        copy = combines.clone()
        if "fastmath" in copy.attributes:  # in this order, and not worth the code of vectors
            copy.attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<none>")
        first = 0 if combines.operands[0] == so_far else 1
        copy.operands[first], copy.operands[1 - first] = values
        _store(copy.results[0], result, place)

    def one(number: ir.Value) -> None:
        part = _part_of(parts, number)
        _for_each(result, lambda place: add(part, place))

    _for_all(index_constant(0), count, one)


# --- loops, and arrays in memory -----------------------------------------------------------------


def _for_all(first: ir.Value, last: ir.Value, action: Callable[[ir.Value], None]) -> None:
    def body(number: ir.Value, _: Values) -> Values:
        action(number)
        return []

    for_range(SCOPE, (first, last, 1), [], body)


def _for_each(array: ir.Value, action: Callable[[Sequence[ir.Value]], None]) -> None:
    """Emit loops over all elements of an array whose sizes are known."""

    def body(place: Values, _: Values) -> Values:
        action(place)
        return []

    for_each(SCOPE, ir.MemRefType(array.type).shape, [], body)


def _load(array: ir.Value, place: Sequence[ir.Value]) -> ir.Value:
    kind = ir.MemRefType(array.type).element_type
    return create("memref.load", [kind], [array, *place]).result


def _store(value: ir.Value, array: ir.Value, place: Sequence[ir.Value]) -> None:
    create("memref.store", [], [value, array, *place])


def _size_of_axis(array: ir.Value, axis: int) -> ir.Value:
    """The size of an axis, constant where it is known."""
    kind = ir.MemRefType(array.type)
    if not kind.is_dynamic_dim(axis):
        return index_constant(kind.get_dim_size(axis))
    return create("memref.dim", [index_type()], [array, index_constant(axis)]).result


def _part_of(parts: ir.Value, number: ir.Value) -> ir.Value:
    """The array at a place of the first axis; sizes of the other axes are known."""
    shape = [1, *ir.MemRefType(parts.type).shape[1:]]
    return _subview(parts, 0, number, shape, [], dropped=1)


def _slice_of(array: ir.Value, axis: int, first: ir.Value, count: ir.Value) -> ir.Value:
    """`count` elements along an axis from `first`, all of the other axes."""
    kind = ir.MemRefType(array.type)
    shape = [_DYNAMIC if at == axis else size for at, size in enumerate(kind.shape)]
    sizes = [
        count if at == axis else _size_of_axis(array, at)
        for at in range(kind.rank)
        if at == axis or kind.is_dynamic_dim(at)
    ]
    return _subview(array, axis, first, shape, sizes)


def _subview(
    array: ir.Value,
    axis: int,
    first: ir.Value,
    shape: Sequence[int],
    sizes: Sequence[ir.Value],
    dropped: int = 0,
) -> ir.Value:
    """A part of an array from a place along one axis, without so many axes at the beginning."""
    kind = ir.MemRefType(array.type)
    strides, _ = kind.get_strides_and_offset()
    moving = ir.ShapedType.get_dynamic_stride_or_offset()
    layout = ir.StridedLayoutAttr.get(moving, strides[dropped:])
    offsets = [moving if at == axis else 0 for at in range(kind.rank)]
    attributes = {
        "static_offsets": ir.DenseI64ArrayAttr.get(offsets),
        "static_sizes": ir.DenseI64ArrayAttr.get(shape),
        "static_strides": ir.DenseI64ArrayAttr.get([1] * kind.rank),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1, len(sizes), 0]),
    }
    own = shape[dropped:]
    result = ir.MemRefType.get(own, kind.element_type, layout, kind.memory_space)
    return create("memref.subview", [result], [array, first, *sizes], attributes).result
