"""One walk through the functions of a module that takes operations to scalars, by rules.

A rule is given an operation and what its operands have become, and emits at the operation's place.
It gives what each result has become, or None where it leaves the operation as it is; its operands
are then put into the IR. Operations that were converted are erased at the end of a function, last
first, as nothing uses their results any more.

What a value has become may be *deferred*: a number, a slice or a short vector that becomes an array
where somebody needs it as such.

    slice, then reshape to ()      `Slice`, then `Number` by one `tensor.extract`
    (1,)-arrays, concatenated      `Elements`, one `tensor.from_elements` where the array is needed

The array is made where the deferred value was, whoever needs it: not in each turn of a loop inside
of which it is used, nor where it would not be seen from behind a loop.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import create, index_constant
from diastase_mlir.emit.tensors import box, element_type, extract, extract_slice, typed_shape
from diastase_mlir.passes.operations import behind, operations_in


def _here() -> Callable[[], Any]:
    """The place where operations are emitted now; at the end of a block, behind its last one."""
    point: Any = ir.InsertionPoint.current
    operations = point.block.operations
    if point.ref_operation is not None:
        return lambda: point
    if not len(operations):
        return lambda: ir.InsertionPoint.at_block_begin(point.block)
    last = operations[len(operations) - 1]
    return lambda: ir.InsertionPoint.after(last)


class Deferred:
    """What deferred values have in common: the array, once it is in the IR."""

    def __init__(self, place: Callable[[], Any] | None = None) -> None:
        self._place = place or _here()
        self._tensor: ir.Value | None = None

    def materialise(self) -> ir.Value:
        """The value as a tensor."""
        if self._tensor is None:
            with self._place():
                self._tensor = self._emitted()
        return self._tensor

    def _emitted(self) -> ir.Value:
        raise NotImplementedError


class Number(Deferred):
    """A scalar that is no tensor; `tensor`: where it is one already."""

    def __init__(self, scalar: ir.Value, tensor: ir.Value | None = None):
        # What the first operation of a block becomes is before it.
        super().__init__(lambda: behind(scalar))
        self.scalar, self._tensor = scalar, tensor

    def _emitted(self) -> ir.Value:
        return box(self.scalar)


class Slice(Deferred):
    """A strided slice with bounds known now, not yet taken."""

    def __init__(
        self, source: ir.Value, offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int]
    ):
        super().__init__()
        self.source = source
        self.offsets, self.sizes, self.strides = tuple(offsets), tuple(sizes), tuple(strides)

    def part(self, offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int]) -> "Slice":
        """A slice of the slice."""
        begins = (
            own + step * offset
            for own, step, offset in zip(self.offsets, self.strides, offsets, strict=True)
        )
        steps = (own * step for own, step in zip(self.strides, strides, strict=True))
        return Slice(self.source, tuple(begins), sizes, tuple(steps))

    @property
    def scalar(self) -> ir.Value:
        """Its first element."""
        return extract(self.source, [index_constant(offset) for offset in self.offsets])

    def _emitted(self) -> ir.Value:
        return extract_slice(self.source, self.offsets, self.sizes, self.strides)


class Elements(Deferred):
    """A vector, given by its elements."""

    def __init__(self, scalars: Sequence[ir.Value]):
        super().__init__()
        self.scalars = list(scalars)

    def _emitted(self) -> ir.Value:
        kind = typed_shape([len(self.scalars)], self.scalars[0].type)
        return create("tensor.from_elements", [kind], self.scalars).result


class Reshaped(Deferred):
    """An array under another shape, with more or fewer axes of size 1."""

    def __init__(
        self, source: Any, shape: Sequence[int], emit: Callable[[], ir.Operation] | None = None
    ):
        super().__init__()
        self.source, self.shape, self._emit = source, list(shape), emit

    def _emitted(self) -> ir.Value:
        if self._emit is not None:
            return self._emit().result
        kind = typed_shape(self.shape, element_type(self.source))
        return create("stablehlo.reshape", [kind], [self.source]).result


Value = ir.Value | Deferred


def materialised(value: Value) -> ir.Value:
    """A value as a tensor."""
    return value.materialise() if isinstance(value, Deferred) else value


def scalar_of(value: Value) -> ir.Value:
    """The number that a value of one element is."""
    if isinstance(value, (Number, Slice)):
        return value.scalar
    if isinstance(value, Elements):
        return value.scalars[0]
    tensor = materialised(value)
    return extract(tensor, [index_constant(0)] * ir.RankedTensorType(tensor.type).rank)


def elements_of(value: Value) -> list[ir.Value] | None:
    """The elements of a vector, where they are scalars already, or it has one only."""
    if isinstance(value, Elements):
        return value.scalars
    if isinstance(value, Slice) and value.sizes == (1,):
        return [value.scalar]
    return None


Rule = Callable[["Conversion", Any, list[Value]], Sequence[Value] | None]
"""From an operation and its operands, which a rule that leaves it may replace, to its results."""


class Conversion:
    """What the values of a function have become, and the rules."""

    def __init__(self, rules: Mapping[str, Rule], inner_functions: frozenset[str] = frozenset()):
        self._rules = rules
        self.inner_functions = inner_functions
        """Names of the functions that take and give scalars (`functions`)."""
        self._values: dict[ir.Value, Value] = {}
        self._converted: list[Any] = []
        self._kinds: dict[ir.Type, str | None] = {}
        self.bounds: dict[ir.Value, tuple[int, int]] = {}
        """Between which numbers, both included, integers lie, as far as it is known."""

    def value(self, value: ir.Value) -> Value:
        """What a value has become; itself where nothing was done to it."""
        return self._values.get(value, value)

    def define(self, value: ir.Value, new: Value) -> None:
        """Note what a value has become."""
        self._values[value] = new

    def kind(self, kind: ir.Type) -> str | None:
        """Whether a type is that of a single `float`, `integer` or `flag`; None for all others."""
        if kind not in self._kinds:
            self._kinds[kind] = _kind(kind)
        return self._kinds[kind]

    def block(self, block: ir.Block) -> None:
        """Convert the operations of a block, and of the regions in it."""
        self.operations(list(block.operations))

    def operations(self, operations: Sequence[Any]) -> None:
        """Convert operations, which stand in this order in one block."""
        for view in operations:
            operation = view.operation
            given = list(operation.operands)
            operands: list[Value] = [self.value(operand) for operand in given]
            rule = self._rules.get(operation.name)
            results, before = None, len(self._converted)
            if rule is not None:
                with ir.InsertionPoint(operation), operation.location:
                    results = rule(self, operation, operands)
            if results is None:
                self._leave(operation, given, operands)
                continue
            for result, value in zip(operation.results, results, strict=True):
                self._values[result] = value
            # Before those in its regions, which use its arguments.
            self._converted.insert(before, operation)

    def _leave(self, operation: Any, given: Sequence[ir.Value], operands: Sequence[Value]) -> None:
        """Give an operation its operands as values of the IR, and go through its regions."""
        changed = [place for place, own in enumerate(operands) if own is not given[place]]
        if changed:
            with ir.InsertionPoint(operation), operation.location:
                for place in changed:
                    operation.operands[place] = materialised(operands[place])
        regions = operation.regions
        if len(regions) and operation.name.startswith(("stablehlo.", "runtime.")):
            self._materialise_captured(operation)
            return
        for region in regions:
            for block in region.blocks:
                self.block(block)

    def _materialise_captured(self, operation: Any) -> None:
        """Leave the function of elements in an operation, say a reduction's, as it is."""
        for inner in operations_in(operation):
            for place, own in enumerate(list(inner.operands)):
                if own in self._values:
                    with ir.InsertionPoint(operation), operation.location:
                        inner.operands[place] = materialised(self._values[own])

    def results_of(self, last: Any) -> list[Value]:
        """What the last operation of a block hands on; it is erased."""
        results = [self.value(value) for value in last.operands]
        last.operation.erase()
        return results

    def erase(self) -> None:
        """Erase what was converted."""
        for operation in reversed(self._converted):
            operation.erase()
        self._converted.clear()


def _kind(kind: Any) -> str | None:
    if not isinstance(kind, ir.RankedTensorType) or kind.rank:
        return None
    element: Any = kind.element_type
    if isinstance(element, (ir.F32Type, ir.F64Type)):
        return "float"
    if not isinstance(element, ir.IntegerType) or not element.is_signless:
        return None
    return {1: "flag", 32: "integer", 64: "integer"}.get(element.width)
