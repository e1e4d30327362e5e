"""Which arrays of a block may be the same memory once they are memory.

A view is the memory that it is a part of, what a loop carries on may be what it was given, and an
update is written where the array was. That a later operation may not write over what is still read
is not seen here: this says what may be, bufferization what is.
"""

from collections.abc import Iterator
from itertools import pairwise

from diastase_mlir.bindings import ir

_DESTINATION = {"tensor.insert": 1, "tensor.insert_slice": 1}
"""The operand that an operation updates, of those that copy what else they read."""


class Aliases:
    """Sets of values, any two of which may be the same memory; but not for that of `outside`."""

    def __init__(self, outside: frozenset[ir.Value]):
        self._outside = outside
        self._parents: dict[ir.Value, ir.Value] = {}

    def find(self, value: ir.Value) -> ir.Value:
        """One value for the whole set."""
        root = value
        while (parent := self._parents.get(root)) is not None:
            root = parent
        while value != root:
            self._parents[value], value = root, self._parents[value]
        return root

    def add(self, operation: ir.Operation) -> None:
        """Learn what an operation, without those inside of it, says of its operands."""
        for one, other in _pairs(operation):
            if not _has_memory(one) or not self._outside.isdisjoint((one, other)):
                continue
            one, other = self.find(one), self.find(other)
            if one != other:
                self._parents[one] = other


def _has_memory(value: ir.Value) -> bool:
    return isinstance(value.type, (ir.RankedTensorType, ir.MemRefType))


def _pairs(operation: ir.Operation) -> Iterator[tuple[ir.Value, ir.Value]]:
    name = operation.name
    results, operands = list(operation.results), list(operation.operands)
    if not any(map(_has_memory, results)):
        return
    if name.startswith("linalg."):
        yield from zip(results, operands[len(operands) - len(results) :], strict=True)
    elif name in _DESTINATION:
        yield results[0], operands[_DESTINATION[name]]
    elif name == "scf.for":
        carried = operands[3:]
        yield from zip(results, carried, strict=True)
        yield from zip(results, _arguments(operation, 0)[1:], strict=True)
        yield from zip(results, _given(operation, 0), strict=True)
    elif name == "scf.while":
        yield from zip(_arguments(operation, 0), operands, strict=True)
        yield from zip(_arguments(operation, 0), _given(operation, 1), strict=True)
        yield from zip(results, _given(operation, 0)[1:], strict=True)
        yield from zip(results, _arguments(operation, 1), strict=True)
    elif name == "scf.if":
        for number, region in enumerate(operation.regions):
            if region.blocks:
                yield from zip(results, _given(operation, number), strict=True)
    else:
        values = [value for value in (*results, *operands) if _has_memory(value)]
        yield from pairwise(values)


def _arguments(operation: ir.Operation, region: int) -> list[ir.Value]:
    return list(operation.regions[region].blocks[0].arguments)


def _given(operation: ir.Operation, region: int) -> list[ir.Value]:
    """What a region ends with."""
    operations = operation.regions[region].blocks[0].operations
    return list(operations[len(operations) - 1].operands)
