"""One walk through the functions of a module that takes operations to scalars, by rules.

A rule is given an operation and what its operands have become, and emits at the operation's place.
It gives what each result has become, or None where it leaves the operation as it is; its operands
are then put into the IR. Operations that were converted are erased at the end of a function, last
first, as nothing uses their results any more.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.passes.tensors.scalarize.deferred import Value, materialised

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

        def visit(inner: Any) -> ir.WalkResult:
            for place, own in enumerate(list(inner.operands)):
                if own in self._values:
                    with ir.InsertionPoint(operation), operation.location:
                        inner.operands[place] = materialised(self._values[own])
            return ir.WalkResult.ADVANCE

        operation.walk(visit)

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
