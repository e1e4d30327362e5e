"""What the operations of a loop do for one element: `linalg.generic` written out, and the rest.

The loops of an operation along the batch are those of the element; others are written out, and what
is computed of their indices alone is known then. So a sum along a row is a chain of additions, and
parts put together (`jnp.concatenate`) are these parts.
"""

from collections.abc import Callable, Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import create, flag_constant, index_constant
from diastase_mlir.passes.operations import (
    callee_of,
    combining,
    constant_of,
    defining,
    last_of,
    maps_of,
    parallel_loops,
)
from diastase_mlir.passes.tensors.unbatch_loops.values import (
    Batch,
    Refused,
    inputs_of,
    is_array,
    positions,
)
from diastase_runtime.abi import import_symbol

MOST_COPIES = 64
"""Of a loop's body that is written out."""
_POLL = import_symbol("threads", "poll")
_SCALAR_DIALECTS = frozenset({"arith", "math", "complex", "index", "llvm"})
_WRITES = frozenset({"llvm.store", "llvm.call"})
_SHAPES_ONLY = frozenset({"tensor.empty", "tensor.dim"})
"""What gives arrays sizes: elements have none, and nothing else may use it."""
_FOLDED: dict[str, Callable[[int, int], int]] = {
    "arith.addi": lambda left, right: left + right,
    "arith.subi": lambda left, right: left - right,
    "arith.muli": lambda left, right: left * right,
    "arith.minsi": min,
    "arith.maxsi": max,
}
_COMPARED: dict[int, Callable[[int, int], bool]] = {
    0: lambda left, right: left == right,
    1: lambda left, right: left != right,
    2: lambda left, right: left < right,
    3: lambda left, right: left <= right,
    4: lambda left, right: left > right,
    5: lambda left, right: left >= right,
    6: lambda left, right: left < right,
    7: lambda left, right: left <= right,
    8: lambda left, right: left > right,
    9: lambda left, right: left >= right,
}
"""By the number of `arith.cmpi`'s predicate; indices are not negative."""


class ElementOperations:
    """Emits for one element what operations do for arrays."""

    def __init__(self, batch: Batch):
        self.batch = batch
        self.predicates: dict[ir.Value, ir.Value] = {}
        """What says of all elements whether any asks for a turn, and of one whether it does."""
        self._alls: dict[ir.Value, ir.Value] = {}
        """What says whether all are done, and of one whether it is not."""
        self._known: dict[ir.Value, int] = {}
        """Indices in loops that are written out, and what is computed of them."""
        self._indices: dict[ir.Value, int] = {}
        """Indices along the batch, and their axes."""
        self._rules: dict[str, Callable[[Any], None]] = {
            "linalg.generic": self._generic,
            "linalg.fill": self._fill,
            "tensor.from_elements": self._from_elements,
            "tensor.extract": self._extract,
            "tensor.extract_slice": self._extract_slice,
            "tensor.insert_slice": self._insert_slice,
            "tensor.expand_shape": self._reshape,
            "tensor.collapse_shape": self._reshape,
        }

    def operations(self, block: Any) -> Any:
        """Emit what the operations of a block do; gives the last, which is left."""
        *operations, last = block.operations
        for view in operations:
            operation = view.operation
            rule = self._rules.get(operation.name)
            if rule is not None:
                rule(operation)
            elif operation.name not in _SHAPES_ONLY:
                self._scalar(operation)
        return last.operation

    # --- numbers --------------------------------------------------------------------------------

    def _scalar(self, operation: Any) -> None:
        """The same operation on an element's numbers."""
        kinds = [value.type for value in (*operation.operands, *operation.results)]
        if operation.name == "arith.constant":
            return
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
        if result.type.rank >= self.batch.rank and result.type.shape[
            : self.batch.rank
        ] == self.batch.shape:
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
        sizes = _loop_sizes(operands, maps, rank, len(kinds))
        outs = [_places(own, rank) for own in maps[count:]]
        axes = [("axis", axis) for axis in range(rank)]
        if any(out[:rank] != axes for out in outs):
            raise Refused
        self._note_sizes(operands, maps, results)
        made: list[list[Any]] = [[None] * self.batch.count(result.type) for result in results]
        for number, argument in enumerate(arguments[count:]):
            if list(argument.uses):
                made[number] = list(self._parts_of_target(operands[count + number]))
        for place in positions(sizes):
            for argument, operand, own in zip(arguments, operands[:count], maps, strict=False):
                read = _at(_places(own, rank), place)
                self.batch.define(argument, [self.batch.read(operand, read)])
            written = [
                _number(_at(out, place)[rank:], result.type.shape[rank:])
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

    def _parts_of_target(self, target: ir.Value) -> list[ir.Value]:
        return self.batch.parts(target)

    def _note_sizes(
        self, operands: Sequence[ir.Value], maps: Sequence[ir.AffineMap], results: Sequence[Any]
    ) -> None:
        """Which arrays have the sizes of the batch along their first axes."""
        axes = [("axis", axis) for axis in range(self.batch.rank)]
        whole = [
            operand
            for operand, own in zip(operands, maps, strict=True)
            if is_array(operand.type) and _places(own, self.batch.rank)[: self.batch.rank] == axes
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
            self._index(operation, place)
        elif self._is_folded(operation):
            return
        elif operation.name == "scf.if":
            self._chosen(operation, place)
        elif operation.name == "tensor.extract":
            self._extract(operation)
        else:
            self._scalar(operation)

    def _index(self, operation: Any, place: Sequence[int]) -> None:
        loop, result = ir.IntegerAttr(operation.attributes["dim"]).value, operation.results[0]
        if loop >= self.batch.rank:
            self._know(result, place[loop - self.batch.rank])
            return
        with ir.InsertionPoint.at_block_begin(self.batch.block):
            index = operation.clone().operation.results[0]
        self._indices[result] = loop
        self.batch.define(result, [index])

    def _know(self, value: ir.Value, number: int) -> None:
        self._known[value] = number
        if isinstance(value.type, ir.IndexType):
            self.batch.define(value, [index_constant(number)])
        else:
            self.batch.define(value, [flag_constant(bool(number))])

    def _number(self, value: ir.Value) -> int | None:
        """An index that is known."""
        if value in self._known:
            return self._known[value]
        found = constant_of(value)
        return int(found) if isinstance(value.type, ir.IndexType) and found is not None else None

    def _is_folded(self, operation: Any) -> bool:
        """Whether an operation is on known indices, and its result is known now."""
        if len(operation.operands) != 2 or len(operation.results) != 1:
            return False
        left, right = map(self._number, operation.operands)
        result = operation.results[0]
        if left is None or right is None or (left, right) < (0, 0):
            self._known.pop(result, None)
            return False
        if operation.name in _FOLDED and isinstance(result.type, ir.IndexType):
            self._know(result, _FOLDED[operation.name](left, right))
            return True
        if operation.name == "arith.cmpi" and min(left, right) >= 0:
            predicate = ir.IntegerAttr(operation.attributes["predicate"]).value
            self._know(result, int(_COMPARED[predicate](left, right)))
            return True
        return False

    def _chosen(self, operation: Any, place: Sequence[int]) -> None:
        """The branch of an `scf.if` that is taken here."""
        if operation.operands[0] not in self._known:
            raise Refused
        region = operation.regions[0 if self._known[operation.operands[0]] else 1]
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
            own = [
                ir.AffineDimExpr.get(self._indices[place])
                if place in self._indices
                else self._number(place)
                for place in places
            ]
            sizes = array.type.shape
            if any(
                each is None or isinstance(each, int) and not 0 <= each < size
                for each, size in zip(own, sizes, strict=True)
            ):
                raise Refused
            self.batch.define(result, [self.batch.read(array, own)])
        else:
            numbers = [self.batch.number(place) for place in places]
            copy = create(operation.name, [result.type], [array, *numbers])
            self.batch.define(result, [copy.result])

    # --- moves ------------------------------------------------------------------------------------

    def _reshape(self, operation: Any) -> None:
        """The same parts, if the batch stays as it is."""
        source, result = operation.operands[0], operation.results[0]
        unknown = sum(size < 0 for size in self.batch.shape)
        if unknown > 1 or not (is_array(source.type) and is_array(result.type)):
            raise Refused
        self.batch.equal([source, result])
        self.batch.define(result, self.batch.parts(source))

    def _taken(self, operation: Any, whole: Any, part: Any) -> list[int]:
        """Which parts of a whole a slice has, in order."""
        rank = self.batch.rank
        offsets, sizes, strides = (
            list(ir.DenseI64ArrayAttr(operation.attributes[f"static_{name}"]))
            for name in ("offsets", "sizes", "strides")
        )
        first = list(zip(offsets, sizes, strides, strict=True))[:rank]
        if min(self.batch.shape) < 0 or first != [(0, size, 1) for size in self.batch.shape]:
            raise Refused
        if any(entry < 0 for entry in (*offsets, *sizes, *strides)):
            raise Refused
        self.batch.equal([whole, part])
        shape = list(whole.type.shape)[rank:]
        return [
            _number(
                [offset + stride * index for offset, stride, index in zip(
                    offsets[rank:], strides[rank:], place, strict=True)],
                shape,
            )
            for place in positions(sizes[rank:])
        ]

    def _extract_slice(self, operation: Any) -> None:
        source, result = operation.operands[0], operation.results[0]
        parts = self.batch.parts(source)
        taken = self._taken(operation, source, result)
        self.batch.define(result, [parts[place] for place in taken])

    def _insert_slice(self, operation: Any) -> None:
        source, target = list(operation.operands)[:2]
        made_by = defining(target)
        own = self.batch.parts(source)
        taken = self._taken(operation, target, source)
        if made_by is not None and made_by.name == "tensor.empty":
            parts = [own[0]] * self.batch.count(target.type)  # what nobody reads
        else:
            parts = list(self.batch.parts(target))
        for place, part in zip(taken, own, strict=True):
            parts[place] = part
        self.batch.define(operation.results[0], parts)


def _places(own: ir.AffineMap, rank: int) -> list[tuple[str, int]]:
    """What a map has along each axis: an axis of the batch, a loop that is written out, a number."""
    found: list[tuple[str, int]] = []
    for expression in own.results:
        if isinstance(expression, ir.AffineDimExpr):
            loop = ir.AffineDimExpr(expression).position
            found.append(("axis", loop) if loop < rank else ("loop", loop - rank))
        elif isinstance(expression, ir.AffineConstantExpr):
            found.append(("number", ir.AffineConstantExpr(expression).value))
        else:
            raise Refused
    return found


def _at(places: Sequence[tuple[str, int]], place: Sequence[int]) -> list[Any]:
    """The same at a place along the loops that are written out."""
    return [
        ir.AffineDimExpr.get(number)
        if kind == "axis"
        else place[number]
        if kind == "loop"
        else number
        for kind, number in places
    ]


def _number(place: Sequence[int], sizes: Sequence[int]) -> int:
    """The number of a part."""
    number = 0
    for index, size in zip(place, sizes, strict=True):
        number = number * size + index
    return number


def _loop_sizes(
    operands: Sequence[Any], maps: Sequence[ir.AffineMap], rank: int, loops: int
) -> list[int]:
    """How long the loops are that are written out."""
    sizes = [0] * (loops - rank)
    for operand, own in zip(operands, maps, strict=True):
        for axis, (kind, loop) in enumerate(_places(own, rank)):
            if kind == "loop":
                sizes[loop] = operand.type.shape[axis]
    copies = 1
    for size in sizes:
        copies *= size
        if size < 1 or copies > MOST_COPIES:
            raise Refused
    return sizes


def _is_condition(value: ir.Value) -> bool:
    """Whether a flag is used by the condition of a loop only, as one of what must all hold."""
    return all(
        (use.owner.name == "scf.condition" and use.operand_number == 0)
        or (use.owner.name == "arith.andi" and _is_condition(use.owner.results[0]))
        for use in value.uses
    )
