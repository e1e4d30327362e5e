"""Which operations are worth dividing, and along which of their loops.

A loop can be cut if every operand that it walks along is walked along by one axis, as the parts
then work on slices. Of the loops that give different elements of all results the outermost long
one is cut; where there is none, a loop over what is combined, if parts of it can be combined.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from math import prod

from diastase_mlir.bindings import ir
from diastase_mlir.passes.operations import (
    callee_of,
    combining,
    maps_of,
    operations_in,
    parallel_loops,
)
from diastase_runtime.abi import import_symbol

_POLL = import_symbol("threads", "poll")
CHUNK_WORK = 200_000
"""Units of work of what is handed out at once, about a tenth of a nanosecond each: some 20 us."""
_FEW = 32
"""A loop of fewer iterations is cut only if there is no longer one."""
LEAST_ROWS = 32
"""Rows that are combined in a part at least, so that to combine parts is little work."""
_MOST_RESULTS = 4096
"""More than these are not kept for each part."""
_UNKNOWN = -1

_SLOW = {"arith.divf": 5, "arith.remf": 50, "arith.divsi": 20, "arith.remsi": 20, "math.sqrt": 5,
         "arith.divui": 20, "arith.remui": 20, "memref.load": 5, "math.absf": 1, "math.fma": 1,
         "math.copysign": 1, "math.ctpop": 1, "math.floor": 1, "math.ceil": 1}  # fmt: skip
_WORK = {"math": 20, "complex": 10}
"""Of an operation of a dialect; 1 for others."""
_OPERAND_WORK = 2
_HARMLESS = frozenset({
    "arith", "math", "complex", "linalg", "index", "scf", "memref.load", "llvm.load"
})  # fmt: skip
"""Operations, or dialects of them, that may run on any thread; polls are others."""
_TURNS = 16
"""Of a loop that each element has: a guess."""


@dataclass(frozen=True)
class Operand:
    """An array of an operation."""

    array: ir.Value
    axes: tuple[int | None, ...]
    """For each axis the loop that walks along it, None where an expression of loops does."""
    mentions: frozenset[int]
    """Loops that such expressions mention."""

    @cached_property
    def sizes(self) -> list[int]:
        """Sizes of the axes, `_UNKNOWN` where they are known at run time only."""
        kind = ir.MemRefType(self.array.type)
        return [
            _UNKNOWN if kind.is_dynamic_dim(axis) else kind.get_dim_size(axis)
            for axis in range(kind.rank)
        ]


@dataclass(frozen=True)
class Cut:
    """An operation, and the loop of it that is divided."""

    operation: ir.Operation
    operands: tuple[Operand | None, ...]
    """None for a scalar."""
    written: int
    """How many of them, at the end, are results."""
    loop: int
    sizes: tuple[int, ...]
    """Of the loops; `_UNKNOWN` where known at run time only."""
    work: int
    """Units for each innermost iteration."""
    combines: ir.Operation | None = None
    """What combines the parts' results, where the loop is one over what is combined."""


def choose(operation: ir.Operation) -> Cut | None:
    """Find the loop to cut; None where the operation is to stay as it is."""
    work = _work(operation)
    operands = _operands(operation)
    if work is None or operands is None:
        return None
    kinds = _kinds(operation, operands)
    written = _written(operation)
    sizes = tuple(_size(loop, operands) for loop in range(len(kinds)))
    if not kinds or _is_small(sizes, work) or not _supported(operation, operands):
        return None
    cuttable = [loop for loop in range(len(kinds)) if _can_cut(loop, operands) and sizes[loop] != 1]
    combines = _combines(operation) if written == 1 else None
    if combines is not None and 0 in cuttable and _walks_down_rows(sizes, kinds):
        return Cut(operation, operands, written, 0, sizes, work, combines)
    for loop in _by_length(cuttable, sizes):
        if kinds[loop] and all(loop in each.axes for each in operands[-written:] if each):
            if _FEW > sizes[loop] > _UNKNOWN and not all(kinds):
                break  # rather the loop over what is combined
            return Cut(operation, operands, written, loop, sizes, work)
    for loop in cuttable:
        if combines is not None and not kinds[loop] and _parts_are_small(loop, sizes, kinds):
            return Cut(operation, operands, written, loop, sizes, work, combines)
    return None


def _operands(operation: ir.Operation) -> tuple[Operand | None, ...] | None:
    if operation.name == "linalg.generic":
        texts = [[str(result) for result in each.results] for each in maps_of(operation)]
        axes = [[_loop_of(text) for text in each] for each in texts]
    else:  # element by element
        ranks = [
            len(ir.ShapedType(o.type).shape) if _is_array(o) else 0 for o in operation.operands
        ]
        axes = [list(range(rank)) for rank in ranks]
        texts = [[] for _ in ranks]
    operands: list[Operand | None] = []
    for array, loops, expressions in zip(operation.operands, axes, texts, strict=True):
        if not _is_array(array):
            operands.append(None)
            continue
        compound = [e for e, loop in zip(expressions, loops, strict=False) if loop is None]
        mentions = frozenset(int(n) for e in compound for n in re.findall(r"\bd(\d+)\b", e))
        operands.append(Operand(array, tuple(loops), mentions))
    return tuple(operands)


def _is_array(value: ir.Value) -> bool:
    return isinstance(value.type, ir.MemRefType)


def _loop_of(text: str) -> int | None:
    """The loop that an expression of a map is, if it is one."""
    return int(text[1:]) if re.fullmatch(r"d\d+", text) else None


def _kinds(operation: ir.Operation, operands: tuple[Operand | None, ...]) -> list[bool]:
    """For each loop, whether its iterations are independent."""
    if operation.name == "linalg.generic":
        return parallel_loops(operation)
    result = operands[-1]
    return [True] * (0 if result is None else len(result.axes))


def _written(operation: ir.Operation) -> int:
    return ir.DenseI32ArrayAttr(operation.attributes["operandSegmentSizes"])[1]


def _size(loop: int, operands: tuple[Operand | None, ...]) -> int:
    sizes = [
        size
        for operand in operands
        if operand is not None
        for axis, size in zip(operand.axes, operand.sizes, strict=True)
        if axis == loop
    ]
    return max(sizes, default=_UNKNOWN)


def _is_small(sizes: tuple[int, ...], work: int) -> bool:
    """Whether it is known to be too little to be divided."""
    return _UNKNOWN not in sizes and prod(sizes) * work < 2 * CHUNK_WORK


def _can_cut(loop: int, operands: tuple[Operand | None, ...]) -> bool:
    arrays = [operand for operand in operands if operand is not None]
    plain = all(loop not in array.mentions and array.axes.count(loop) <= 1 for array in arrays)
    return plain and any(loop in array.axes for array in arrays)


def _by_length(loops: list[int], sizes: tuple[int, ...]) -> list[int]:
    """Long loops and those of unknown length first, from outside in; then the longest."""
    return sorted(loops, key=lambda loop: -sizes[loop] if 0 <= sizes[loop] < _FEW else -_FEW)


def _parts_are_small(loop: int, sizes: tuple[int, ...], kinds: list[bool]) -> bool:
    """Whether results for each part are few beside what is combined."""
    results = [size for size, parallel in zip(sizes, kinds, strict=True) if parallel]
    if _UNKNOWN in results:
        return False
    return prod(results) <= _MOST_RESULTS and (sizes[loop] == _UNKNOWN or sizes[loop] >= 8)


def _walks_down_rows(sizes: tuple[int, ...], kinds: list[bool]) -> bool:
    """Whether rows are combined: parts are to be some of the rows rather than a piece of each."""
    results = [size for size, parallel in zip(sizes, kinds, strict=True) if parallel]
    long = not _UNKNOWN < sizes[0] < 4 * LEAST_ROWS
    return not kinds[0] and long and _UNKNOWN not in results and prod(results) <= _MOST_RESULTS


def _supported(operation: ir.Operation, operands: tuple[Operand | None, ...]) -> bool:
    """16-bit floats change their type on the way to LLVM; they are left alone."""
    elements = [ir.ShapedType(each.array.type).element_type for each in operands if each]
    return not any(isinstance(kind, ir.BF16Type | ir.IndexType) for kind in elements)


def _work(operation: ir.Operation) -> int | None:
    """Units for each innermost iteration, None where it cannot run on any thread."""
    total, of_loops = _OPERAND_WORK * len(operation.operands), 1
    for nested in operations_in(operation):
        dialect = nested.name.partition(".")[0]
        if dialect not in _HARMLESS and nested.name not in _HARMLESS and not is_poll(nested):
            return None
        if dialect != "linalg":
            total += _SLOW.get(nested.name) or _WORK.get(dialect, 1)
        if nested.name in ("scf.while", "scf.for"):
            of_loops = _TURNS
    return total * of_loops


def is_poll(operation: ir.Operation) -> bool:
    """Whether an operation asks for interrupts, in a loop that an element has."""
    return operation.name == "func.call" and callee_of(operation) == _POLL


def _combines(operation: ir.Operation) -> ir.Operation | None:
    """What combines results so far with something, in any order, if their number is known."""
    if operation.name != "linalg.generic":
        return None
    kind = ir.MemRefType(operation.operands[len(operation.operands) - 1].type)
    return combining(operation) if kind.has_static_shape else None
