"""Loops that each element has for itself run for some elements at once, in the lanes of vectors.

    linalg.generic ins(%a) outs(%b) {             scf.for %base = 0 to %n step 16 {
      %r = scf.while (%x = %in) {                   %in = the elements from %base, as vector<16xf64>
        scf.condition(%on) %x                       %r = scf.while (%x = %in) {
      } do { … scf.yield %y }               ->        scf.condition(any(%on)) %x, %on, %x
      linalg.yield %r                               } do { … scf.yield select(%on, %y, %x) }
    }                                               %r into the elements from %base }

Lanes whose own condition is false keep their values until the last one is done. What is the same
in all lanes (counters, sizes) stays a number: `varying_values` says which. The last lanes of a row
that does not fill a vector repeat its last element, and are not written.

In: operations on memory, made by `unbatch_loops` and perhaps cut by `parallel_loops`. What has an
operation that no vector has (complex numbers, say) stays a loop of single elements.
"""

from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.loops import append_block, for_range, when
from diastase_mlir.emit.operations import (
    all_of,
    array_attribute,
    binary,
    compare_integers,
    create,
    index_binary,
    index_constant,
    index_type,
    integer_type,
    select,
)
from diastase_mlir.passes.buffers.varying_values import Varying, conjuncts
from diastase_mlir.passes.operations import (
    SCOPE,
    Signatures,
    call_imported,
    declare_pure,
    last_of,
    maps_of,
    operations_in,
    operations_named,
    parallel_loops,
)
from diastase_engine import ELEMENTARY_FUNCTIONS
from diastase_runtime.abi import import_symbol
from diastase_toolchain.machine_code import widths

BITS = 1024
"""Of the vectors of the widest type: two registers of the largest, so that one waits for less."""
_LEAST = 8
"""Elements of a row that are worth lanes, where another axis has more."""

_CONTROL = frozenset({
    "scf.while", "scf.for", "scf.if", "scf.condition", "scf.yield", "linalg.yield", "linalg.index",
    "memref.load", "llvm.load", "func.call",
})  # fmt: skip
_ELEMENTARY = {f"math.{name}": name for name in ELEMENTARY_FUNCTIONS}


def vector_lanes(module: ir.Module) -> None:
    """Replace the operations whose elements have loops."""
    signatures: Signatures = {}
    for generic in operations_named(module.operation, "linalg.generic"):
        if _has_loop(generic) and _is_possible(generic):
            with ir.InsertionPoint(generic), generic.location:
                done = _Lanes(generic, signatures).emit()
            if done:
                generic.erase()
    declare_pure(module, signatures)


def _has_loop(generic: Any) -> bool:
    return bool(operations_named(generic.operation, "scf.while", "scf.for"))


def _is_possible(generic: Any) -> bool:
    """Whether all is known for vectors."""
    if not all(parallel_loops(generic)):
        return False
    if not all(own.is_projected_permutation for own in maps_of(generic)):
        return False
    inner = [own for own in operations_in(generic) if own != generic]
    for operation in inner:
        dialect = operation.name.partition(".")[0]
        if dialect not in ("arith", "math") and operation.name not in _CONTROL:
            return False
        if not all(_has_vectors(value.type) for value in operation.results):
            return False
    return True


def _has_vectors(kind: Any) -> bool:
    return isinstance(kind, ir.F32Type | ir.F64Type | ir.IntegerType | ir.IndexType)


def _lane_axis(sizes: Sequence[int]) -> int:
    """The loop that lanes are neighbours along: the last, or a longer one where that is short."""
    last = len(sizes) - 1
    if sizes[last] < 0 or sizes[last] >= _LEAST:
        return last
    return max(range(len(sizes)), key=lambda loop: (sizes[loop] < 0, sizes[loop], loop))


class _Lanes:
    """One operation, whose elements become lanes."""

    def __init__(self, generic: Any, signatures: Signatures):
        self._generic, self._signatures = generic, signatures
        self._operands, self._maps = list(generic.operands), maps_of(generic)
        _, written = ir.DenseI32ArrayAttr(generic.attributes["operandSegmentSizes"])
        self._inputs = len(self._operands) - written
        self._block = generic.regions[0].blocks[0]
        kind = ir.MemRefType(self._operands[-1].type)
        order = [own.position for own in map(ir.AffineDimExpr, self._maps[-1].results)]
        sizes = [0] * len(order)
        for axis, loop in enumerate(order):
            sizes[loop] = -1 if kind.is_dynamic_dim(axis) else kind.get_dim_size(axis)
        self._order, self._sizes, self._axis = order, sizes, _lane_axis(sizes)
        self._count = self._lane_count()
        self._varying = Varying(self._along_lanes())
        self._values: dict[ir.Value, ir.Value] = {}

    def _lane_count(self) -> int:
        """As many as fit, but no more than there are elements."""
        bits = [32]
        for operation in operations_in(self._generic):
            for value in operation.results:
                kind: Any = value.type
                if not isinstance(kind, ir.IndexType | ir.MemRefType):
                    bits.append(kind.width)
        count, size = BITS // max(bits), self._sizes[self._axis]
        while size >= 0 and count >= 2 * max(size, 1):
            count //= 2
        return count

    def _along_lanes(self) -> list[ir.Value]:
        """What differs from lane to lane to begin with."""
        arguments = zip(self._block.arguments, self._maps, strict=True)
        found: list[ir.Value] = [
            argument for argument, own in arguments if self._axis in _loops(own)
        ]
        for operation in operations_named(self._generic.operation, "linalg.index"):
            if ir.IntegerAttr(operation.attributes["dim"]).value == self._axis:
                found.append(operation.results[0])
        return found

    def emit(self) -> bool:
        """The loops over all elements; False where lanes would have to go different ways."""
        if self._count < 2 or not self._varying.follow(self._block):
            return False
        others = [loop for loop in range(len(self._sizes)) if loop != self._axis]
        lengths = [self._length(loop) for loop in range(len(self._sizes))]

        def nest(place: dict[int, ir.Value]) -> None:
            if len(place) < len(others):
                loop = others[len(place)]
                _for(lengths[loop], 1, lambda index: nest({**place, loop: index}))
            else:
                length = lengths[self._axis]
                _for(length, self._count, lambda base: self._some({**place, self._axis: base}, length))

        nest({})
        return True

    def _length(self, loop: int) -> ir.Value:
        if self._sizes[loop] >= 0:
            return index_constant(self._sizes[loop])
        axis = index_constant(self._order.index(loop))
        return create("memref.dim", [index_type()], [self._operands[-1], axis]).result

    # --- memory ---------------------------------------------------------------------------------

    def _some(self, place: dict[int, ir.Value], length: ir.Value) -> None:
        """The elements that begin at a place, one for each lane."""
        self._values = {}
        base = place[self._axis]
        left = index_binary("subi", length, base)
        mask = create("vector.create_mask", [self._vector(integer_type(1))], [left]).result
        last = index_binary("subi", left, index_constant(1))
        arguments = list(self._block.arguments)
        for number in range(self._inputs):
            self._values[arguments[number]] = self._read(number, place, mask, last)
        for operation in self._block.operations:
            if operation.name == "linalg.index":
                self._values[operation.results[0]] = self._index(operation, place, last)
        terminator = self._emit(self._block)
        for number, value in enumerate(terminator.operands, start=self._inputs):
            self._write(number, place, mask, left, self._as_vector(value))

    def _read(self, number: int, place: dict[int, ir.Value], mask: Any, last: Any) -> ir.Value:
        """An operand's elements; a number where it is the same in all lanes."""
        array, loops = self._operands[number], _loops(self._maps[number])
        if not isinstance(array.type, ir.MemRefType):
            return array
        at = [place[loop] for loop in loops]
        kind = ir.MemRefType(array.type).element_type
        if self._axis not in loops:
            return create("memref.load", [kind], [array, *at]).result
        axis = loops.index(self._axis)
        if self._is_row(array, loops):
            end = [*at[:-1], index_binary("addi", at[-1], last)]
            others = self._broadcast(create("memref.load", [kind], [array, *end]).result)
            return create("vector.maskedload", [others.type], [array, *at, mask, others]).result
        numbers: list[ir.Value] = []
        for lane in range(self._count):
            own = list(at)
            step = index_binary("minui", index_constant(lane), last)
            own[axis] = index_binary("addi", own[axis], step)
            numbers.append(create("memref.load", [kind], [array, *own]).result)
        return self._from_lanes(numbers)

    def _write(
        self, number: int, place: dict[int, ir.Value], mask: Any, left: Any, value: ir.Value
    ) -> None:
        array, loops = self._operands[number], _loops(self._maps[number])
        at = [place[loop] for loop in loops]
        if self._is_row(array, loops):
            create("vector.maskedstore", [], [array, *at, mask, value])
            return
        axis = loops.index(self._axis)
        for lane in range(self._count):
            own = list(at)
            own[axis] = index_binary("addi", own[axis], index_constant(lane))
            one = self._lane(value, lane)
            inside = compare_integers("ult", index_constant(lane), left)
            when(SCOPE, inside, lambda: create("memref.store", [], [one, array, *own]))  # noqa: B023

    def _is_row(self, array: ir.Value, loops: Sequence[int]) -> bool:
        """Whether the lanes' elements are neighbours in memory, none of them a part of a byte."""
        kind = ir.MemRefType(array.type)
        strides, _ = kind.get_strides_and_offset()
        element: Any = kind.element_type
        whole = isinstance(element, ir.F32Type | ir.F64Type) or element.width >= 8
        return whole and loops[-1] == self._axis and strides[-1] == 1

    # --- vectors ----------------------------------------------------------------------------------

    def _vector(self, kind: ir.Type) -> ir.Type:
        return ir.VectorType.get([self._count], kind)

    def _broadcast(self, number: ir.Value) -> ir.Value:
        return create("vector.broadcast", [self._vector(number.type)], [number]).result

    def _as_vector(self, value: ir.Value) -> ir.Value:
        """A value as a vector, in all lanes the same if it is a number."""
        own = self._values.get(value, value)
        return own if isinstance(own.type, ir.VectorType) else self._broadcast(own)

    def _lane(self, vector: ir.Value, lane: int) -> ir.Value:
        kind = ir.VectorType(vector.type).element_type
        position = {"static_position": ir.DenseI64ArrayAttr.get([lane])}
        return create("vector.extract", [kind], [vector], position).result

    def _from_lanes(self, numbers: Sequence[ir.Value]) -> ir.Value:
        return create("vector.from_elements", [self._vector(numbers[0].type)], numbers).result

    def _part(self, vector: ir.Value, begin: int, count: int) -> ir.Value:
        kind = ir.VectorType.get([count], ir.VectorType(vector.type).element_type)
        attributes = {
            name: ir.ArrayAttr.get([ir.IntegerAttr.get(integer_type(64), number)])
            for name, number in (("offsets", begin), ("sizes", count), ("strides", 1))
        }
        return create("vector.extract_strided_slice", [kind], [vector], attributes).result

    def _with_part(self, vector: ir.Value, part: ir.Value, begin: int) -> ir.Value:
        attributes = {
            name: ir.ArrayAttr.get([ir.IntegerAttr.get(integer_type(64), number)])
            for name, number in (("offsets", begin), ("strides", 1))
        }
        kind = [vector.type]
        return create("vector.insert_strided_slice", kind, [part, vector], attributes).result

    # --- operations -----------------------------------------------------------------------------

    def _emit(self, block: Any) -> Any:
        """The operations of a block; gives its last, which is left."""
        *operations, last = block.operations
        for view in operations:
            operation = view.operation
            if operation.name in ("scf.while", "scf.for", "scf.if"):
                new = {"scf.while": self._while, "scf.for": self._for, "scf.if": self._if}
                results = new[operation.name](operation)
            elif operation.name == "linalg.index":
                continue
            elif not any(map(self._varying.__contains__, operation.results)):
                results = self._same(operation)
            elif operation.name == "memref.load":
                results = [self._gathered(operation)]
            else:
                results = [self._in_lanes(operation)]
            self._values.update(zip(operation.results, results, strict=True))
        return last.operation

    def _same(self, operation: Any) -> Sequence[ir.Value]:
        """What is the same in all lanes."""
        copy = operation.clone().operation
        for place, operand in enumerate(operation.operands):
            copy.operands[place] = self._values.get(operand, operand)
        return list(copy.results)

    def _in_lanes(self, operation: Any) -> ir.Value:
        kind = self._vector(operation.results[0].type)
        operands = [self._as_vector(operand) for operand in operation.operands]
        element = str(operation.results[0].type)
        if operation.name in _ELEMENTARY and element in ("f32", "f64"):
            count = max((own for own in widths(element) if own <= self._count), default=0)
            if count:
                return self._called(_ELEMENTARY[operation.name], element, operands, count)
        if operation.name == "arith.select" and operation.operands[0] not in self._varying:
            condition = operation.operands[0]
            operands[0] = self._values.get(condition, condition)
        attributes = {name: operation.attributes[name] for name in operation.attributes}
        return create(operation.name, [kind], operands, attributes).result

    def _called(
        self, name: str, element: str, operands: Sequence[ir.Value], count: int
    ) -> ir.Value:
        """An elementary function, called for as many lanes as its widest form has."""
        scalar = import_symbol("elementary", f"{name}_{element}")
        one = ir.VectorType(operands[0].type).element_type
        # Its forms are found by it (`codegen.import_table`).
        self._signatures[scalar] = ir.FunctionType.get([one] * len(operands), [one])
        result, kind = operands[0], ir.VectorType.get([count], one)
        for begin in range(0, self._count, count):
            parts = [self._part(operand, begin, count) for operand in operands]
            (part,) = call_imported(self._signatures, f"{scalar}x{count}", parts, [kind])
            result = self._with_part(result, part, begin)
        return result

    def _gathered(self, operation: Any) -> ir.Value:
        """What each lane reads at a place of its own."""
        array, *places = operation.operands
        own = [self._as_vector(place) for place in places]
        kind = operation.results[0].type
        return self._from_lanes([
            create("memref.load", [kind], [array, *(self._lane(each, lane) for each in own)]).result
            for lane in range(self._count)
        ])  # fmt: skip

    def _index(self, operation: Any, place: dict[int, ir.Value], last: ir.Value) -> ir.Value:
        """Where an element is along a loop."""
        loop = ir.IntegerAttr(operation.attributes["dim"]).value
        if loop != self._axis:
            return place[loop]
        lanes = create("vector.step", [self._vector(index_type())]).result
        lanes = binary("arith.minui", lanes, self._broadcast(last))
        return binary("arith.addi", lanes, self._broadcast(place[loop]))

    # --- structured control flow ----------------------------------------------------------------

    def _carried(self, value: ir.Value, like: ir.Value) -> ir.Value:
        """A value as what carries it: a vector or a number."""
        return self._as_vector(value) if like in self._varying else self._values.get(value, value)

    def _all_carried(self, values: Sequence[Any], like: Sequence[Any]) -> list[ir.Value]:
        return [self._carried(*pair) for pair in zip(values, like, strict=True)]

    def _kinds(self, values: Sequence[Any]) -> list[ir.Type]:
        return [
            self._vector(value.type) if value in self._varying else value.type for value in values
        ]

    def _for(self, loop: Any) -> Sequence[ir.Value]:
        old = loop.regions[0].blocks[0]
        _, *carries = old.arguments
        bounds = [self._values.get(own, own) for own in list(loop.operands)[:3]]
        initial = self._all_carried(list(loop.operands)[3:], carries)
        new = create("scf.for", self._kinds(carries), [*bounds, *initial], regions=1)
        block = append_block(new.regions[0], [index_type(), *self._kinds(carries)])
        self._values.update(zip(old.arguments, block.arguments, strict=True))
        with ir.InsertionPoint(block):
            last = self._emit(old)
            create("scf.yield", [], self._all_carried(last.operands, carries))
        return list(new.results)

    def _if(self, operation: Any) -> Sequence[ir.Value]:
        condition = self._values.get(operation.operands[0], operation.operands[0])
        results = list(operation.results)
        new = create("scf.if", self._kinds(results), [condition], regions=2)
        for old, region in zip(operation.regions, new.regions, strict=True):
            if len(old.blocks):
                with ir.InsertionPoint(append_block(region, [])):
                    last = self._emit(old.blocks[0])
                    create("scf.yield", [], self._all_carried(last.operands, results))
        return list(new.results)

    def _while(self, loop: Any) -> Sequence[ir.Value]:
        """The loop while any lane asks for it, in which the others keep what they have."""
        before, after = (region.blocks[0] for region in loop.regions)
        condition, *handed = last_of(before).operands
        returned = list(last_of(after).operands)
        carries, taken = list(before.arguments), list(after.arguments)
        differs = condition in self._varying
        kept = [own for own in carries if own in self._varying] if differs else []
        on = [self._vector(integer_type(1))] if differs else []
        first = self._kinds(carries)
        second = [*self._kinds(taken), *on, *self._kinds(kept)]
        initial = self._all_carried(loop.operands, carries)
        new = create("scf.while", second, initial, regions=2)
        block = append_block(new.regions[0], first)
        self._values.update(zip(carries, block.arguments, strict=True))
        old = dict(zip(carries, block.arguments, strict=True))
        with ir.InsertionPoint(block):
            self._emit(before)
            proceeds, active = self._condition(condition)
            given = self._all_carried(handed, taken)
            create("scf.condition", [], [proceeds, *given, *active, *(old[own] for own in kept)])
        block = append_block(new.regions[1], second)
        arguments = list(block.arguments)
        self._values.update(zip(taken, arguments, strict=False))
        with ir.InsertionPoint(block):
            self._emit(after)
            results = dict(zip(carries, self._all_carried(returned, carries), strict=True))
            extra = arguments[len(taken) :]
            for own, before_it in zip(kept, extra[1:], strict=True):
                results[own] = select(extra[0], results[own], before_it)
            create("scf.yield", [], [results[own] for own in carries])
        return list(new.results)[: len(taken)]

    def _condition(self, condition: ir.Value) -> tuple[ir.Value, list[ir.Value]]:
        """Whether any lane goes on, and which; what is the same in all is asked once."""
        all_ = conjuncts(condition)
        own = [value for value in all_ if value in self._varying]
        same = [self._values.get(value, value) for value in all_ if value not in self._varying]
        if not own:
            return all_of(same), []
        active = all_of([self._as_vector(value) for value in own])
        kind = {"kind": ir.Attribute.parse("#vector.kind<or>")}
        found = create("vector.reduction", [integer_type(1)], [active], kind).result
        return all_of([found, *same]), [active]


def _for(length: ir.Value, step: int, body: Any) -> None:
    def once(index: ir.Value, _: Any) -> list[ir.Value]:
        body(index)
        return []

    for_range(SCOPE, (0, length, step), [], once)


def _loops(own: ir.AffineMap) -> list[int]:
    """The loop of each axis that a map walks along."""
    return [ir.AffineDimExpr(expression).position for expression in own.results]
