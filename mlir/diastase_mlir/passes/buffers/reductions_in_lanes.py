"""Reductions along rows, in lanes: results of interleaved parts of a row, which are vectors.

In: `linalg.generic` on memory, whose innermost loop is a reduction. Out: loops (`scf`):

    for chunk in 0..ceil(size / LANES):
        for lane in 0..min(LANES, size - LANES * chunk):    independent of each other: vectors
            lanes[lane] = combine(lanes[lane], value of LANES * chunk + lane)
    result = combine(result, all lanes, in pairs)

The first chunk sets the lanes, so no number has to be known that changes nothing. A row that turns
out to be shorter than a chunk when the program runs is left to the operation as it was.

It is done where every order gives the same, or as good: `combine` does not change when its two
operands change places, which is seen from how it is written, and JAX asks that it be associative.
The order depends on sizes alone. Sums, products, bits and extremes are left to LLVM, which makes
such vectors by itself, but knows no other function; nor extremes among chosen elements, where it
moves the choice behind the comparison. For extremes of floats it takes one vector, of which each
operation waits some ten cycles for the one before: long rows are done here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from diastase_mlir.bindings import arith, ir
from diastase_mlir.emit.loops import Values, for_each, for_range, when
from diastase_mlir.emit.operations import (
    compare_integers,
    create,
    enumeration,
    index_constant,
    index_type,
    negate,
)
from diastase_mlir.passes.operations import (
    INTEGER_QUOTIENTS,
    SCOPE,
    defining,
    function_around,
    last_of,
    maps_of,
    operations_named,
    parallel_loops,
)
from diastase_runtime.abi import import_symbol

LANE_BYTES = 512
"""Of the results that are kept of a row: eight of the longest vectors."""
MOST_LANES = 128
_GROUP = 16
"""Lanes that are combined in the end, one by one; a power of two."""
LEAST_OF_A_ROW = 2 * _GROUP
"""Shorter rows stay scalar: combining the lanes would take longer."""
LEAST_CHUNKS = 4
"""Of rows that LLVM would do in one vector."""

_COMMUTATIVE = frozenset({
    *(f"arith.{name}" for name in (
        "addf", "mulf", "maximumf", "minimumf", "maxnumf", "minnumf", "addi", "muli", "andi",
        "ori", "xori", "maxsi", "minsi", "maxui", "minui",
    )),
    "complex.add", "complex.mul",
})  # fmt: skip
_DONE_BY_LLVM = frozenset(
    f"arith.{name}" for name in ("addf", "mulf", "addi", "muli", "andi", "ori", "xori")
)
_EXTREMES = frozenset(
    f"arith.{name}" for name in ("maximumf", "minimumf", "maxsi", "minsi", "maxui", "minui")
)
_PURE = ("arith", "math", "complex", "index")
_ELEMENTARY = import_symbol("elementary", "")


@dataclass(frozen=True)
class _Fold:
    """A reduction: what it makes of an element, and how it combines that with the result."""

    operation: ir.Operation
    values: tuple[Any, ...]
    """Operations that do not depend on the result so far."""
    combines: tuple[Any, ...]
    """Operations that do."""
    value: ir.Value
    """What the first make, of which the others use nothing else."""
    so_far: ir.Value
    combined: ir.Value
    lanes: int
    least: int
    """Elements of a row from which on it is worth it."""


def reductions_in_lanes(module: ir.Module) -> None:
    """Replace the reductions that LLVM would leave scalar, or in one vector."""
    for generic in operations_named(module.operation, "linalg.generic"):
        fold = _fold_of(generic)
        if fold is None:
            continue
        with ir.InsertionPoint(generic), generic.location:
            sizes = _sizes(generic)
            if sizes is not None:
                _replace(fold, sizes)


# --- what is done in lanes -----------------------------------------------------------------------


def _fold_of(generic: ir.Operation) -> _Fold | None:
    kinds = parallel_loops(generic)
    _, written = ir.DenseI32ArrayAttr(generic.attributes["operandSegmentSizes"])
    if not kinds or kinds[-1] or written != 1:
        return None
    if not all(each.is_projected_permutation for each in maps_of(generic)):
        return None
    block: Any = generic.regions[0].blocks[0]
    so_far = block.arguments[len(block.arguments) - 1]
    values, combines, made = [], [], {so_far}
    for operation in list(block.operations)[:-1]:
        if any(operand in made for operand in operation.operands):
            combines.append(operation)
            made.update(operation.results)
        else:
            values.append(operation)
    combined = last_of(block).operands[0]
    taken = _taken(generic, combines, made)
    if combined == so_far or combined not in made or len(taken) != 1:
        return None
    (value,) = taken
    if value.type != so_far.type or not all(map(_is_fit_for_anything, combines)):
        return None
    if not all(_is_pure(each) or _is_harmless(each) for each in values):
        return None
    lanes = _lanes_of(so_far.type)
    least = _least(combines, value, lanes)
    if least is None or _written(combined, so_far, value) != _written(combined, value, so_far):
        return None
    return _Fold(generic, tuple(values), tuple(combines), value, so_far, combined, lanes, least)


def _least(combines: Sequence[Any], value: ir.Value, lanes: int) -> int | None:
    """Elements of a row from which on it is worth it, None where LLVM does as well."""
    name = combines[0].operation.name if len(combines) == 1 else ""
    made = defining(value)
    is_chosen = made is not None and made.name == "arith.select"
    if name in _EXTREMES and not is_chosen:
        return LEAST_CHUNKS * lanes if isinstance(value.type, ir.FloatType) else None
    return None if name in _DONE_BY_LLVM else LEAST_OF_A_ROW


def _taken(generic: ir.Operation, combines: Sequence[Any], made: set[ir.Value]) -> set[ir.Value]:
    """Values of an element that are combined with the result."""
    operands = {operand for each in combines for operand in each.operands} - made
    return {operand for operand in operands if _is_inside(operand, generic)}


def _is_inside(value: ir.Value, generic: ir.Operation) -> bool:
    owner: Any = value.owner
    around = owner.owner if isinstance(owner, ir.Block) else owner.operation.parent
    is_constant = not isinstance(owner, ir.Block) and owner.name == "arith.constant"
    return around.operation == generic and not is_constant


def _is_pure(operation: Any) -> bool:
    return operation.operation.name.partition(".")[0] in _PURE


def _is_fit_for_anything(operation: Any) -> bool:
    """Whether it may be done with what lanes hold before the first chunk has set them."""
    return _is_pure(operation) and operation.operation.name not in INTEGER_QUOTIENTS


def _is_harmless(operation: Any) -> bool:
    """Whether it may be done in another order: reading, and functions of numbers."""
    name = operation.operation.name
    if name == "func.call":
        callee = ir.FlatSymbolRefAttr(operation.attributes["callee"]).value
        return callee.startswith(_ELEMENTARY)
    return name in ("linalg.index", "memref.load")


def _written(value: ir.Value, first: ir.Value, second: ir.Value) -> Any:
    """A formula of two values, the same for operands of a sum (and the like) in any order."""
    if value in (first, second):
        return ("operand", str(int(value == second)))
    operation = defining(value)
    if operation is None or operation.name == "arith.constant" or not _is_pure(operation):
        return ("outside", str(value))
    operands = [_written(operand, first, second) for operand in operation.operands]
    if operation.name in _COMMUTATIVE:
        operands.sort(key=str)
    attributes = sorted(str(operation.attributes[name]) for name in operation.attributes)
    return (operation.name, *attributes, *operands)


def _sizes(generic: ir.Operation) -> list[int | ir.Value] | None:
    """How often each loop runs; None if it is not the size of an axis."""
    found: dict[int, int | ir.Value] = {}
    for array, walked in zip(generic.operands, maps_of(generic), strict=True):
        for axis, result in enumerate(walked.results):
            loop, kind = ir.AffineDimExpr(result).position, ir.MemRefType(array.type)
            if not kind.is_dynamic_dim(axis):
                found[loop] = kind.get_dim_size(axis)
            elif loop not in found:
                place = index_constant(axis)
                found[loop] = create("memref.dim", [index_type()], [array, place]).result
    loops = range(len(parallel_loops(generic)))
    return [found[loop] for loop in loops] if all(loop in found for loop in loops) else None


# --- loops ---------------------------------------------------------------------------------------


def _replace(fold: _Fold, sizes: Sequence[int | ir.Value]) -> None:
    *_, size = sizes
    number = fold.lanes
    if isinstance(size, int):
        if size < fold.least:
            return
        while number > size:
            number //= 2
        _emit(fold, sizes, number)
    else:
        is_long = compare_integers("uge", size, index_constant(max(fold.least, number)))
        when(SCOPE, is_long, lambda: _emit(fold, sizes, number))
        when(SCOPE, negate(is_long), lambda: _emit_as_it_was(fold))
    fold.operation.erase()


def _emit_as_it_was(fold: _Fold) -> None:
    fold.operation.clone()


def _emit(fold: _Fold, sizes: Sequence[int | ir.Value], number: int) -> None:
    *outer, size = sizes
    result = fold.operation.operands[len(fold.operation.operands) - 1]
    lanes = _room(fold.operation, fold.so_far.type, number)
    length = index_constant(size) if isinstance(size, int) else size
    whole = index_constant(number)

    def row(place: Values, _: Values) -> Values:
        at = _places(fold, place)

        def chunk(start: ir.Value, _: Values) -> Values:
            is_first = compare_integers("eq", start, index_constant(0))
            count = arith.minui(whole, arith.subi(length, start))

            def lane(one: ir.Value, _: Values) -> Values:
                value = _value(fold, [*place, arith.addi(start, one)])
                combined = _combined(fold, _load(lanes, [one]), value)
                _store(arith.select(is_first, value, combined), lanes, [one])
                return []

            for_range(SCOPE, (0, count, 1), [], lane)
            return []

        for_range(SCOPE, (0, length, number), [], chunk)
        _store(_combined(fold, _load(result, at), _joined(fold, lanes, number)), result, at)
        return []

    for_each(SCOPE, outer, [], row)


def _joined(fold: _Fold, lanes: ir.Value, number: int) -> ir.Value:
    """All lanes combined: into the first few of them, and these as numbers, in pairs."""

    def group(start: ir.Value, _: Values) -> Values:
        def lane(one: ir.Value, _: Values) -> Values:
            other = _load(lanes, [arith.addi(start, one)])
            _store(_combined(fold, _load(lanes, [one]), other), lanes, [one])
            return []

        for_range(SCOPE, (0, _GROUP, 1), [], lane)
        return []

    for_range(SCOPE, (_GROUP, number, _GROUP), [], group)
    numbers = [_load(lanes, [index_constant(place)]) for place in range(_GROUP)]
    while len(numbers) > 1:
        half = len(numbers) // 2
        pairs = zip(numbers[:half], numbers[half:], strict=True)
        numbers = [_combined(fold, *pair) for pair in pairs]
    return numbers[0]


def _lanes_of(kind: ir.Type) -> int:
    """How many results of this type are kept of a row."""
    text = str(kind.element_type if isinstance(kind, ir.ComplexType) else kind)
    width = int("".join(filter(str.isdigit, text)) or 64) * (1 + isinstance(kind, ir.ComplexType))
    return min(LANE_BYTES * 8 // max(width, 8), MOST_LANES)


def _room(operation: ir.Operation, element: ir.Type, number: int) -> ir.Value:
    """An array on the stack of the function around an operation."""
    attributes: dict[str, ir.Attribute] = {
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0]),
        "alignment": enumeration(64),
    }
    entry = function_around(operation).regions[0].blocks[0]
    with ir.InsertionPoint.at_block_begin(entry):
        kind = ir.MemRefType.get([number], element)
        return create("memref.alloca", [kind], [], attributes).result


# --- what is inside of them ----------------------------------------------------------------------


def _places(fold: _Fold, loops: Sequence[ir.Value]) -> Values:
    """Where the result of a row is."""
    return [loops[ir.AffineDimExpr(each).position] for each in maps_of(fold.operation)[-1].results]


def _value(fold: _Fold, loops: Sequence[ir.Value]) -> ir.Value:
    """What an element contributes, emitted at the insertion point."""
    generic = fold.operation
    block: Any = generic.regions[0].blocks[0]
    known: dict[ir.Value, ir.Value] = {}
    arguments = list(block.arguments)[:-1]
    for argument, operand, walked in zip(
        arguments, generic.operands, maps_of(generic), strict=False
    ):
        place = [loops[ir.AffineDimExpr(each).position] for each in walked.results]
        is_array = isinstance(operand.type, ir.MemRefType)
        known[argument] = _load(operand, place) if is_array else operand
    for operation in fold.values:
        if operation.operation.name == "linalg.index":
            known[operation.results[0]] = loops[ir.IntegerAttr(operation.attributes["dim"]).value]
        else:
            _clone(operation, known)
    return known[fold.value]


def _combined(fold: _Fold, first: ir.Value, second: ir.Value) -> ir.Value:
    """Two results as one, emitted at the insertion point."""
    known = {fold.so_far: first, fold.value: second}
    for operation in fold.combines:
        for operand in operation.operands:  # constants of the body
            made = defining(operand)
            if operand not in known and made is not None and made.name == "arith.constant":
                _clone(made, known)
        _clone(operation, known)
    return known[fold.combined]


def _clone(operation: Any, known: dict[ir.Value, ir.Value]) -> None:
    copy = operation.operation.clone()
    for place, operand in enumerate(copy.operands):
        if operand in known:
            copy.operands[place] = known[operand]
    known.update(zip(operation.results, copy.results, strict=True))


def _load(array: ir.Value, place: Sequence[ir.Value]) -> ir.Value:
    kind = ir.MemRefType(array.type).element_type
    return create("memref.load", [kind], [array, *place]).result


def _store(value: ir.Value, array: ir.Value, place: Sequence[ir.Value]) -> None:
    create("memref.store", [], [value, array, *place])
