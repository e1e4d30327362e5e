"""Loops over what is combined: a result for each part, which are combined in order.

    linalg.generic {iterator_types = ["reduction"]} ins(%a : memref<?xf64>) outs(%sum : memref<f64>)
    ->
    parts = min(ceil(size / chunk), MOST_PARTS)
    call of the pool: for each part in first..last, %parts[part] = the sum of its slice of %a
    for part in 0..parts: %sum = %sum + %parts[part]

The number of parts depends on the sizes alone, so results do not depend on the number of threads.

An operation on a part of its iterations, with the values of another function.
"""

from collections.abc import Callable, Sequence
from typing import Any

from diastase_mlir.bindings import arith, ir
from diastase_mlir.bindings.operations import operations_named
from diastase_mlir.passes.buffers.parallel_loops.choose import Cut
from diastase_mlir.passes.buffers.parallel_loops.context import (
    create,
    index,
    loop,
    part_of,
    size_of_axis,
    slice_of,
)

MOST_PARTS = 256
Run = Callable[[ir.Value, ir.Value, ir.Value], None]
"""Emits an operation on a slice: where it begins, its length, and where the result goes."""


def neutral(combines: ir.Operation) -> ir.Value:
    """What changes nothing when it is combined; -0.0 keeps the sign of a zero sum."""
    kind = combines.results[0].type
    name = combines.name.removeprefix("arith.")
    if isinstance(kind, ir.FloatType):
        numbers = {"addf": -0.0, "mulf": 1.0, "maximumf": -_INFINITY, "minimumf": _INFINITY}
        return arith.constant(kind, numbers[name])
    width = ir.IntegerType(kind).width
    integers = {
        "addi": 0, "muli": 1, "ori": 0, "xori": 0, "maxui": 0, "andi": -1, "minui": -1,
        "maxsi": -(1 << (width - 1)), "minsi": (1 << (width - 1)) - 1,
    }  # fmt: skip
    number = integers[name]
    # MLIR's attributes of `i1` are 0 and -1, but it is 1 that their constructor takes.
    return arith.constant(kind, number & 1 if width == 1 else number)


_INFINITY = float("inf")


def result_of(cut: Cut) -> ir.Value:
    """The array that the operation writes."""
    return cut.operation.operands[len(cut.operands) - 1]


def parts_type(cut: Cut) -> ir.MemRefType:
    """Type of the array that holds the results of all parts."""
    result = ir.MemRefType(result_of(cut).type)
    return ir.MemRefType.get([MOST_PARTS, *result.shape], result.element_type)


def part_length(size: ir.Value, chunk: ir.Value) -> ir.Value:
    """How many iterations a part has: a chunk, or more if there were too many parts."""
    return arith.maxui(chunk, arith.ceildivui(size, index(MOST_PARTS)))


def run_parts(cut: Cut, shared: Sequence[ir.Value], bounds: Sequence[ir.Value], run: Run) -> None:
    """Emit the loop over parts first..last-1; `run` emits the operation on a slice."""
    assert cut.combines is not None
    parts, length, size = shared
    first, last = bounds
    start_value = neutral(cut.combines)
    scalar = ir.MemRefType(parts.type).rank == 1
    # A number on the stack is kept in a register; one in the array of parts would not be.
    element = ir.MemRefType(parts.type).element_type
    local = _room(ir.MemRefType.get([], element)) if scalar else None
    with loop(first, last) as number:
        part = part_of(parts, number)
        result = part if local is None else local
        fill(result, start_value)
        start = arith.muli(number, length)
        run(start, arith.minui(length, arith.subi(size, start)), result)
        if local is not None:
            _store(_load(local, ()), part, ())


def _room(kind: ir.MemRefType) -> ir.Value:
    return create("memref.alloca", [kind], [], operandSegmentSizes=ir.DenseI32ArrayAttr.get([0, 0]))


def fill(result: ir.Value, value: ir.Value) -> None:
    """Set all elements of an array whose sizes are known."""
    _for_each(result, lambda place: _store(value, result, place))


def combine(cut: Cut, result: ir.Value, parts: ir.Value, count: ir.Value) -> None:
    """Combine the result with those of the parts, in their order."""
    assert cut.combines is not None
    combines = cut.combines

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

    with loop(index(0), count) as number:
        part = part_of(parts, number)
        _for_each(result, lambda place: add(part, place))


def _for_each(
    array: ir.Value,
    action: Callable[[tuple[ir.Value, ...]], None],
    place: tuple[ir.Value, ...] = (),
) -> None:
    """Emit loops over all elements of an array whose sizes are known."""
    sizes = ir.MemRefType(array.type).shape
    if len(place) == len(sizes):
        action(place)
        return
    with loop(index(0), index(sizes[len(place)])) as at:
        _for_each(array, action, (*place, at))


def _load(array: ir.Value, place: Sequence[ir.Value]) -> ir.Value:
    kind = ir.MemRefType(array.type).element_type
    return create("memref.load", [kind], [array, *place])


def _store(value: ir.Value, array: ir.Value, place: Sequence[ir.Value]) -> None:
    create("memref.store", [], [value, array, *place])


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

    run_parts(cut, inside[-3:], (first, last), run)


def _slice(cut: Cut, values: dict[ir.Value, ir.Value], first: ir.Value, count: ir.Value) -> None:
    """Emit the operation on `count` iterations of its loop from `first`."""
    copy = _copy(cut.operation, values)
    with ir.InsertionPoint(copy):
        for position, operand in enumerate(cut.operands):
            if operand is not None and cut.loop in operand.axes:
                axis = operand.axes.index(cut.loop)
                copy.operands[position] = slice_of(values[operand.array], axis, first, count)
    _shift_index(copy, cut.loop, first)


def _copy(operation: ir.Operation, values: dict[ir.Value, ir.Value]) -> ir.Operation:
    """The operation at the insertion point, on other values, with constants of its own."""
    copy = operation.operation.clone()
    constants: dict[ir.Value, ir.Value] = {}

    def replace(nested: ir.Operation) -> ir.WalkResult:
        for position, value in enumerate(nested.operands):
            if value in values:
                nested.operands[position] = values[value]
            elif _is_outside_constant(value, copy):
                if value not in constants:
                    owner: Any = value.owner
                    constants[value] = owner.operation.clone(ir.InsertionPoint(copy)).results[0]
                nested.operands[position] = constants[value]
        return ir.WalkResult.ADVANCE

    copy.walk(replace)
    return copy


def used_values(operation: ir.Operation) -> list[ir.Value]:
    """Values from outside that an operation uses, without constants."""
    captured: dict[ir.Value, None] = {}

    def collect(nested: ir.Operation) -> ir.WalkResult:
        for value in nested.operands:
            if not _is_inside(value, operation) and not _is_outside_constant(value, operation):
                captured[value] = None
        return ir.WalkResult.ADVANCE

    operation.walk(collect)
    return list(captured)


def _is_outside_constant(value: ir.Value, operation: ir.Operation) -> bool:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != _CONSTANT:
        return False
    return not _is_inside(value, operation)


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
        return index(cut.sizes[loop])
    for operand in cut.operands:
        if operand is not None and loop in operand.axes:
            return size_of_axis(operand.array, operand.axes.index(loop))
    return index(1)
