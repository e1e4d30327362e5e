"""Loops over arrays, turn after turn, become a loop of each element: no turn goes through memory.

    scf.while (%x = %a, %on = %m) {               linalg.generic ins(%a, %m) outs(...) {
      scf.condition(any(%on)) …                   ^bb0(%a0: f64, %m0: i1, …):
    } do {                                  ->      %r:2 = scf.while (%x = %a0, %on = %m0) {
      %new = linalg.generic ins(%x, %on) …            scf.condition(%on) …
      scf.yield %new, %still                        } do { … scf.yield %new, %still }
    }                                               linalg.yield %r#0
                                                  }

`jax.vmap` of a loop is such a loop, and so is one that a user (or `jax.scipy`) writes for arrays. All
that a turn does must be elementwise, on arrays of one shape; what arrays from outside are read at
any place. Numbers that are the same for all elements, say counters, go along.

A loop that runs while `any` element asks for it goes on for elements that do not. It is a loop of
each element only if that is not seen: assuming that the element's predicate is false, the body must
give back, as it got it, each carry that is used afterwards or that the predicate is made of
(`_frozen`). What the predicate is made of stays then, so it is false from there on.

In: `linalg` on tensors, before fusion. Results are hidden from fusion: nothing may compute an
element's loop twice. `buffers.vector_lanes` runs the loops of some elements at the same time.
"""

from collections.abc import Callable, Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import array_attribute, create, flag_constant
from diastase_mlir.emit.tensors import element_type, empty, extract, hidden, sizes_of
from diastase_mlir.passes.operations import (
    callee_of,
    combining,
    constant_of,
    defining,
    last_of,
    maps_of,
    operations_in,
    parallel_loops,
)
from diastase_mlir.passes.tensors.frozen_elements import is_frozen
from diastase_runtime.abi import import_symbol

_LOOPS = ("scf.while", "scf.for")
_POLL = import_symbol("threads", "poll")
_SCALAR_DIALECTS = frozenset({"arith", "math", "complex", "index", "llvm"})
_SHAPES_ONLY = frozenset({"tensor.empty", "tensor.dim"})
"""What gives arrays sizes: elements have none, and nothing else may use it."""
_MOVED = frozenset({
    "linalg.generic", "linalg.fill", "tensor.empty", "tensor.dim", "tensor.expand_shape",
    "tensor.collapse_shape", "tensor.extract_slice", "arith.constant",
})  # fmt: skip
"""What is computed before the loop, where it can be; of the first, what is elementwise."""
_WRITES = frozenset({"llvm.store", "llvm.call"})


class _Refused(Exception):
    """The loop is not one of elements."""


def unbatch_loops(module: ir.Module) -> None:
    """Replace the outermost loops that are loops of elements."""
    for view in module.body.operations:
        _visit(view.operation)


def _visit(operation: Any) -> None:
    if operation.name in _LOOPS and _replace(operation):
        return
    if operation.name.startswith("linalg."):
        return
    for region in operation.regions:
        for block in region.blocks:
            for view in list(block.operations):
                _visit(view.operation)


def _is_array(kind: Any) -> bool:
    return isinstance(kind, ir.RankedTensorType) and kind.rank > 0


def _replace(loop: Any) -> bool:
    """Make the loop one of each element, if it is one."""
    arrays = [result for result in loop.results if _is_array(result.type)]
    if not arrays or any(loop.results[place] not in arrays and list(loop.results[place].uses)
                         for place in range(len(loop.results))):
        return False
    used = [result for result in arrays if list(result.uses)]
    if not used:
        return False
    _hoist(loop)
    with ir.InsertionPoint(loop), loop.location:
        elements = _Elements(loop, used[0].type)
        generic = elements.emit(used)
        if generic is None:
            return False
        for own, new in zip(used, generic.results, strict=True):
            own.replace_all_uses_with(hidden(new))
    loop.erase()
    return True


class _Elements:
    """A loop, and what its values are for one element."""

    def __init__(self, loop: Any, kind: Any):
        self._loop, self._shape, self._rank = loop, list(kind.shape), kind.rank
        self._identity = ir.AffineMap.get_identity(kind.rank)
        self._inside = _values_in(loop)
        self._inputs: dict[tuple[ir.Value, str], ir.AffineMap] = {}
        self._elements: dict[Any, ir.Value] = {}
        self._alls: dict[ir.Value, ir.Value] = {}
        self._predicates: dict[ir.Value, ir.Value] = {}
        """What says of all elements whether any asks for a turn, and of one whether it does."""
        self._classes: dict[ir.Value, ir.Value] = {}
        """Arrays whose sizes are equal: each points towards one that stands for all."""

    def emit(self, used: Sequence[ir.Value]) -> Any:
        """The loop of each element, None where there is none."""
        try:
            self._collect()
        except _Refused:
            return None
        sizes = sizes_of(self._sized())
        targets = [empty(sizes, element_type(result)) for result in used]
        inputs = [value for value, _ in self._inputs]
        maps = [*self._inputs.values(), *[self._identity] * len(used)]
        parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
        attributes = {
            "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(own) for own in maps]),
            "iterator_types": ir.ArrayAttr.get([parallel] * self._rank),
            "operandSegmentSizes": array_attribute("i32", [len(inputs), len(used)]),
        }
        operands, kinds = [*inputs, *targets], [target.type for target in targets]
        generic = create("linalg.generic", kinds, operands, attributes, regions=1)
        locations = [ir.Location.current] * len(operands)
        types = [element_type(operand) for operand in operands]
        block = generic.regions[0].blocks.append(*types, arg_locs=locations)
        self._elements.update(zip(self._inputs, block.arguments, strict=False))
        try:
            with ir.InsertionPoint(block):
                self._operation(self._loop)
                create("linalg.yield", [], [self._elements[result] for result in used])
            self._check_sizes(used)
        except _Refused:
            generic.erase()
            return None
        return generic

    # --- arrays from outside -----------------------------------------------------------------

    def _collect(self) -> None:
        """Note the arrays from outside that are read by elements, and how."""
        for operation in operations_in(self._loop):
            if operation.name == "linalg.generic":
                count = _inputs_of(operation)
                for operand, own in zip(list(operation.operands)[:count], maps_of(operation),
                                        strict=False):
                    self._note(operand, own)
            elif operation.name.startswith("scf."):
                for operand in operation.operands:
                    self._note(operand, self._identity)

    def _note(self, operand: ir.Value, own: ir.AffineMap) -> None:
        if not _is_array(operand.type) or operand in self._inside or _splat(operand) is not None:
            return
        if own.n_dims != self._rank or not own.is_projected_permutation:
            raise _Refused
        self._inputs[operand, str(own)] = own

    def _sized(self) -> ir.Value:
        """An array from outside with the sizes of all."""
        for operand in self._loop.operands:
            if _is_array(operand.type):
                return operand
        raise AssertionError

    # --- sizes --------------------------------------------------------------------------------

    def _class(self, value: ir.Value) -> ir.Value:
        while (above := self._classes.get(value, value)) != value:
            value = above
        return value

    def _equal(self, values: Sequence[ir.Value]) -> None:
        """Note that arrays have equal sizes, and see that these can be those of the loop."""
        arrays = [value for value in values if _is_array(value.type)]
        if any(list(ir.RankedTensorType(value.type).shape) != self._shape for value in arrays):
            raise _Refused
        for value in arrays[1:]:
            self._classes[self._class(value)] = self._class(arrays[0])

    def _check_sizes(self, used: Sequence[ir.Value]) -> None:
        """All have the same sizes if these are known, or if all are seen to meet."""
        if all(size >= 0 for size in self._shape):
            return
        carried = [value for value in self._loop.operands if _is_array(value.type)]
        whole = [value for value, own in self._inputs if own == str(self._identity)]
        if len({self._class(value) for value in (*carried, *used, *whole)}) > 1:
            raise _Refused

    # --- values ---------------------------------------------------------------------------------

    def _element(self, value: ir.Value, own: ir.AffineMap | None = None) -> ir.Value:
        """What a value is for one element."""
        if value in self._elements:
            return self._elements[value]
        if value in self._inside:
            made_by = defining(value)
            if made_by is None or made_by.name != "arith.constant":
                raise _Refused
        if not isinstance(value.type, ir.RankedTensorType):
            return value
        number = _splat(value)
        if number is not None:
            self._elements[value] = number()
            return self._elements[value]
        if not _is_array(value.type):
            return create("tensor.extract", [element_type(value)], [value]).result
        place = value, str(own or self._identity)
        if place not in self._elements:
            raise _Refused
        return self._elements[place]

    def _define(self, values: Sequence[ir.Value], elements: Sequence[ir.Value]) -> None:
        self._elements.update(zip(values, elements, strict=True))

    # --- operations -----------------------------------------------------------------------------

    def _operations(self, block: Any) -> Any:
        """What the operations of a block do for one element; gives the last, which is left."""
        *operations, last = block.operations
        for view in operations:
            self._operation(view.operation)
        return last.operation

    def _operation(self, operation: Any) -> None:
        rule = _RULES.get(operation.name)
        if rule is not None:
            rule(self, operation)
        elif operation.name not in _SHAPES_ONLY:
            self._scalar(operation)

    def _scalar(self, operation: Any) -> None:
        """The same operation on an element's numbers."""
        dialect = operation.name.partition(".")[0]
        kinds = [value.type for value in (*operation.operands, *operation.results)]
        if operation.name == "arith.constant" and isinstance(kinds[0], ir.RankedTensorType):
            return
        known = dialect in _SCALAR_DIALECTS and operation.name not in _WRITES
        if operation.name == "func.call":
            known = callee_of(operation) == _POLL
        if operation.name == "tensor.extract":
            known = operation.operands[0] not in self._inside
            kinds = kinds[1:]
        if not known or len(operation.regions) or any(
            isinstance(kind, ir.ShapedType) for kind in kinds
        ):
            raise _Refused
        if operation.name == "arith.xori" and self._is_not_all(operation):
            return
        copy = operation.clone()
        for place, operand in enumerate(operation.operands):
            if not _is_array(operand.type):
                copy.operands[place] = self._element(operand)
        self._define(operation.results, copy.operation.results)

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
            raise _Refused
        self._predicates[value] = self._elements[value] = predicate

    def _from_elements(self, operation: Any) -> None:
        if _is_array(operation.results[0].type):
            raise _Refused
        self._define(operation.results, [self._element(operation.operands[0])])

    def _extract(self, operation: Any) -> None:
        source = operation.operands[0]
        if source in self._predicates:
            self._ask(operation.results[0], self._predicates[source])
        elif source in self._alls:
            self._alls[operation.results[0]] = self._alls[source]
        elif not _is_array(source.type):
            self._define(operation.results, [self._element(source)])
        else:
            self._scalar(operation)

    def _fill(self, operation: Any) -> None:
        self._define(operation.results, [self._element(operation.operands[0])])

    def _generic(self, operation: Any) -> None:
        if not all(parallel_loops(operation)):
            self._reduction(operation)
            return
        count = _inputs_of(operation)
        operands, maps = list(operation.operands), maps_of(operation)
        block = operation.regions[0].blocks[0]
        arguments = list(block.arguments)
        if any(own != self._identity for own in maps[count:]):
            raise _Refused
        if any(list(argument.uses) for argument in arguments[count:]):
            raise _Refused
        for argument, operand, own in zip(arguments, operands[:count], maps, strict=False):
            if operand in self._inside and _is_array(operand.type) and own != self._identity:
                raise _Refused
            self._elements[argument] = self._element(operand, own)
        whole = [operand for operand, own in zip(operands[:count], maps, strict=False)
                 if own == self._identity and _splat(operand) is None]
        self._equal([*whole, *operation.results])
        last = self._payload(block)
        self._define(operation.results, [self._element(value) for value in last.operands])

    def _payload(self, block: Any) -> Any:
        *operations, last = block.operations
        for view in operations:
            own = view.operation
            if own.name == "linalg.index":
                self._define(own.results, own.clone().operation.results)
            else:
                self._scalar(own)
        return last.operation

    def _reduction(self, operation: Any) -> None:
        """Whether any element holds, or all do."""
        combines, count = combining(operation), _inputs_of(operation)
        source = operation.operands[0]
        one = count == 1 and str(element_type(source)) == "i1" and combines is not None
        if not one or any(parallel_loops(operation)) or maps_of(operation)[0] != self._identity:
            raise _Refused
        block = operation.regions[0].blocks[0]
        if len(block.operations) != 2 or set(combines.operands) != set(block.arguments):
            raise _Refused
        target = defining(operation.operands[1])
        if target is None or target.name != "linalg.fill":
            raise _Refused
        beginning, element = constant_of(target.operands[0]), self._element(source)
        self._equal([source])
        if combines.name == "arith.ori" and beginning == 0:
            self._predicates[operation.results[0]] = element
        elif combines.name == "arith.andi" and beginning is not None and beginning != 0:
            negated = create("arith.xori", [element.type], [element, flag_constant(True)]).result
            self._alls[operation.results[0]] = negated
        else:
            raise _Refused

    # --- structured control flow ------------------------------------------------------------

    def _kinds(self, values: Sequence[ir.Value]) -> list[ir.Type]:
        return [
            element_type(value) if isinstance(value.type, ir.RankedTensorType) else value.type
            for value in values
        ]

    def _region(self, old: Any, region: Any, name: str) -> None:
        """The block of a region, for one element."""
        kinds = self._kinds(list(old.arguments))
        block = region.blocks.append(*kinds, arg_locs=[ir.Location.current] * len(kinds))
        self._define(old.arguments, block.arguments)
        with ir.InsertionPoint(block):
            last = self._operations(old)
            create(name, [], [self._element(value) for value in last.operands])

    def _for(self, loop: Any) -> None:
        old = loop.regions[0].blocks[0]
        operands = [self._element(operand) for operand in loop.operands]
        new = create("scf.for", self._kinds(loop.results), operands, regions=1)
        self._region(old, new.regions[0], "scf.yield")
        carried = zip(list(loop.operands)[3:], list(old.arguments)[1:], loop.results,
                      last_of(old).operands, strict=True)
        for same in carried:
            self._equal(same)
        self._define(loop.results, new.results)

    def _while(self, loop: Any) -> None:
        before, after = (region.blocks[0] for region in loop.regions)
        operands = [self._element(operand) for operand in loop.operands]
        new = create("scf.while", self._kinds(loop.results), operands, regions=2)
        known = set(self._predicates)
        self._region(before, new.regions[0], "scf.condition")
        asked = [
            self._predicates[value]
            for value in self._predicates
            if value not in known and isinstance(value.type, ir.IntegerType)
        ]
        known = set(self._predicates)
        self._region(after, new.regions[1], "scf.yield")
        if len(set(asked)) > 1:
            raise _Refused
        _, *handed = last_of(before).operands
        for same in zip(loop.operands, before.arguments, last_of(after).operands, strict=True):
            self._equal(same)
        for same in zip(handed, after.arguments, loop.results, strict=True):
            self._equal(same)
        used = [place for place, result in enumerate(loop.results) if list(result.uses)]
        if asked and not is_frozen(new, asked[0], used):
            raise _Refused
        self._define(loop.results, new.results)

    def _if(self, operation: Any) -> None:
        condition = self._element(operation.operands[0])
        new = create("scf.if", self._kinds(operation.results), [condition], regions=2)
        for old, region in zip(operation.regions, new.regions, strict=True):
            if len(old.blocks):
                self._region(old.blocks[0], region, "scf.yield")
                self._equal_results(old.blocks[0], operation)
        self._define(operation.results, new.results)

    def _equal_results(self, block: Any, operation: Any) -> None:
        for same in zip(last_of(block).operands, operation.results, strict=True):
            self._equal(same)


_RULES: dict[str, Callable[[_Elements, Any], None]] = {
    "linalg.generic": _Elements._generic,
    "linalg.fill": _Elements._fill,
    "tensor.from_elements": _Elements._from_elements,
    "tensor.extract": _Elements._extract,
    "scf.while": _Elements._while,
    "scf.for": _Elements._for,
    "scf.if": _Elements._if,
}


def _hoist(loop: Any) -> None:
    """Compute before a loop the arrays that are the same in all turns, unless it is one number."""
    inside = _values_in(loop)
    for region in loop.regions:
        for view in list(region.blocks[0].operations):
            operation = view.operation
            if operation.name not in _MOVED:
                continue
            inner = operations_in(operation)
            own = {value for each in inner for value in each.results}
            own |= {argument for each in operation.regions for argument in each.blocks[0].arguments}
            used = {operand for each in inner for operand in each.operands}
            if not (used - own) & inside:
                operation.move_before(loop)
                inside -= set(operation.results)


def _values_in(loop: Any) -> set[ir.Value]:
    """All values that are made in a loop."""
    found: set[ir.Value] = set()
    for operation in operations_in(loop):
        if operation != loop:
            found.update(operation.results)
        for region in operation.regions:
            for block in region.blocks:
                found.update(block.arguments)
    return found


def _inputs_of(generic: Any) -> int:
    return ir.DenseI32ArrayAttr(generic.attributes["operandSegmentSizes"])[0]


def _splat(value: ir.Value) -> Callable[[], ir.Value] | None:
    """Emits the number that all elements of an array are, where it is seen."""
    made_by, kind = defining(value), value.type
    if made_by is None or not isinstance(kind, ir.RankedTensorType):
        return None
    if made_by.name == "arith.constant":
        if isinstance(kind.element_type, ir.ComplexType):  # whose values the bindings do not read
            return None if kind.rank else lambda: extract(value, [])
        elements: Any = ir.DenseElementsAttr(made_by.attributes["value"])
        if not elements.is_splat:
            return None
        number = elements.get_splat_value()
        return lambda: create("arith.constant", [kind.element_type], [], {"value": number}).result
    if made_by.name == "tensor.from_elements" and not kind.rank:
        return lambda: made_by.operands[0]
    if made_by.name == "linalg.fill":
        return lambda: made_by.operands[0]
    if made_by.name != "linalg.generic" or _inputs_of(made_by) != 1:
        return None
    block, source = made_by.regions[0].blocks[0], made_by.operands[0]
    if last_of(block).operands[0] != block.arguments[0] or _is_array(source.type):
        return None
    return (lambda: source) if not isinstance(source.type, ir.RankedTensorType) else _splat(source)


def _is_condition(value: ir.Value) -> bool:
    """Whether a flag is used by the condition of a loop only, as one of what must all hold."""
    return all(
        use.owner.name == "scf.condition" and use.operand_number == 0
        or use.owner.name == "arith.andi" and _is_condition(use.owner.results[0])
        for use in value.uses
    )
