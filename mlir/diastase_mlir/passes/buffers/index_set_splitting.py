"""Loops that compare their positions with numbers become a loop for each range of one answer.

    linalg.generic {iterator_types = ["parallel"]} outs(%b : memref<512xf64>) {
      %i = linalg.index 0
      %is_first = arith.cmpi ult, %i, %c1
      %x = scf.if %is_first -> (f64) { memref.load %a[%c511] } else { memref.load %a[%i - 1] }
    ->
    the same with `%a[%c511]` on %b[0 : 1], then with `%a[%i - 1]` on %b[1 : 512]

What pads, concatenates, rolls or slides windows asks such questions: a test for each element, which
keeps LLVM from making vectors. Only loops of known size, whose iterations are independent, are
split, and at numbers that are known; the innermost first, as long as there are few parts. Small
parts, which borders are, go on asking: what they take is little beside the time to compile them.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

from diastase_mlir.bindings import arith, ir
from diastase_mlir.emit.operations import create, flag_constant, index_constant
from diastase_mlir.passes.operations import (
    constant_of,
    defining,
    last_of,
    maps_of,
    operations_in,
    operations_named,
    parallel_loops,
)

MOST_PARTS = 32
"""Loops that one becomes at most."""
MOST_OPERATIONS = 4096
"""In the bodies of all parts."""
LEAST_ITERATIONS = 2048
"""Fewer are run sooner than the code for them is made."""
SMALL = 16
"""A part is small that has no more than one in so many of the iterations of its loop, or of all."""
SHORT = 8
"""An innermost loop up to this size stays whole: LLVM unrolls it, and writes a row at once."""

_ANSWERS: dict[int, Callable[[int, int], bool]] = {
    0: lambda x, y: x == y,
    1: lambda x, y: x != y,
    2: lambda x, y: x < y,
    3: lambda x, y: x <= y,
    4: lambda x, y: x > y,
    5: lambda x, y: x >= y,
}
"""Of signed comparisons, by the numbers of their predicates; unsigned ones follow in order."""
_UNSIGNED = 6


def index_set_splitting(module: ir.Module) -> None:
    """Split the loops of every `linalg.generic`, in place."""
    for generic in operations_named(module.operation, "linalg.generic"):
        if all(parallel_loops(generic)) and operations_named(generic, "arith.cmpi"):
            sizes = _sizes(generic)
            if None in sizes or prod(size or 1 for size in sizes) >= LEAST_ITERATIONS:
                _split(_Part(generic, tuple(sizes)))


def _sizes(generic: ir.Operation) -> list[int | None]:
    """Known sizes of loops that each operand has as an axis, or not at all."""
    sizes: dict[int, int | None] = {}
    compound: set[int] = set()
    maps = maps_of(generic)
    for array, affine_map in zip(generic.operands, maps, strict=True):
        shape = ir.MemRefType(array.type).shape if isinstance(array.type, ir.MemRefType) else []
        for axis, result in enumerate(affine_map.results):
            if isinstance(result, ir.AffineDimExpr):
                loop = ir.AffineDimExpr(result).position
                known = axis < len(shape) and shape[axis] >= 0
                sizes[loop] = shape[axis] if known and sizes.get(loop, 0) is not None else None
            else:
                compound.update(int(n) for n in re.findall(r"\bd(\d+)\b", str(result)))
    return [None if n in compound else sizes.get(n) for n in range(maps[0].n_dims)]


@dataclass
class _Part:
    """An operation on a part of its iterations; None for a loop that cannot be split."""

    operation: ir.Operation
    sizes: tuple[int | None, ...]


def _split(whole: _Part) -> None:
    """Split one loop after the other, each part by its own questions."""
    innermost = len(whole.sizes) - 1
    order = sorted(range(len(whole.sizes)), key=lambda loop: _priority(loop, whole.sizes))
    if (whole.sizes[innermost] or 0) <= SHORT:
        order.remove(innermost)
    parts = [whole]
    for loop in order:
        parts = _along(parts, loop)


def _priority(loop: int, sizes: Sequence[int | None]) -> tuple[bool, int]:
    """Short loops first, whose iterations differ most; then from the innermost one on."""
    return (sizes[loop] or SHORT + 1) > SHORT, -loop


def _along(parts: list[_Part], loop: int) -> list[_Part]:
    """The parts, each split along one loop, if they do not become too many."""
    most = max(_iterations(part) for part in parts)
    questions = [
        _questions(part, loop) if _iterations(part) * SMALL > most else [] for part in parts
    ]
    cuts = [_cuts(part, loop, own) for part, own in zip(parts, questions, strict=True)]
    count = sum(len(own) + 1 for own in cuts)
    bodies = sum(
        (len(own) + 1) * len(operations_in(part.operation))
        for part, own in zip(parts, cuts, strict=True)
    )
    if count > MOST_PARTS or bodies > MOST_OPERATIONS:
        return parts
    return [
        new
        for part, own, asked in zip(parts, cuts, questions, strict=True)
        for new in (_parted(part, loop, own) if own or asked else [part])
    ]


def _iterations(part: _Part) -> int:
    return prod(size or 1 for size in part.sizes)


# --- questions ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Question:
    """Whether `factor * position + offset` is (less than, …) a number."""

    operation: ir.Operation
    factor: int
    offset: int
    predicate: int
    number: int

    def answer(self, position: int) -> bool:
        """What holds at a position."""
        return _ANSWERS[self.predicate](self.factor * position + self.offset, self.number)

    def cuts(self, size: int) -> list[int]:
        """Positions at which the answer is not that for the position before."""
        if self.predicate <= 1:
            place, rest = divmod(self.number - self.offset, self.factor)
            cuts = [] if rest else [place, place + 1]
        else:
            first = self.answer(0)
            cuts = [bisect_left(range(size), True, key=lambda at: self.answer(at) != first)]
        return [cut for cut in cuts if 0 < cut < size]


def _questions(part: _Part, loop: int) -> list[_Question]:
    size = part.sizes[loop]
    if size is None:
        return []
    found: list[_Question] = []
    for comparison in operations_named(part.operation, "arith.cmpi"):
        left, right = (_linear(operand, loop) for operand in comparison.operands)
        if left is None or right is None or (left[0] == 0) == (right[0] == 0):
            continue
        factor, offset = left[0] - right[0], left[1] - right[1]
        predicate = ir.IntegerAttr(comparison.attributes["predicate"]).value
        if predicate >= _UNSIGNED:
            sides = [side[0] * end + side[1] for side in (left, right) for end in (0, size - 1)]
            if min(sides) < 0:
                continue
            predicate -= 4  # the signed one
        found.append(_Question(comparison, factor, offset, predicate, 0))
    return found


def _linear(value: ir.Value, loop: int) -> tuple[int, int] | None:
    """The factor of a loop's position and what is added, if a value is such a sum."""
    number = constant_of(value)
    if number is not None:
        return 0, int(number)
    owner = defining(value)
    if owner is None or not isinstance(value.type, ir.IndexType):
        return None
    if owner.name == "linalg.index":
        return (1, 0) if ir.IntegerAttr(owner.attributes["dim"]).value == loop else None
    if owner.name not in ("arith.addi", "arith.subi", "arith.muli"):
        return None
    left, right = (_linear(operand, loop) for operand in owner.operands)
    if left is None or right is None:
        return None
    if owner.name == "arith.muli":
        if left[0] and right[0]:
            return None
        return left[0] * right[1] + right[0] * left[1], left[1] * right[1]
    sign = 1 if owner.name == "arith.addi" else -1
    return left[0] + sign * right[0], left[1] + sign * right[1]


def _cuts(part: _Part, loop: int, questions: Iterable[_Question]) -> list[int]:
    """Where to cut: where answers change, but not between two ranges of few positions."""
    size = part.sizes[loop] or 0
    places = sorted({cut for question in questions for cut in question.cuts(size)})
    bounds = [0, *places, size]
    small = [SHORT < size and (last - first) * SMALL <= size for first, last in pairwise(bounds)]
    return [cut for number, cut in enumerate(places) if not (small[number] and small[number + 1])]


# --- parts ----------------------------------------------------------------------------------------


def _parted(part: _Part, loop: int, cuts: Sequence[int]) -> list[_Part]:
    """The operation for each range between the cuts; it goes itself."""
    size = part.sizes[loop] or 0
    bounds = [0, *cuts, size]
    parts: list[_Part] = []
    for first, last in pairwise(bounds):
        with ir.InsertionPoint(part.operation), part.operation.location:
            copy = part.operation.clone()
        # Those in a branch, which may go, before the one that leads to it.
        for question in reversed(_questions(_Part(copy, part.sizes), loop)):
            if not any(first < cut < last for cut in question.cuts(size)):
                _decide(question.operation, question.answer(first))
        with ir.InsertionPoint(copy), copy.location:
            if cuts:
                _restrict(copy, loop, first, last - first)
        sizes = list(part.sizes)
        sizes[loop] = last - first
        parts.append(_Part(copy, tuple(sizes)))
    part.operation.erase()
    return parts


def _restrict(operation: ir.Operation, loop: int, first: int, count: int) -> None:
    """The operation on `count` iterations of a loop from `first`."""
    for position, affine_map in enumerate(maps_of(operation)):
        axes = [str(result) for result in affine_map.results]
        for axis in (axis for axis, name in enumerate(axes) if name == f"d{loop}"):
            operand = operation.operands[position]
            operation.operands[position] = _slice(operand, axis, first, count)
    for number in operations_named(operation, "linalg.index"):
        if first and ir.IntegerAttr(number.attributes["dim"]).value == loop:
            uses = [(use.owner.operation, use.operand_number) for use in number.results[0].uses]
            with ir.InsertionPoint.after(number), number.location:
                shifted = arith.addi(number.results[0], index_constant(first))
            for owner, place in uses:
                owner.operands[place] = shifted


def _slice(array: ir.Value, axis: int, first: int, count: int) -> ir.Value:
    """`count` elements along an axis from `first`, all of the other axes."""
    kind = ir.MemRefType(array.type)
    strides, offset = kind.get_strides_and_offset()
    moving = ir.ShapedType.get_dynamic_stride_or_offset()
    known = moving not in (strides[axis], offset)
    place = offset + first * strides[axis] if known else moving
    if not first:
        place = offset
    shape = [count if at == axis else size for at, size in enumerate(kind.shape)]
    unknown = [
        create("memref.dim", [ir.IndexType.get()], [array, index_constant(at)]).result
        for at in range(kind.rank)
        if at != axis and kind.is_dynamic_dim(at)
    ]
    attributes = {
        "static_offsets": ir.DenseI64ArrayAttr.get(
            [first if at == axis else 0 for at in range(kind.rank)]
        ),
        "static_sizes": ir.DenseI64ArrayAttr.get(shape),
        "static_strides": ir.DenseI64ArrayAttr.get([1] * kind.rank),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, len(unknown), 0]),
    }
    layout = ir.StridedLayoutAttr.get(place, strides)
    result = ir.MemRefType.get(shape, kind.element_type, layout, kind.memory_space)
    return create("memref.subview", [result], [array, *unknown], attributes).result


# --- answers --------------------------------------------------------------------------------------


def _decide(comparison: ir.Operation, answer: bool) -> None:
    """Put an answer in the question's place, and take the branches that it leads to."""
    with ir.InsertionPoint(comparison), comparison.location:
        known = flag_constant(answer)
    _put(comparison, known, answer)


def _put(operation: ir.Operation, value: ir.Value, answer: bool | None) -> None:
    """Replace the result of an operation, whose users may be known by the answer."""
    users = [use.owner.operation for use in operation.results[0].uses]
    operation.results[0].replace_all_uses_with(value)
    operation.erase()
    if answer is None:
        return
    for user in users:
        _follow(user, value, answer)


def _follow(user: ir.Operation, flag: ir.Value, answer: bool) -> None:
    if user.name in ("arith.andi", "arith.ori"):
        left, right = user.operands
        other = right if left == flag else left
        decides = answer == (user.name == "arith.ori")
        known = answer if decides else _known(other)
        _put(user, flag if decides else other, known)
    elif user.name == "arith.xori":
        other = next(value for value in user.operands if value != flag)
        known = _known(other)
        if known is not None:
            with ir.InsertionPoint(user), user.location:
                result = flag_constant(known != answer)
            _put(user, result, known != answer)
    elif user.name == "arith.select" and user.operands[0] == flag:
        chosen = user.operands[1 if answer else 2]
        _put(user, chosen, _known(chosen))
    elif user.name == "scf.if":
        _take_branch(user, answer)


def _known(flag: ir.Value) -> bool | None:
    number = constant_of(flag) if flag.type == ir.IntegerType.get_signless(1) else None
    return None if number is None else bool(number)


def _take_branch(branch: Any, answer: bool) -> None:
    """The operations of one region in the place of an `scf.if`."""
    region = branch.regions[0 if answer else 1]
    if region.blocks:
        block = region.blocks[0]
        end = last_of(block)
        for nested in [view.operation for view in block.operations]:
            if nested != end:
                nested.move_before(branch)
        for result, value in zip(branch.results, end.operands, strict=True):
            result.replace_all_uses_with(value)
    branch.erase()
