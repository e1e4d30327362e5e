"""Find chains of updates: versions of one array, each of which is used up by the next update.

    %1 = tensor.insert %x into %0[%i]         %2 = scf.if %b -> (tensor<9xf64>) {
    %e = tensor.extract %1[%k]                  %t = tensor.insert %y into %1[%j]
                                                scf.yield %t
                                              } else { scf.yield %1 }

An *update* makes a version from the one before: `tensor.insert`, `tensor.insert_slice`, branches
and loops that do nothing but update, or leave, the version that they are given. A *version* of a
chain, but for the first, is only read before its update, by operations that keep nothing of it, or
slices that are read before it, too; and its update uses it once: whoever comes later sees later
versions. The first version is what the
chain is given, and may be used by anybody.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from diastase_mlir.bindings import ir

LEAST = 8
"""Updates of a chain; bufferization takes no time for fewer."""

INSERTIONS = frozenset({"tensor.insert", "tensor.insert_slice"})
READS = frozenset({"tensor.extract", "tensor.dim"})
FIRST_CARRIED = 3
"""Operands of `scf.for` before those that it carries: its bounds and its step."""


@dataclass(frozen=True)
class Use:
    """A use of a value, seen from a block: `place` is what stands in the block and contains it."""

    place: ir.Operation
    user: ir.Operation
    operand: int

    @property
    def is_read(self) -> bool:
        """Whether the user reads elements or sizes, and keeps nothing of the array."""
        if self.user.name in READS:
            return self.operand == 0
        segments = self.user.attributes
        if not self.user.name.startswith("linalg.") or "operandSegmentSizes" not in segments:
            return False
        return self.operand < ir.DenseI32ArrayAttr(segments["operandSegmentSizes"])[0]

    @property
    def is_slice(self) -> bool:
        """Whether the user is a part of the array, which others may read."""
        return self.user.name == "tensor.extract_slice" and self.operand == 0


@dataclass
class Part:
    """What happens to an array in a block: from one version to the last, in order."""

    first: ir.Value
    later: list[ir.Value]
    """The results of the updates."""


@dataclass
class Arrays:
    """What is known of a module's arrays."""

    uses: dict[tuple[ir.Value, ir.Block], list[Use]] = field(default_factory=dict)
    blocks: list[ir.Block] = field(default_factory=list)
    """Outer ones first."""
    _parts: dict[ir.Value, list[tuple[ir.Block, Part]] | None] = field(default_factory=dict)

    def chains(self) -> Iterable[Part]:
        """All chains that are long enough, none of which is part of another."""
        claimed: set[ir.Value] = set()
        for block in self.blocks:
            for operation in list(block.operations):
                for result in operation.results:
                    if result in claimed or self.updated(result) is None:
                        continue
                    chain = self._from(result, block)
                    claimed.update(chain.later)
                    if sum(map(self._updates, chain.later)) >= LEAST:
                        for version in chain.later:
                            self._claim(version, claimed)
                        yield chain

    def uses_in(self, block: ir.Block, value: ir.Value) -> list[Use]:
        """The uses of a value in a block and what is nested in it."""
        return self.uses.get((value, block), [])

    def updated(self, value: ir.Value) -> ir.Value | None:
        """The version that an update makes this value from."""
        parts = self.parts(value)
        if parts is None:
            return None
        operation = operation_of(value)
        if operation.name in INSERTIONS:
            return operation.operands[1]
        if operation.name == "scf.for":
            return operation.operands[FIRST_CARRIED + ir.OpResult(value).result_number]
        return parts[0][1].first

    def parts(self, value: ir.Value) -> list[tuple[ir.Block, Part]] | None:
        """What happens in the blocks of the update that makes a value; None if it is no update."""
        if value not in self._parts:
            self._parts[value] = self._parts_of(value)
        return self._parts[value]

    def _parts_of(self, value: ir.Value) -> list[tuple[ir.Block, Part]] | None:
        if isinstance(value.owner, ir.Block):
            return None
        operation = operation_of(value)
        if operation.name in INSERTIONS:
            first = [use for use in self.uses_in(operation.block, operation.operands[1])]
            alone = all(use.operand == 1 for use in first if use.place == operation)
            return [] if alone else None
        if operation.name not in ("scf.if", "scf.for"):
            return None
        number = ir.OpResult(value).result_number
        blocks = [region.blocks[0] for region in operation.regions]
        parts = [(block, self._part(block, number)) for block in blocks]
        found = [(block, part) for block, part in parts if part is not None]
        if len(found) < len(parts) or not any(part.later for _, part in found):
            return None
        given = {part.first for _, part in found}
        if operation.name == "scf.if":
            inside = [value for block in blocks for value in given if _is_in(value, block)]
            return found if len(given) == 1 and not inside else None
        carried = operation.operands[FIRST_CARRIED + number]
        around = [use for use in self.uses_in(operation.block, carried) if use.place == operation]
        return found if given == {blocks[0].arguments[1 + number]} and len(around) == 1 else None

    def _part(self, block: ir.Block, number: int) -> Part | None:
        """What happens in a block to what it yields as its `number`-th value."""
        end = block.operations[len(block.operations) - 1].operation
        value, later = end.operands[number], []
        while _is_in(value, block) and (before := self.updated(value)) is not None:
            later.append(value)
            value = before
        later.reverse()
        places = [*map(operation_of, later), end]
        for version, place in zip([value, *later], places, strict=True):
            if not self._is_used_up(version, block, place, number):
                return None
        return Part(value, later)

    def _is_used_up(
        self, version: ir.Value, block: ir.Block, place: ir.Operation, yielded: int
    ) -> bool:
        """Whether a block only reads a version before an update of it, or before its end."""
        for use in self.uses_in(block, version):
            if use.place == place:
                if place.name == "scf.yield" and use.operand != yielded:
                    return False  # of updates `parts` has seen it
            elif not use.place.is_before_in_block(place) or not self._only_reads(use, place):
                return False
        return True

    def _only_reads(self, use: Use, place: ir.Operation | None) -> bool:
        """Whether a use reads an array, or makes a slice that is only read, before a place."""
        if not use.is_slice:
            return use.is_read
        around = use.user.block
        limit = place if place is not None and place.block == around else None
        return all(
            (limit is None or later.place.is_before_in_block(limit))
            and self._only_reads(later, limit)
            for later in self.uses_in(around, use.user.results[0])
        )

    def _from(self, value: ir.Value, block: ir.Block) -> Part:
        """The chain that goes on from an update, as far as it goes."""
        first = self.updated(value)
        assert first is not None
        chain = Part(first, [value])
        while True:
            places = {use.place: None for use in self.uses_in(block, value) if not use.is_read}
            following = [
                result
                for place in places
                for result in place.results
                if (before := self.updated(result)) is not None and before == value
            ]
            if len(following) != 1:
                return chain
            place = operation_of(following[0])
            if not self._is_used_up(value, block, place, 0):
                return chain
            value = following[0]
            chain.later.append(value)

    def _updates(self, value: ir.Value) -> int:
        """How many elements or slices are updated, as it is written."""
        parts = self.parts(value) or []
        nested = [self._updates(version) for _, part in parts for version in part.later]
        return sum(nested) if parts else 1

    def _claim(self, value: ir.Value, claimed: set[ir.Value]) -> None:
        claimed.add(value)
        for _, part in self.parts(value) or []:
            for version in part.later:
                self._claim(version, claimed)


def arrays_of(module: ir.Module) -> Arrays:
    """Look at a module once."""
    arrays = Arrays()

    def visit(operation: ir.Operation) -> ir.WalkResult:
        for region in operation.regions:
            arrays.blocks += region.blocks
        for number, value in enumerate(operation.operands):
            if isinstance(value.type, ir.RankedTensorType):
                _note(arrays, Use(operation, operation, number), value)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return arrays


def operation_of(value: ir.Value) -> ir.Operation:
    """What an operation's result is the result of."""
    owner: Any = value.owner
    return owner.operation


def _note(arrays: Arrays, use: Use, value: ir.Value) -> None:
    """Note a use for all blocks around it, as far as the value's own."""
    owner = value.owner
    outermost = owner if isinstance(owner, ir.Block) else owner.operation.block
    place = use.place
    while True:
        block = place.block
        arrays.uses.setdefault((value, block), []).append(Use(place, use.user, use.operand))
        if block == outermost:
            return
        around: Any = place.parent
        place = around.operation


def _is_in(value: ir.Value, block: ir.Block) -> bool:
    owner = value.owner
    return not isinstance(owner, ir.Block) and owner.operation.block == block
