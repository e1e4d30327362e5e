"""Whether a loop of one element may go on, unseen, when the element does not ask for it any more.

    scf.while (%x = %a, %on = %m) { scf.condition(%on) … } do {
      %y = …
      %new = arith.select %on, %y, %x            with %on false: %x, as it was
      %still = arith.andi %on, %less             with %on false: false, as it was
      scf.yield %new, %still }

Two values are the same here if they are made by equal operations of the same values. The one known
to be false is the element's predicate, and whatever is made as it is.
"""

from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.passes.operations import defining, last_of, operands_of


def is_frozen(loop: Any, predicate: ir.Value, used: Sequence[int]) -> bool:
    """Whether a turn with a false predicate changes no result that is used, nor the predicate."""
    before, after = (region.blocks[0] for region in loop.regions)
    values = _Values()
    for place, argument in enumerate(before.arguments):
        values.numbers[argument] = values.number("carry", place)
    values.block(before)
    _, *handed = last_of(before).operands
    carried = {values.of(argument): place for place, argument in enumerate(before.arguments)}
    needed = {carried.get(values.of(handed[place])) for place in used}
    needed |= _made_of(predicate, before)
    if None in needed:
        return False
    values.assume_false(predicate)
    for argument, value in zip(after.arguments, handed, strict=True):
        values.numbers[argument] = values.known.get(values.of(value), values.of(value))
    values.block(after)
    returned = last_of(after).operands
    return all(
        values.of(returned[place])
        in (own := values.of(before.arguments[place]), values.known.get(own))
        for place in needed
        if place is not None
    )


def _made_of(value: ir.Value, block: Any) -> set[int | None]:
    """The places of a block's arguments that a value depends on; None where that is not seen."""
    found, seen, open_ = set[int | None](), {value}, [value]
    while open_:
        value = open_.pop()
        owner: Any = value.owner
        if isinstance(owner, ir.Block):
            if owner == block:
                found.add(ir.BlockArgument(value).arg_number)
            continue
        if len(owner.regions):
            return {None}
        for operand in operands_of(owner):
            if operand not in seen:
                seen.add(operand)
                open_.append(operand)
    return found


class _Values:
    """Numbers for values, equal for those that are the same."""

    def __init__(self) -> None:
        self.numbers: dict[ir.Value, int] = {}
        self.known: dict[int, int] = {}
        """Of what is known to be true or false."""
        self._table: dict[tuple[Any, ...], int] = {}
        self._false = self.number("arith.constant", ("value=false",))
        self._true = self.number("arith.constant", ("value=true",))

    def number(self, *key: Any) -> int:
        """The number of what is described so."""
        return self._table.setdefault(key, len(self._table))

    def of(self, value: ir.Value) -> int:
        """The number of a value; one from outside is itself."""
        if value not in self.numbers:
            made_by = defining(value)
            if made_by is not None and made_by.name == "arith.constant":
                self._operation(made_by)
            else:
                self.numbers[value] = self.number("value", len(self._table))
        return self.numbers[value]

    def assume_false(self, predicate: ir.Value) -> None:
        """Note that a value is false, and what follows of what it is made of."""
        self.known[self.of(predicate)] = self._false
        made_by = defining(predicate)
        if made_by is not None and made_by.name == "arith.ori":
            for operand in made_by.operands:
                self.assume_false(operand)
        if made_by is not None and made_by.name == "arith.xori":
            left, right = map(self.of, made_by.operands)
            if self._true in (left, right):
                self.known[left if right == self._true else right] = self._true

    def block(self, block: Any) -> None:
        """Number what the operations of a block give."""
        for view in block.operations:
            if len(view.operation.results):
                self._operation(view.operation)

    def _operation(self, operation: Any) -> None:
        if len(operation.regions) or operation.name.startswith(("func.", "llvm.", "tensor.")):
            for result in operation.results:
                self.numbers[result] = self.number("value", len(self._table))
            return
        operands = [self.of(operand) for operand in operands_of(operation)]
        found = self._simplified(operation.name, operands)
        if found is None:
            attributes = operation.attributes
            names = tuple(f"{name}={attributes[name]}" for name in attributes)
            kind = str(operation.results[0].type)
            given = (names,) if kind == "i1" and not operands else (names, kind)
            found = self.number(operation.name, *given, *operands)
        self.numbers[operation.results[0]] = self.known.get(found, found)

    def _simplified(self, name: str, operands: Sequence[int]) -> int | None:
        if name == "arith.select":
            condition, if_true, if_false = operands
            if condition in (self._true, self._false):
                return if_true if condition == self._true else if_false
            return if_true if if_true == if_false else None
        if name in ("arith.andi", "arith.ori"):
            ends, passes = (self._false, self._true)[:: 1 if name == "arith.andi" else -1]
            if ends in operands:
                return ends
            rest = [own for own in operands if own != passes]
            return rest[0] if len(rest) == 1 else None
        if name == "arith.xori" and set(operands) <= {self._true, self._false}:
            return self._true if operands[0] != operands[1] else self._false
        return None
