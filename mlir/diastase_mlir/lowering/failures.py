"""Where compiled code may fail, and how it says so: sites of the user's program, recorded errors.

An error is recorded in the call context, the first one only; the runtime raises it with its site.
`fallible` counts the operations emitted so far that may record one, by which a `while` loop knows
whether its condition has to watch for one.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from diastase_mlir.diagnostics import span_of
from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.imports import Imports, call
from diastase_mlir.lowering.operations import (
    compare_integers,
    create,
    integer_type,
    scalar_constant,
)
from diastase_runtime.abi import ABANDON_FUNCTION, LEAVE_FUNCTION, CallContext, ErrorCode, Site
from diastase_runtime.errors import Span


class Failures:
    """The sites of a program, and what emits its errors at the current insertion point."""

    def __init__(self, imports: Imports):
        self.sites: list[Site] = []
        self.fallible = 0
        self.span: Span | None = None
        """The user's line of the innermost equation being lowered that has one."""
        self._imports = imports
        self._numbers: dict[Site, int] = {}
        self._call_context: ir.Value | None = None

    @contextmanager
    def at_line_of(self, source_info: Any) -> Generator[Span | None]:
        """Lower an equation; one without a line of the user's counts as on the enclosing one."""
        outer = self.span
        self.span = span_of(source_info) or outer
        try:
            yield self.span
        finally:
            self.span = outer

    @property
    def call_context(self) -> ir.Value:
        """The state of the call: the entry's first argument, a `!llvm.ptr`."""
        assert self._call_context is not None, "no entry function yet"
        return self._call_context

    @contextmanager
    def within(self, call_context: ir.Value) -> Generator[None]:
        """Emit a function that is given this state of the call."""
        outer, self._call_context = self._call_context, call_context
        try:
            yield
        finally:
            self._call_context = outer

    def site(self, construct: str, source_info: Any) -> ir.Value:
        """An `i64` that names this place in the user's program; what follows may fail there."""
        return scalar_constant(integer_type(64), self.site_number(construct, source_info))

    def site_at(self, construct: str, span: Span | None) -> ir.Value:
        """The same for a place that is known."""
        return scalar_constant(integer_type(64), self._number_of(construct, span))

    def site_number(self, construct: str, source_info: Any) -> int:
        """The same as a number, for operations that hold it as an attribute."""
        return self._number_of(construct, span_of(source_info) or self.span)

    def _number_of(self, construct: str, span: Span | None) -> int:
        file, line, function = (span.file, span.line, span.function) if span else ("", 0, "")
        site = Site(file, line, function, construct)
        self.fallible += 1
        number = self._numbers.get(site, len(self.sites))
        if self.sites[number : number + 1] != [site]:  # new, or taken back by a rollback
            number = self._numbers[site] = len(self.sites)
            self.sites.append(site)
        return number

    def none_so_far(self) -> ir.Value:
        """An `i1`: whether the call has recorded no error so far."""
        code = create("llvm.load", [integer_type(64)], [self._field("code")]).result
        return compare_integers("eq", code, scalar_constant(integer_type(64), ErrorCode.NONE))

    def record(
        self, failed: ir.Value, code: ErrorCode, site: ir.Value, details: Sequence[ir.Value] = ()
    ) -> None:
        """Record an error if `failed` (an `i1`) and none is recorded yet; details are `i64`."""
        guard = create("arith.andi", [integer_type(1)], [failed, self.none_so_far()]).result
        operation = create("scf.if", [], [guard], regions=2)
        with ir.InsertionPoint(operation.regions[0].blocks.append()):
            number = scalar_constant(integer_type(64), code)
            create("llvm.store", [], [number, self._field("code")])
            create("llvm.store", [], [site, self._field("site")])
            for position, detail in enumerate(details):
                create("llvm.store", [], [detail, self._field("detail", position)])
            create("scf.yield", [], [])

    def poll(self) -> None:
        """Let Python handle signals, which may end the call with an error; in loops."""
        self.fallible += 1
        operands = [self.call_context]
        call(self._imports.function("threads", "poll", [operands[0].type]), operands)

    def leave(self, *, at_start: bool) -> None:
        """Abandon the call at once; an error is recorded. `at_start`: nothing is allocated yet."""
        function = LEAVE_FUNCTION if at_start else ABANDON_FUNCTION
        self._imports.declare(function, [], [], {})
        call(function, [])

    def _field(self, name: str, position: int = 0) -> ir.Value:
        """Address of a field of the call context, or of one of its 64-bit elements."""
        offset = getattr(CallContext, name).offset + 8 * position
        attributes = {
            "rawConstantIndices": ir.Attribute.parse(f"array<i32: {offset}>"),
            "elem_type": ir.TypeAttr.get(integer_type(8)),
        }
        pointer = self.call_context
        return create("llvm.getelementptr", [pointer.type], [pointer], attributes).result
