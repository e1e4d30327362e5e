"""The operations of one element, in lanes."""

from collections.abc import Iterable, Sequence
from typing import Any

from diastase_engine import ELEMENTARY_FUNCTIONS
from diastase_mlir.bindings import ir
from diastase_mlir.emit.loops import append_block
from diastase_mlir.emit.operations import (
    all_of,
    any_of,
    binary,
    create,
    index_constant,
    index_type,
    integer_type,
    scalar_constant,
    select,
)
from diastase_mlir.passes.buffers.vector_lanes.varying import Varying, conjuncts
from diastase_mlir.passes.buffers.vector_lanes.vectors import Vectors
from diastase_mlir.passes.operations import (
    INTEGER_QUOTIENTS,
    Signatures,
    call_imported,
    last_of,
)
from diastase_runtime.abi import import_symbol
from diastase_toolchain.machine_code import widths

_ELEMENTARY = {f"math.{name}": name for name in ELEMENTARY_FUNCTIONS}


class LaneOperations(Vectors):
    """Emits operations of one element for all lanes.

    The trap: lanes that are done go on, and what the loop's condition makes sure of does not hold
    for them. What could end the process there, a division or a read, is made safe for any operands.
    """

    def __init__(self, count: int, differing: Iterable[ir.Value], signatures: Signatures):
        super().__init__(count)
        self.varying = Varying(differing)
        self.values: dict[ir.Value, ir.Value] = {}
        """What values of the element are: vectors, or numbers that are the same in all lanes."""
        self._signatures = signatures

    def now(self, value: Any) -> Any:
        """What a value is now."""
        return self.values.get(value, value)

    def as_vector(self, value: ir.Value) -> ir.Value:
        """A value as a vector, in all lanes the same if it is a number."""
        own = self.now(value)
        return own if isinstance(own.type, ir.VectorType) else self.broadcast(own)

    def emit_block(self, block: Any) -> Any:
        """The operations of a block; gives its last, which is left."""
        *operations, last = block.operations
        for view in operations:
            operation = view.operation
            if operation.name in ("scf.while", "scf.for", "scf.if"):
                new = {"scf.while": self._while, "scf.for": self._for, "scf.if": self._if}
                results = new[operation.name](operation)
            elif operation.name == "linalg.index":
                continue
            elif not any(map(self.varying.__contains__, operation.results)):
                results = self._same(operation)
            elif operation.name == "memref.load":
                results = [self._gathered(operation)]
            else:
                results = [self._in_lanes(operation)]
            self.values.update(zip(operation.results, results, strict=True))
        return last.operation

    def _same(self, operation: Any) -> Sequence[ir.Value]:
        """What is the same in all lanes."""
        copy = operation.clone().operation
        for place, operand in enumerate(operation.operands):
            copy.operands[place] = self.now(operand)
        return list(copy.results)

    def _in_lanes(self, operation: Any) -> ir.Value:
        kind = self.vector_type(operation.results[0].type)
        operands = [self.as_vector(operand) for operand in operation.operands]
        element = str(operation.results[0].type)
        if operation.name in _ELEMENTARY and element in ("f32", "f64"):
            count = max((own for own in widths(element) if own <= self.lanes), default=0)
            if not count:  # LLVM's own would be less exact
                return self._one_by_one(operation, operands)
            return self._called(_ELEMENTARY[operation.name], element, operands, count)
        if operation.name == "arith.select" and operation.operands[0] not in self.varying:
            condition = operation.operands[0]
            operands[0] = self.now(condition)
        if operation.name in INTEGER_QUOTIENTS:
            operands[1] = self._safe_divisor(operation.name, *operands)
        attributes = {name: operation.attributes[name] for name in operation.attributes}
        return create(operation.name, [kind], operands, attributes).result

    def _safe_divisor(self, name: str, dividend: ir.Value, divisor: ir.Value) -> ir.Value:
        """The divisor, or 1 where it is 0, or where the quotient would overflow."""
        kind = ir.VectorType(divisor.type).element_type
        width = kind.width if isinstance(kind, ir.IntegerType) else 64

        def number(value: int) -> ir.Value:
            own = scalar_constant(integer_type(width), value)
            return self.broadcast(own if own.type == kind else index_constant(value))

        unsafe = self.equal(divisor, number(0))
        if name.endswith("si"):
            negated = self.equal(divisor, number(-1))
            least = self.equal(dividend, number(-(2 ** (width - 1))))
            unsafe = any_of([unsafe, all_of([negated, least])])
        return select(unsafe, number(1), divisor)

    def _one_by_one(self, operation: Any, operands: Sequence[ir.Value]) -> ir.Value:
        kind = operation.results[0].type
        return self.from_lanes(
            [
                create(operation.name, [kind], [self.lane_of(own, lane) for own in operands]).result
                for lane in range(self.lanes)
            ]
        )

    def _called(
        self, name: str, element: str, operands: Sequence[ir.Value], count: int
    ) -> ir.Value:
        """An elementary function, called for as many lanes as its widest form has."""
        scalar = import_symbol("elementary", f"{name}_{element}")
        one = ir.VectorType(operands[0].type).element_type
        # Its forms are found by it (`codegen.import_table`).
        self._signatures[scalar] = ir.FunctionType.get([one] * len(operands), [one])
        result, kind = operands[0], ir.VectorType.get([count], one)
        for begin in range(0, self.lanes, count):
            parts = [self.part_of(operand, begin, count) for operand in operands]
            (part,) = call_imported(self._signatures, f"{scalar}x{count}", parts, [kind])
            result = self.with_part(result, part, begin)
        return result

    def _gathered(self, operation: Any) -> ir.Value:
        """What each lane reads at a place of its own."""
        array, *places = operation.operands
        own = [
            binary("arith.minui", self.as_vector(place), self.broadcast(self._last(array, axis)))
            for axis, place in enumerate(places)
        ]
        kind = operation.results[0].type
        places = [[self.lane_of(each, lane) for each in own] for lane in range(self.lanes)]
        read = [create("memref.load", [kind], [array, *place]).result for place in places]
        return self.from_lanes(read)

    def _last(self, array: ir.Value, axis: int) -> ir.Value:
        """The last place along an axis; of an empty array no lane reads."""
        kind, one = ir.MemRefType(array.type), index_constant(1)
        if not kind.is_dynamic_dim(axis):
            return index_constant(max(0, kind.get_dim_size(axis) - 1))
        size = create("memref.dim", [index_type()], [array, index_constant(axis)]).result
        return binary("arith.subi", size, one)

    # --- structured control flow ----------------------------------------------------------------

    def _carried(self, value: ir.Value, like: ir.Value) -> ir.Value:
        """A value as what carries it: a vector or a number."""
        return self.as_vector(value) if like in self.varying else self.now(value)

    def _all_carried(self, values: Sequence[Any], like: Sequence[Any]) -> list[ir.Value]:
        return [self._carried(*pair) for pair in zip(values, like, strict=True)]

    def _kinds(self, values: Sequence[Any]) -> list[ir.Type]:
        return [
            self.vector_type(value.type) if value in self.varying else value.type
            for value in values
        ]

    def _for(self, loop: Any) -> Sequence[ir.Value]:
        old = loop.regions[0].blocks[0]
        _, *carries = old.arguments
        bounds = [self.now(own) for own in list(loop.operands)[:3]]
        initial = self._all_carried(list(loop.operands)[3:], carries)
        new = create("scf.for", self._kinds(carries), [*bounds, *initial], regions=1)
        block = append_block(new.regions[0], [index_type(), *self._kinds(carries)])
        self.values.update(zip(old.arguments, block.arguments, strict=True))
        with ir.InsertionPoint(block):
            last = self.emit_block(old)
            create("scf.yield", [], self._all_carried(last.operands, carries))
        return list(new.results)

    def _if(self, operation: Any) -> Sequence[ir.Value]:
        condition = self.now(operation.operands[0])
        results = list(operation.results)
        new = create("scf.if", self._kinds(results), [condition], regions=2)
        for old, region in zip(operation.regions, new.regions, strict=True):
            if len(old.blocks):
                with ir.InsertionPoint(append_block(region, [])):
                    last = self.emit_block(old.blocks[0])
                    create("scf.yield", [], self._all_carried(last.operands, results))
        return list(new.results)

    def _while(self, loop: Any) -> Sequence[ir.Value]:
        """The loop while any lane asks for it, in which the others keep what they have."""
        before, after = (region.blocks[0] for region in loop.regions)
        condition, *handed = last_of(before).operands
        returned = list(last_of(after).operands)
        carries, taken = list(before.arguments), list(after.arguments)
        differs = condition in self.varying
        kept = [own for own in carries if own in self.varying] if differs else []
        on = [self.vector_type(integer_type(1))] if differs else []
        first = self._kinds(carries)
        second = [*self._kinds(taken), *on, *self._kinds(kept)]
        initial = self._all_carried(loop.operands, carries)
        new = create("scf.while", second, initial, regions=2)
        block = append_block(new.regions[0], first)
        self.values.update(zip(carries, block.arguments, strict=True))
        old = dict(zip(carries, block.arguments, strict=True))
        with ir.InsertionPoint(block):
            self.emit_block(before)
            proceeds, active = self._condition(condition)
            given = self._all_carried(handed, taken)
            create("scf.condition", [], [proceeds, *given, *active, *(old[own] for own in kept)])
        block = append_block(new.regions[1], second)
        arguments = list(block.arguments)
        self.values.update(zip(taken, arguments, strict=False))
        with ir.InsertionPoint(block):
            self.emit_block(after)
            results = dict(zip(carries, self._all_carried(returned, carries), strict=True))
            extra = arguments[len(taken) :]
            for own, before_it in zip(kept, extra[1:], strict=True):
                results[own] = select(extra[0], results[own], before_it)
            create("scf.yield", [], [results[own] for own in carries])
        return list(new.results)[: len(taken)]

    def _condition(self, condition: ir.Value) -> tuple[ir.Value, list[ir.Value]]:
        """Whether any lane goes on, and which; what is the same in all is asked once."""
        all_ = conjuncts(condition)
        own = [value for value in all_ if value in self.varying]
        same = [self.now(value) for value in all_ if value not in self.varying]
        if not own:
            return all_of(same), []
        active = all_of([self.as_vector(value) for value in own])
        kind = {"kind": ir.Attribute.parse("#vector.kind<or>")}
        found = create("vector.reduction", [integer_type(1)], [active], kind).result
        return all_of([found, *same]), [active]
