"""A loop over arrays as a loop of each element, in a `linalg.generic`."""

from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import array_attribute, create
from diastase_mlir.emit.tensors import element_type, empty, insert_slice, sizes_of
from diastase_mlir.passes.operations import last_of
from diastase_mlir.passes.tensors.unbatch_loops.frozen import is_frozen
from diastase_mlir.passes.tensors.unbatch_loops.operations import ElementOperations
from diastase_mlir.passes.tensors.unbatch_loops.values import Batch, Refused, is_array, positions


class LoopOfElements(ElementOperations):
    """What a loop is for one element of a batch with so many axes."""

    def __init__(self, loop: Any, rank: int, inside: set[ir.Value]):
        self._loop = loop
        arrays = [result for result in loop.results if is_array(result.type)]
        super().__init__(Batch(arrays[0].type.shape[:rank], inside, ir.InsertionPoint(loop)))
        self._rules |= {"scf.while": self._while, "scf.for": self._for, "scf.if": self._if}

    def emit(self, used: Sequence[Any]) -> list[ir.Value] | None:
        """The results that are used, None where elements have no loop of their own."""
        batch = self.batch
        holder = create("scf.execute_region", [], [], regions=1)
        batch.block = holder.regions[0].blocks.append()
        try:
            with ir.InsertionPoint(batch.block):
                rule = self._rules[self._loop.name]
                rule(self._loop)
                parts = [part for result in used for part in batch.parts(result)]
                create("linalg.yield", [], parts)
            batch.check_sizes([*self._loop.operands, *used])
        except Refused:
            holder.erase()
            return None
        generic = self._generic_of(used)
        batch.block.append_to(generic.regions[0])
        holder.erase()
        return self._together(used, list(generic.results))

    def _generic_of(self, used: Sequence[Any]) -> Any:
        """The operation, without its body."""
        batch = self.batch
        like = next(value for value in self._loop.operands if is_array(value.type))
        sizes = sizes_of(like)[: batch.rank]
        inputs = [taken for taken, _, _ in batch.inputs.values()]
        targets = [
            empty(sizes, element_type(result))
            for result in used
            for _ in range(batch.count(result.type))
        ]
        identity = ir.AffineMap.get_identity(batch.rank)
        maps = [*(own for _, own, _ in batch.inputs.values()), *[identity] * len(targets)]
        parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
        attributes = {
            "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(own) for own in maps]),
            "iterator_types": ir.ArrayAttr.get([parallel] * batch.rank),
            "operandSegmentSizes": array_attribute("i32", [len(inputs), len(targets)]),
        }
        for target in targets:
            batch.block.add_argument(element_type(target), ir.Location.current)
        kinds = [target.type for target in targets]
        return create("linalg.generic", kinds, [*inputs, *targets], attributes, regions=1)

    def _together(self, used: Sequence[Any], results: Sequence[ir.Value]) -> list[ir.Value]:
        """Arrays of the parts of their elements."""
        given, rank = iter(results), self.batch.rank
        arrays: list[ir.Value] = []
        for result in used:
            own = result.type.shape[rank:]
            if not own:
                arrays.append(next(given))
                continue
            array: ir.Value | None = None
            for place in positions(own):
                part = next(given)
                sizes = sizes_of(part)
                if array is None:
                    array = empty([*sizes, *own], element_type(result))
                offsets = [*[0] * rank, *place]
                ones = [1] * len(own)
                array = insert_slice(part, array, offsets, [*sizes, *ones], [1] * (rank + len(own)))
            assert array is not None
            arrays.append(array)
        return arrays

    # --- structured control flow ------------------------------------------------------------

    def _kinds(self, values: Sequence[Any]) -> list[ir.Type]:
        """The types of the parts of values."""
        return [
            element_type(value) if isinstance(value.type, ir.RankedTensorType) else value.type
            for value in values
            for _ in range(self.batch.count(value.type))
        ]

    def _parts(self, values: Sequence[Any]) -> list[ir.Value]:
        return [part for value in values for part in self.batch.parts(value)]

    def _region(self, old: Any, region: Any, name: str) -> None:
        """The block of a region, for one element."""
        kinds = self._kinds(list(old.arguments))
        block = region.blocks.append(*kinds, arg_locs=[ir.Location.current] * len(kinds))
        self.batch.define_all(list(old.arguments), list(block.arguments))
        with ir.InsertionPoint(block):
            last = self.operations(old)
            create(name, [], self._parts(list(last.operands)))

    def _for(self, loop: Any) -> None:
        old = loop.regions[0].blocks[0]
        operands, results = list(loop.operands), list(loop.results)
        new = create("scf.for", self._kinds(results), self._parts(operands), regions=1)
        self._region(old, new.regions[0], "scf.yield")
        carried = zip(
            operands[3:], list(old.arguments)[1:], results, last_of(old).operands, strict=True
        )
        for same in carried:
            self.batch.equal(same)
        self.batch.define_all(results, list(new.results))

    def _while(self, loop: Any) -> None:
        before, after = (region.blocks[0] for region in loop.regions)
        results = list(loop.results)
        operands = self._parts(list(loop.operands))
        new = create("scf.while", self._kinds(results), operands, regions=2)
        known = set(self.predicates)
        self._region(before, new.regions[0], "scf.condition")
        asked = [
            predicate
            for value, predicate in self.predicates.items()
            if value not in known and not isinstance(value.type, ir.RankedTensorType)
        ]
        self._region(after, new.regions[1], "scf.yield")
        if len(asked) > 1:
            raise Refused
        _, *handed = last_of(before).operands
        for same in zip(loop.operands, before.arguments, last_of(after).operands, strict=True):
            self.batch.equal(same)
        for same in zip(handed, after.arguments, results, strict=True):
            self.batch.equal(same)
        used = [bool(list(result.uses)) for result in results for _ in self._kinds([result])]
        places = [place for place, own in enumerate(used) if own]
        if asked and not is_frozen(new, asked[0], places):
            raise Refused
        self.batch.define_all(results, list(new.results))

    def _if(self, operation: Any) -> None:
        results = list(operation.results)
        condition = self.batch.number(operation.operands[0])
        new = create("scf.if", self._kinds(results), [condition], regions=2)
        for old, region in zip(operation.regions, new.regions, strict=True):
            if len(old.blocks):
                self._region(old.blocks[0], region, "scf.yield")
                for same in zip(last_of(old.blocks[0]).operands, results, strict=True):
                    self.batch.equal(same)
        self.batch.define_all(results, list(new.results))
