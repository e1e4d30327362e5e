"""Inner loops over two to seven elements are written out; just before operations become loops.

    linalg.generic ins(%a : memref<1000x3xf64>)      scf.for %i = 0 to 1000 {
                   outs(%b : memref<1000x3xf64>)  ->   %x = memref.load %a[%i, 0]
      { … negf … }                                     … negf …; memref.store %p, %b[%i, 0]
                                                       … }                                 thrice

Vectors for such loops would be masked, one for each turn of the loop around them. What is written
out is read once, added up in registers, and stored at last: where a result is written over an
operand, each element is read in the turn in which it is written. Where all operands are contiguous
and walked through alike, there is one loop over all elements instead.

In: operations on memory, their loops in order. Bodies with calls, which vectors make, stay.
"""

from itertools import product
from math import prod
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.loops import for_each
from diastase_mlir.emit.operations import create, enumeration, index_binary, index_type
from diastase_mlir.emit.tensors import DYNAMIC
from diastase_mlir.passes.bodies import (
    Body,
    Constants,
    Known,
    combined,
    linear,
    sizes_of_loops,
)
from diastase_mlir.passes.operations import (
    SCOPE,
    combining,
    function_around,
    maps_of,
    operands_of,
    operations_in,
    operations_named,
    parallel_loops,
)

SHORT = (2, 3, 5, 6, 7)
"""Turns of an innermost loop that fill no vector: of four and eight, one does."""

MOST_TURNS = 32
"""Of the loops that are written out together."""

LEAST_AROUND = 16
"""Turns of the loops around them, below which code for each turn is not worth its compilation."""

_WITHOUT_EFFECT = frozenset({
    "arith.constant", "memref.alloc", "memref.cast", "memref.collapse_shape",
    "memref.expand_shape", "memref.subview",
})  # fmt: skip

_KEPT = ("func.call", "math.", "scf.for", "scf.while", "memref.store")
"""What no body has that is written out."""


def short_loops(module: ir.Module) -> None:
    """Write out the inner loops of every operation on memory, in place."""
    constants: dict[Any, Constants] = {}
    for view in operations_named(module.operation, "linalg.generic", "linalg.contract"):
        loop = view.operation
        sizes = sizes_of_loops(loop)
        outer = _outer_loops(sizes)
        if outer is None or len(loop.results) or not _is_plain(loop):
            continue
        function = function_around(loop)
        entry = function.regions[0].blocks[0]
        with ir.InsertionPoint(loop), loop.location:
            if _is_flat(loop):
                _flatten(loop)
            else:
                _Nest(loop, constants.setdefault(entry, Constants(function))).emit(outer, sizes)
        loop.erase()


def _outer_loops(sizes: list[int | None]) -> int | None:
    """How many loops stay around those that are written out, if any are."""
    long = [number for number, size in enumerate(sizes) if size != 1]
    if len(long) < 2 or sizes[long[-1]] not in SHORT:
        return None
    outer, turns = len(sizes), 1
    while outer > long[0] + 1:
        size = sizes[outer - 1]
        if size is None or turns * size > MOST_TURNS:
            break
        outer, turns = outer - 1, turns * size
    around = [size for size in sizes[:outer] if size is not None]
    is_worth_it = len(around) < outer or prod(around) >= LEAST_AROUND
    return outer if is_worth_it else None


def _is_plain(loop: Any) -> bool:
    """Whether a body may be emitted for each element, and indices are sums."""
    inner = operations_in(loop)[1:]
    return not any(own.name.startswith(_KEPT) for own in inner) and all(
        linear(own, one.n_dims) is not None for one in maps_of(loop) for own in one.results
    )


# --- one loop over all elements -------------------------------------------------------------------


def _is_flat(loop: Any) -> bool:
    """Whether all operands are contiguous and walked through in the same order, to their ends."""
    if loop.name != "linalg.generic" or not all(parallel_loops(loop)):
        return False
    if any(own.name == "linalg.index" for own in operations_in(loop)):
        return False
    rank = len(parallel_loops(loop))
    identity = ir.AffineMap.get_identity(rank)
    return all(
        isinstance(own.type, ir.MemRefType)
        and one == identity
        and own.type.affine_map == ir.AffineMap.get_identity(rank)
        for own, one in zip(operands_of(loop), maps_of(loop), strict=True)
    )


def _flatten(loop: Any) -> None:
    """The same with all axes as one."""
    rank = len(parallel_loops(loop))
    axes = ir.ArrayAttr.get([ir.ArrayAttr.get([*map(enumeration, range(rank))])])
    operands = list[ir.Value]()
    for own in operands_of(loop):
        kind: Any = ir.MemRefType(own.type)
        size = DYNAMIC if not kind.has_static_shape else prod(kind.shape)
        flat = ir.MemRefType.get([size], kind.element_type, None, kind.memory_space)
        attributes = {"reassociation": axes}
        operands.append(create("memref.collapse_shape", [flat], [own], attributes).result)
    kinds, maps = ir.ArrayAttr(loop.attributes["iterator_types"]), len(operands)
    identity = ir.AffineMapAttr.get(ir.AffineMap.get_identity(1))
    attributes = dict(loop.attributes.items()) | {
        "indexing_maps": ir.ArrayAttr.get([identity] * maps),
        "iterator_types": ir.ArrayAttr.get([kinds[0]]),
    }
    new = create("linalg.generic", [], operands, attributes, 1)
    loop.regions[0].blocks[0].append_to(new.regions[0])


# --- loops written out ----------------------------------------------------------------------------


class _Nest:
    """The outer loops of an operation, with the inner ones written out."""

    def __init__(self, loop: Any, constants: Constants):
        self._loop, self._constants = loop, constants
        self._operands, self._maps = operands_of(loop), maps_of(loop)
        block = loop.regions[0].blocks[0]
        self._arguments, self._body = list(block.arguments), Body(block, constants)
        self._read = [next(iter(own.uses), None) is not None for own in self._arguments]
        self._inputs = ir.DenseI32ArrayAttr(loop.attributes["operandSegmentSizes"])[0]
        self._combines = combining(loop)
        self._first: ir.Value | None = None
        """What is in the result before, where it is one number everywhere."""

    def emit(self, outer: int, sizes: list[int | None]) -> None:
        """Emit all loops."""
        last = self._maps[-1]
        around = [ir.AffineDimExpr.get(number) for number in range(outer)]
        if self._combines is not None and last.is_projected_permutation:
            if all(own in last.results for own in around):
                self._take_fill()
        inner: Any = sizes[outer:]
        around = [
            self._size(number) if size is None else size
            for number, size in enumerate(sizes[:outer])
        ]

        def turn(place: list[ir.Value], _: list[ir.Value]) -> list[ir.Value]:
            self._turn(place, inner)
            return []

        for_each(SCOPE, around, [], turn)

    def _take_fill(self) -> None:
        """Begin with the number with which the result is filled just before, without filling it.

        All of a result is written where each turn of the outer loops writes a part of its own.
        """
        operations = [own.operation for own in self._loop.block.operations]
        for before in reversed(operations[: operations.index(self._loop)]):
            if before.name == "linalg.fill" and before.operands[1] == self._operands[-1]:
                self._first = before.operands[0]
                before.erase()
                return
            if before.name not in _WITHOUT_EFFECT:
                return

    def _size(self, loop: int) -> ir.Value:
        """How often a loop runs, asked of an operand."""
        for operand, affine_map in zip(self._operands, self._maps, strict=True):
            for axis, result in enumerate(affine_map.results):
                if result == ir.AffineDimExpr.get(loop):
                    index = self._constants.index(axis)
                    return create("memref.dim", [index_type()], [operand, index]).result
        raise AssertionError("a loop that no operand tells the size of")

    def _turn(self, around: list[ir.Value], inner: list[int]) -> None:
        numbers: dict[Any, ir.Value] = {}
        terms: dict[Any, list[ir.Value]] = {}
        indices: dict[Any, ir.Value] = {}
        for place in product(*map(range, inner)):
            at = [
                self._place(own, [*around, *place], indices) for own in range(len(self._operands))
            ]
            values: Any = {
                argument: self._number(own, where, numbers)
                for own, (argument, where) in enumerate(zip(self._arguments, at, strict=True))
                if self._read[own]
            }
            emitted = self._body.emit([*around, *place], values, self._combines)
            if self._combines is not None:
                of_result = list(self._combines.operands).index(self._arguments[-1])
                terms.setdefault(at[-1], []).append(emitted[1 - of_result])
                continue
            for number, value in enumerate(emitted, self._inputs):
                numbers[number, at[number]] = value
        last = len(self._operands) - 1
        for where, own in terms.items():
            name = str(self._combines and self._combines.name)
            numbers[last, where] = combined(name, [numbers[last, where], *own])
        for (number, where), value in numbers.items():
            if number >= self._inputs:
                create("memref.store", [], [value, self._operands[number], *self._as_values(where)])

    def _number(self, number: int, where: Any, numbers: dict[Any, ir.Value]) -> ir.Value:
        """An element of an operand, read once."""
        operand: Any = self._operands[number]
        if not isinstance(operand.type, ir.MemRefType):
            return operand
        if (number, where) not in numbers and number >= self._inputs and self._first is not None:
            numbers[number, where] = self._first
        if (number, where) not in numbers:
            kind, indices = operand.type.element_type, self._as_values(where)
            numbers[number, where] = create("memref.load", [kind], [operand, *indices]).result
        return numbers[number, where]

    def _as_values(self, where: tuple[Known, ...]) -> list[ir.Value]:
        return [*map(self._constants.index, where)]

    def _place(
        self, number: int, place: list[Known], made: dict[Any, ir.Value]
    ) -> tuple[Known, ...]:
        """Where an operand is read or written in a turn."""
        affine_map = self._maps[number]
        return tuple(
            self._sum(linear(own, affine_map.n_dims) or [], place, made)
            for own in affine_map.results
        )

    def _sum(self, factors: list[int], place: list[Known], made: dict[Any, ir.Value]) -> Known:
        """A sum of positions times numbers, emitted once."""
        known = factors[-1]
        terms = list[tuple[int, int]]()
        for number, (factor, own) in enumerate(zip(factors, place, strict=False)):
            if isinstance(own, int):
                known += factor * own
            elif factor:
                terms.append((number, factor))
        key = (*terms, known)
        if not terms:
            return known
        if key not in made:
            made[key] = self._emitted_sum(terms, place, known)
        return made[key]

    def _emitted_sum(self, terms: list[tuple[int, int]], place: list[Known], more: int) -> ir.Value:
        parts = [self._constants.index(more)] if more else []
        for number, factor in terms:
            own = self._constants.index(place[number])
            scale = self._constants.index(factor)
            parts.append(own if factor == 1 else index_binary("muli", own, scale))
        return combined("arith.addi", parts[::-1])
