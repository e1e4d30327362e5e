"""The body of a loop over elements in one turn: emitted with what is known in that turn.

Where the loop stands is known, at least along some axes. What is computed of that alone is computed
here, and a branch that depends on it is none. Who emits a body may say what elements of arrays are.
"""

from collections.abc import Callable, Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import INTEGER_PREDICATES, binary, scalar_constant
from diastase_mlir.passes.operations import constant_of, maps_of, operands_of, operations_in

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


class Constants:
    """Integers, each of which is made once in a function."""

    def __init__(self, function: Any):
        self._start = function.regions[0].blocks[0]
        self._made: dict[tuple[ir.Type, int], ir.Value] = {}

    def value(self, kind: ir.Type, number: int) -> ir.Value:
        """An integer as a value."""
        key = kind, number
        if key not in self._made:
            with ir.InsertionPoint.at_block_begin(self._start), ir.Location.unknown():
                self._made[key] = scalar_constant(kind, number)
        return self._made[key]

    def index(self, number: Known) -> ir.Value:
        """A position as a value."""
        return self.value(ir.IndexType.get(), number) if isinstance(number, int) else number


def _unknown(*_: Any) -> None:
    return None


class Body:
    """A body, which may be emitted again and again."""

    def __init__(
        self,
        block: Any,
        constants: Constants,
        element: Callable[[ir.Value, list[Known]], ir.Value | None] = _unknown,
    ):
        """`element`: what is read of an array at a place, where nothing needs to be emitted."""
        self._constants, self._element = constants, element
        *self._operations, self._last = [view.operation for view in block.operations]

    def emit(self, place: Sequence[Known], values: Values, but: Any = None) -> list[ir.Value]:
        """Emit all operations, but for one; what the body yields, or the operands of that one."""
        for operation in self._operations:
            if but is None or operation != but:
                self._emit(operation, place, values)
        return [self._as_value(own, values) for own in operands_of(but or self._last)]

    def _emit(self, operation: Any, place: Sequence[Known], values: Values) -> None:
        operands = [_known(own, values) for own in operands_of(operation)]
        name, results = operation.name, list(operation.results)
        if name == "linalg.index":
            values[results[0]] = place[ir.IntegerAttr(operation.attributes["dim"]).value]
        elif name == "scf.if" and isinstance(operands[0], int):
            self._emit_branch(operation, operation.regions[0 if operands[0] else 1], place, values)
        elif (computed := self._computed(operation, operands)) is not None:
            values[results[0]] = computed
        else:
            copy = operation.clone().operation
            for inner in operations_in(copy) if len(copy.regions) else [copy]:
                self._give_operands(inner, values)
            values.update(zip(results, copy.results, strict=True))

    def _emit_branch(
        self, branch: Any, region: Any, place: Sequence[Known], values: Values
    ) -> None:
        *operations, last = [view.operation for view in region.blocks[0].operations]
        for operation in operations:
            self._emit(operation, place, values)
        for result, own in zip(branch.results, operands_of(last), strict=True):
            values[result] = _known(own, values)

    def _computed(self, operation: Any, operands: list[Any]) -> Known | None:
        if operation.name == "tensor.extract":
            return self._element(operands[0], operands[1:])
        return _computed(operation, operands)

    def _give_operands(self, operation: Any, values: Values) -> None:
        for number, own in enumerate(operands_of(operation)):
            if own in values:
                operation.operands[number] = self._as_value(own, values)

    def _as_value(self, own: ir.Value, values: Values) -> ir.Value:
        known = values.get(own, own)
        return self._constants.value(own.type, known) if isinstance(known, int) else known


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


# --- loops over elements --------------------------------------------------------------------------


def sizes_of_loops(loop: Any) -> list[int | None]:
    """How often each loop of an operation runs, where operands tell it."""
    maps, sizes = maps_of(loop), dict[int, int]()
    for operand, affine_map in zip(operands_of(loop), maps, strict=True):
        kind: Any = operand.type
        if not isinstance(kind, ir.ShapedType):
            continue
        for axis, result in enumerate(affine_map.results):
            if isinstance(result, ir.AffineDimExpr) and not kind.is_dynamic_dim(axis):
                sizes[ir.AffineDimExpr(result).position] = kind.get_dim_size(axis)
    return [sizes.get(number) for number in range(maps[0].n_dims)]


def linear(expression: ir.AffineExpr, loops: int) -> list[int] | None:
    """An index as a sum: what each loop's number is multiplied by, and what is added."""
    if isinstance(expression, ir.AffineDimExpr):
        place = ir.AffineDimExpr(expression).position
        return [int(number == place) for number in range(loops + 1)]
    if isinstance(expression, ir.AffineConstantExpr):
        return [0] * loops + [ir.AffineConstantExpr(expression).value]
    if not isinstance(expression, (ir.AffineAddExpr, ir.AffineMulExpr)):
        return None
    left, right = (linear(own, loops) for own in (expression.lhs, expression.rhs))
    if left is None or right is None:
        return None
    if isinstance(expression, ir.AffineAddExpr):
        return [one + other for one, other in zip(left, right, strict=True)]
    if any(right[:-1]):
        left, right = right, left
    return None if any(right[:-1]) else [own * right[-1] for own in left]


def combined(name: str, numbers: list[ir.Value]) -> ir.Value:
    """All numbers by one operation, in pairs."""
    while len(numbers) > 1:
        pairs = zip(numbers[::2], numbers[1::2], strict=False)
        last = numbers[len(numbers) & ~1 :]
        numbers = [*(binary(name, *pair) for pair in pairs), *last]
    return numbers[0]
