"""Which values differ from lane to lane, where a loop of one element is to run in lanes.

A value differs if it is made of one that does. What a loop carries differs if its first value or
what a turn gives does; where lanes leave the loop at different turns (its condition differs), also
all that the condition, or a result that is used, is made of: it is to stay as it was in that turn.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.passes.operations import defining, last_of, operands_of


class Varying:
    """The values that differ."""

    def __init__(self, values: Iterable[ir.Value]):
        self._found = set(values)

    def __contains__(self, value: ir.Value) -> bool:
        return value in self._found

    def follow(self, block: Any) -> bool:
        """Find all values of a block that differ; False where lanes would go different ways."""
        count = -1
        possible = True
        while possible and count != len(self._found):
            count = len(self._found)
            possible = self._block(block)
        return possible

    def _any(self, values: Iterable[ir.Value]) -> bool:
        return any(value in self._found for value in values)

    def _spread(self, sources: Sequence[Any], *targets: Sequence[Any]) -> None:
        for target in targets:
            for value, own in zip(sources, target, strict=True):
                if value in self._found:
                    self._found.add(own)

    def _block(self, block: Any) -> bool:
        return all([self._operation(view.operation) for view in block.operations])

    def _operation(self, operation: Any) -> bool:
        if operation.name == "scf.while":
            return self._while(operation)
        operands = operands_of(operation)
        if operation.name == "scf.for":
            body = operation.regions[0].blocks[0]
            carries, results = list(body.arguments)[1:], list(operation.results)
            self._spread(operands[3:], carries)
            possible = self._block(body) and not self._any(operands[:3])
            self._spread(list(last_of(body).operands), carries)
            self._spread(carries, results)
            return possible
        if operation.name == "scf.if":
            possible = not self._any(operands[:1])
            for region in operation.regions:
                if len(region.blocks):
                    possible = self._block(region.blocks[0]) and possible
                    self._spread(last_of(region.blocks[0]).operands, operation.results)
            return possible
        if self._any(operands):
            self._found.update(operation.results)
        return operation.name != "func.call" or not self._any(operands)

    def _while(self, loop: Any) -> bool:
        before, after = (region.blocks[0] for region in loop.regions)
        carries, results = list(before.arguments), list(loop.results)
        self._spread(operands_of(loop), carries)
        possible = self._block(before)
        condition, *handed = last_of(before).operands
        if condition in self._found:
            used = [value for value, own in zip(handed, results, strict=True) if list(own.uses)]
            own = [value for value in conjuncts(condition) if value in self._found]
            self._found.update(_made_of([*own, *used], before))
            self._block(before)
        self._spread(handed, list(after.arguments), results)
        possible = self._block(after) and possible
        self._spread(list(last_of(after).operands), carries)
        return possible


def conjuncts(condition: ir.Value) -> list[ir.Value]:
    """What must all hold for a condition to hold."""
    made_by = defining(condition)
    if made_by is None or made_by.name != "arith.andi":
        return [condition]
    return [each for operand in made_by.operands for each in conjuncts(operand)]


def _made_of(values: Sequence[ir.Value], block: Any) -> set[ir.Value]:
    """The arguments of a block that values are made of."""
    found, open_ = set[ir.Value](), list(values)
    seen = set(values)
    while open_:
        value = open_.pop()
        owner: Any = value.owner
        if isinstance(owner, ir.Block):
            if owner == block:
                found.add(value)
            continue
        inner = owner.operation
        if len(inner.regions):
            return set(block.arguments)
        for operand in operands_of(inner):
            if operand not in seen:
                seen.add(operand)
                open_.append(operand)
    return found
