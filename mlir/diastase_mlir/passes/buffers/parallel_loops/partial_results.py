"""Loops over what is combined: a result for each part, which are combined in order.

    linalg.generic {iterator_types = ["reduction"]} ins(%a : memref<?xf64>) outs(%sum : memref<f64>)
    ->
    parts = min(ceil(size / chunk), MOST_PARTS)
    call of the pool: for each part in first..last, %parts[part] = the sum of its slice of %a
    for part in 0..parts: %sum = %sum + %parts[part]

The number of parts depends on the sizes alone, so results do not depend on the number of threads.
"""

from collections.abc import Callable, Sequence

from diastase_mlir.bindings import arith, ir
from diastase_mlir.passes.buffers.parallel_loops.choose import Cut
from diastase_mlir.passes.buffers.parallel_loops.emit import create, index, loop, part_of

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
