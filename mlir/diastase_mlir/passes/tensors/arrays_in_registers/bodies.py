"""The body of a loop over elements in one turn: emitted with what is known in that turn.

Where the loop stands is known, so what is computed of that alone is computed here; a branch that
depends on it is none; and an element of a small array at such a place is one of its numbers.
"""

from collections.abc import Callable
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import INTEGER_PREDICATES
from diastase_mlir.passes.operations import constant_of, operands_of, operations_in
from diastase_mlir.passes.tensors.arrays_in_registers.elements import Elements, flat, is_small

Known = int | ir.Value
"""An integer that is known, or a value."""

Values = dict[ir.Value, Known]
"""What the values of a body are in one turn."""

_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda left, right: left == right,
    "ne": lambda left, right: left != right,
    "slt": lambda left, right: left < right,
    "sle": lambda left, right: left <= right,
    "sgt": lambda left, right: left > right,
    "sge": lambda left, right: left >= right,
}
_COMPUTED: dict[str, Callable[[int, int], int]] = {
    "arith.addi": lambda left, right: left + right,
    "arith.subi": lambda left, right: left - right,
    "arith.muli": lambda left, right: left * right,
    "arith.minsi": min,
    "arith.maxsi": max,
    "arith.andi": lambda left, right: left & right,
    "arith.ori": lambda left, right: left | right,
    "arith.xori": lambda left, right: left ^ right,
}
_LARGEST = 2**31
"""Integers between its negative and it are computed here; in all types that have them."""


class Body:
    """A body, which may be emitted again and again."""

    def __init__(self, elements: Elements, block: Any):
        self._elements = elements
        *self._operations, self._last = [view.operation for view in block.operations]

    def emit(self, place: tuple[int, ...], values: Values, but: Any = None) -> list[ir.Value]:
        """Emit all operations, but for one; what the body yields, or the operands of that one."""
        for operation in self._operations:
            if but is None or operation != but:
                self._emit(operation, place, values)
        return [self._as_value(own, values) for own in operands_of(but or self._last)]

    def _emit(self, operation: Any, place: tuple[int, ...], values: Values) -> None:
        operands = [_known(own, values) for own in operands_of(operation)]
        name, results = operation.name, list(operation.results)
        if name == "linalg.index":
            values[results[0]] = place[ir.IntegerAttr(operation.attributes["dim"]).value]
        elif name == "scf.if" and isinstance(operands[0], int):
            self._emit_branch(operation, operation.regions[0 if operands[0] else 1], place, values)
        elif name == "tensor.extract" and _is_known_element(operands):
            array: Any = operands[0]
            number = flat(operands[1:], array.type.shape)
            values[results[0]] = self._elements.of(array)[number]
        elif (computed := _computed(operation, operands)) is not None:
            values[results[0]] = computed
        else:
            copy = operation.clone().operation
            for inner in operations_in(copy) if len(copy.regions) else [copy]:
                self._give_operands(inner, values)
            values.update(zip(results, copy.results, strict=True))

    def _emit_branch(
        self, branch: Any, region: Any, place: tuple[int, ...], values: Values
    ) -> None:
        *operations, last = [view.operation for view in region.blocks[0].operations]
        for operation in operations:
            self._emit(operation, place, values)
        for result, own in zip(branch.results, operands_of(last), strict=True):
            values[result] = _known(own, values)

    def _give_operands(self, operation: Any, values: Values) -> None:
        for number, own in enumerate(operands_of(operation)):
            if own in values:
                operation.operands[number] = self._as_value(own, values)

    def _as_value(self, own: ir.Value, values: Values) -> ir.Value:
        known = values.get(own, own)
        return self._elements.constant(own.type, known) if isinstance(known, int) else known


def _known(own: ir.Value, values: Values) -> Known:
    """A value in this turn, a number where it is one that is known."""
    if own in values:
        return values[own]
    if not isinstance(own.type, (ir.IndexType, ir.IntegerType)):
        return own
    number = constant_of(own)
    if number is None:
        return own
    return int(number) & 1 if str(own.type) == "i1" else int(number)


def _is_known_element(operands: list[Known]) -> bool:
    """Whether what is read is known to be a certain element of a small array."""
    array: Any = operands[0]
    places = operands[1:]
    return is_small(array.type) and all(
        isinstance(place, int) and 0 <= place < size
        for place, size in zip(places, array.type.shape, strict=True)
    )


def _computed(operation: Any, operands: list[Known]) -> Known | None:
    """What an operation gives, where that is known, or one of its operands."""
    name = operation.name
    if name == "arith.select" and isinstance(operands[0], int):
        return operands[1 if operands[0] else 2]
    if not operands or not all(isinstance(own, int) and abs(own) < _LARGEST for own in operands):
        return None
    numbers: Any = operands
    if name == "arith.index_cast":
        return numbers[0]
    if name == "arith.cmpi":
        predicate = ir.IntegerAttr(operation.attributes["predicate"]).value
        compared = _COMPARED.get(INTEGER_PREDICATES[predicate])
        return None if compared is None else int(compared(*numbers))
    if name not in _COMPUTED or not _is_wide(operation.results[0].type, name):
        return None
    number = _COMPUTED[name](*numbers)
    return number if abs(number) < _LARGEST else None


def _is_wide(kind: Any, name: str) -> bool:
    """Whether numbers of a type are as Python's are; of truth values, what has no carry is."""
    if isinstance(kind, ir.IndexType):
        return True
    return kind.width >= 32 or name in ("arith.andi", "arith.ori", "arith.xori")
