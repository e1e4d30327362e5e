"""What the operations of a loop do for one element: `linalg.generic` written out, and the rest.

The loops of an operation along the batch are those of the element; others are written out, and what
is computed of their indices alone is known then. So a sum along a row is a chain of additions, and
parts put together (`jnp.concatenate`) are these parts.
"""

from collections.abc import Callable, Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import create, flag_constant
from diastase_mlir.emit.tensors import HIDING
from diastase_mlir.passes.operations import (
    callee_of,
    combining,
    constant_of,
    defining,
    maps_of,
    operations_in,
    parallel_loops,
)
from diastase_mlir.passes.tensors.unbatch_loops.places import (
    Indices,
    at,
    loop_sizes,
    parts_taken,
    places_of,
)
from diastase_mlir.passes.tensors.unbatch_loops.values import (
    Batch,
    Refused,
    inputs_of,
    is_array,
    positions,
    row_major,
)
from diastase_runtime.abi import import_symbol

_POLL = import_symbol("threads", "poll")
_SCALAR_DIALECTS = frozenset({"arith", "math", "complex", "index", "llvm"})
_WRITES = frozenset({"llvm.store", "llvm.call"})
_SHAPES_ONLY = frozenset({"tensor.empty", "tensor.dim"})
"""What gives arrays sizes: elements have none, and nothing else may use it."""

_MOVED = frozenset({
    "linalg.generic", "linalg.fill", "tensor.empty", "tensor.dim", "tensor.expand_shape",
    "tensor.collapse_shape", "arith.constant", HIDING,
})  # fmt: skip
"""What is computed before the loop, where it can be: the same in all turns, and right if there are
none."""


class ElementOperations:
    """Emits for one element what operations do for arrays."""

    def __init__(self, batch: Batch):
        self.batch = batch
        self.predicates: dict[ir.Value, ir.Value] = {}
        """What says of all elements whether any asks for a turn, and of one whether it does."""
        self._alls: dict[ir.Value, ir.Value] = {}
        """What says whether all are done, and of one whether it is not."""
        self._indices = Indices(batch)
        self._rules: dict[str, Callable[[Any], None]] = {
            "linalg.generic": self._generic,
            "linalg.fill": self._fill,
            "tensor.from_elements": self._from_elements,
            "tensor.extract": self._extract,
            "tensor.extract_slice": self._extract_slice,
            "tensor.insert_slice": self._insert_slice,
            HIDING: self._hidden,
            "tensor.expand_shape": self._reshape,
            "tensor.collapse_shape": self._reshape,
        }

    def operations(self, block: Any) -> Any:
        """Emit what the operations of a block do; gives the last, which is left."""
        *operations, last = block.operations
        for view in operations:
            operation = view.operation
            rule = self._rules.get(operation.name)
            if operation.name in _MOVED and self._is_moved(operation):
                continue
            if rule is not None:
                rule(operation)
            elif operation.name not in _SHAPES_ONLY:
                self._scalar(operation)
        return last.operation

    def _is_moved(self, operation: Any) -> bool:
        """Whether an operation is the same in all turns; it is done before the loop then."""
        inner = operations_in(operation)
        if any(each.name == "tensor.extract" for each in inner):
            return False
        own = {value for each in inner for value in each.results}
        for region in operation.regions:
            own.update(region.blocks[0].arguments)
        used = {operand for each in inner for operand in each.operands}
        if any(self.batch.changes(value) for value in used - own):
            return False
        self.batch.move(operation)
        return True

    # --- numbers --------------------------------------------------------------------------------

    def _scalar(self, operation: Any) -> None:
        """The same operation on an element's numbers."""
        kinds = [value.type for value in (*operation.operands, *operation.results)]
        known = operation.name.partition(".")[0] in _SCALAR_DIALECTS
        if operation.name == "func.call":
            known = callee_of(operation) == _POLL
        shaped = any(isinstance(kind, ir.ShapedType) for kind in kinds)
        if not known or operation.name in _WRITES or len(operation.regions) or shaped:
            raise Refused
        if operation.name == "arith.xori" and self._is_not_all(operation):
            return
        numbers = [self.batch.number(operand) for operand in operation.operands]
        copy = operation.clone().operation
        for place, number in enumerate(numbers):
            copy.operands[place] = number
        for own, new in zip(operation.results, copy.results, strict=True):
            self.batch.define(own, [new])

    def _from_elements(self, operation: Any) -> None:
        if is_array(operation.results[0].type):
            raise Refused
        self.batch.define(operation.results[0], [self.batch.number(operation.operands[0])])

    # --- whether any element asks for a turn ----------------------------------------------------

    def _is_not_all(self, operation: Any) -> bool:
        """Whether an operation says that not all elements are done, so that any is not."""
        number, true = operation.operands
        if number not in self._alls or constant_of(true) not in (1, -1):
            return False
        self._ask(operation.results[0], self._alls[number])
        return True

    def _ask(self, value: ir.Value, predicate: ir.Value) -> None:
        """Note that a value says whether any element asks for a turn."""
        if not _is_condition(value):
            raise Refused
        self.predicates[value] = predicate
        self.batch.define(value, [predicate])

    def _reduction(self, operation: Any) -> None:
        """Whether any element holds, or all do."""
        combines, source = combining(operation), operation.operands[0]
        block = operation.regions[0].blocks[0]
        if combines is None or inputs_of(operation) != 1 or len(block.operations) != 2:
            raise Refused
        if is_array(operation.results[0].type) or not maps_of(operation)[0].is_permutation:
            raise Refused
        if any(parallel_loops(operation)) or set(combines.operands) != set(block.arguments):
            raise Refused
        target, parts = defining(operation.operands[1]), self.batch.parts(source)
        if target is None or target.name != "linalg.fill" or str(parts[0].type) != "i1":
            raise Refused
        beginning = constant_of(target.operands[0])
        self.batch.equal([source])
        together = parts[0]
        for part in parts[1:]:
            together = create(combines.name, [part.type], [together, part]).result
        if combines.name == "arith.ori" and beginning is not None and not beginning:
            self.predicates[operation.results[0]] = together
        elif combines.name == "arith.andi" and beginning:
            negated = create("arith.xori", [together.type], [together, flag_constant(True)]).result
            self._alls[operation.results[0]] = negated
        else:
            raise Refused

    # --- arrays ---------------------------------------------------------------------------------

    def _fill(self, operation: Any) -> None:
        result = operation.results[0]
        if not is_array(result.type):  # a result of a reduction is to be combined with it
            return
        if (
            result.type.rank >= self.batch.rank
            and result.type.shape[: self.batch.rank] == self.batch.shape
        ):
            number = self.batch.number(operation.operands[0])
            self.batch.define(result, [number] * self.batch.count(result.type))

    def _generic(self, operation: Any) -> None:
        rank, kinds = self.batch.rank, parallel_loops(operation)
        if len(kinds) < rank or not all(kinds[:rank]):
            self._reduction(operation)
            return
        count, maps = inputs_of(operation), maps_of(operation)
        operands, results = list(operation.operands), list(operation.results)
        block = operation.regions[0].blocks[0]
        arguments = list(block.arguments)
        sizes = loop_sizes(operands, maps, rank, len(kinds))
        outs = [places_of(own, rank) for own in maps[count:]]
        axes = [("axis", axis) for axis in range(rank)]
        if any(out[:rank] != axes for out in outs):
            raise Refused
        self._note_sizes(operands, maps, results)
        made: list[list[Any]] = [
            list(self.batch.parts(target))
            if list(argument.uses)
            else [None] * self.batch.count(target.type)
            for argument, target in zip(arguments[count:], operands[count:], strict=True)
        ]
        for place in positions(sizes):
            for argument, operand, own in zip(arguments, operands[:count], maps, strict=False):
                read = at(places_of(own, rank), place)
                self.batch.define(argument, [self.batch.read(operand, read)])
            written = [
                row_major(at(out, place)[rank:], result.type.shape[rank:])
                for out, result in zip(outs, results, strict=True)
            ]
            for argument, parts, part in zip(arguments[count:], made, written, strict=True):
                if parts[part] is not None:
                    self.batch.define(argument, [parts[part]])
            last = self._payload(block, place)
            for parts, part, value in zip(made, written, last.operands, strict=True):
                parts[part] = self.batch.number(value)
        for result, parts in zip(results, made, strict=True):
            self.batch.define(result, parts)

    def _note_sizes(
        self, operands: Sequence[ir.Value], maps: Sequence[ir.AffineMap], results: Sequence[Any]
    ) -> None:
        """Which arrays have the sizes of the batch along their first axes."""
        axes = [("axis", axis) for axis in range(self.batch.rank)]
        whole = [
            operand
            for operand, own in zip(operands, maps, strict=True)
            if is_array(operand.type) and places_of(own, self.batch.rank)[: self.batch.rank] == axes
        ]
        self.batch.equal([*whole, *results])

    def _payload(self, block: Any, place: Sequence[int]) -> Any:
        """The body of a `linalg.generic`, at a place along the loops that are written out."""
        *operations, last = block.operations
        for view in operations:
            self._in_payload(view.operation, place)
        return last.operation

    def _in_payload(self, operation: Any, place: Sequence[int]) -> None:
        if operation.name == "linalg.index":
            self._indices.define(operation, place)
        elif self._indices.fold(operation):
            return
        elif operation.name == "scf.if":
            self._chosen(operation, place)
        elif operation.name == "tensor.extract":
            self._extract(operation)
        else:
            self._scalar(operation)

    def _chosen(self, operation: Any, place: Sequence[int]) -> None:
        """The branch of an `scf.if` that is taken here."""
        if operation.operands[0] not in self._indices.known:
            raise Refused
        region = operation.regions[0 if self._indices.known[operation.operands[0]] else 1]
        last = self._payload(region.blocks[0], place)
        for result, value in zip(operation.results, last.operands, strict=True):
            self.batch.define(result, [self.batch.number(value)])

    def _extract(self, operation: Any) -> None:
        """A number of an array: of this element's, or of one from outside anywhere."""
        array, *places = operation.operands
        result = operation.results[0]
        if array in self.predicates:
            self._ask(result, self.predicates[array])
        elif array in self._alls:
            self._alls[result] = self._alls[array]
        elif array in self.batch.inside or self.batch.knows(array):
            own = self._indices.place(places, array.type.shape)
            self.batch.define(result, [self.batch.read(array, own)])
        else:
            numbers = [self.batch.number(place) for place in places]
            copy = create(operation.name, [result.type], [array, *numbers])
            self.batch.define(result, [copy.result])

    # --- moves ------------------------------------------------------------------------------------

    def _hidden(self, operation: Any) -> None:
        source, result = operation.operands[0], operation.results[0]
        self.batch.equal([source, result])
        self.batch.define(result, self.batch.parts(source))

    def _reshape(self, operation: Any) -> None:
        """The same parts, if the batch stays as it is."""
        source, result = operation.operands[0], operation.results[0]
        unknown = sum(size < 0 for size in self.batch.shape)
        if unknown > 1 or not (is_array(source.type) and is_array(result.type)):
            raise Refused
        self.batch.equal([source, result])
        self.batch.define(result, self.batch.parts(source))

    def _extract_slice(self, operation: Any) -> None:
        source, result = operation.operands[0], operation.results[0]
        parts = self.batch.parts(source)
        taken = parts_taken(self.batch, operation, source, result)
        self.batch.define(result, [parts[place] for place in taken])

    def _insert_slice(self, operation: Any) -> None:
        source, target = list(operation.operands)[:2]
        made_by = defining(target)
        own = self.batch.parts(source)
        taken = parts_taken(self.batch, operation, target, source)
        if made_by is not None and made_by.name == "tensor.empty":
            parts = [own[0]] * self.batch.count(target.type)  # what nobody reads
        else:
            parts = list(self.batch.parts(target))
        for place, part in zip(taken, own, strict=True):
            parts[place] = part
        self.batch.define(operation.results[0], parts)


def _is_condition(value: ir.Value) -> bool:
    """Whether a flag is used by the condition of a loop only, as one of what must all hold."""
    return all(
        (use.owner.name == "scf.condition" and use.operand_number == 0)
        or (use.owner.name == "arith.andi" and _is_condition(use.owner.results[0]))
        for use in value.uses
    )
