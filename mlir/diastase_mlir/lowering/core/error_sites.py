"""Where compiled code may fail, and how it says so: sites of the user's program, recorded errors.

An error is recorded in the state of the call, the first one only, by operations of the `runtime`
dialect; the loader raises it with its site.
`fallible` counts the operations emitted so far that may record one, by which a `while` loop knows
whether its condition has to watch for one.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from diastase_mlir.diagnostics import span_of
from diastase_mlir.emit.operations import (
    create,
    enumeration,
)
from diastase_mlir.jax_compat import ir
from diastase_runtime.abi import ErrorCode, Site
from diastase_runtime.errors import Span

Leave = Literal["no", "now", "at start"]
"""Whether to abandon the call."""


class Failures:
    """The sites of a program, and what emits its errors at the current insertion point."""

    def __init__(self) -> None:
        self.sites: list[Site] = []
        self.fallible = 0
        self.span: Span | None = None
        """The user's line of the innermost equation being lowered that has one."""
        self._numbers: dict[Site, int] = {}

    @contextmanager
    def at_line_of(self, source_info: Any) -> Generator[Span | None]:
        """Lower an equation; one without a line of the user's counts as on the enclosing one."""
        outer = self.span
        self.span = span_of(source_info) or outer
        try:
            yield self.span
        finally:
            self.span = outer

    def site(self, construct: str, source_info: Any) -> int:
        """The number of this place in the user's program; what follows may fail there."""
        return self.site_at(construct, span_of(source_info) or self.span)

    def site_at(self, construct: str, span: Span | None) -> int:
        """The number of a place that is known; what follows may fail there."""
        file, line, function = (span.file, span.line, span.function) if span else ("", 0, "")
        site = Site(file, line, function, construct)
        self.fallible += 1
        number = self._numbers.get(site, len(self.sites))
        if self.sites[number : number + 1] != [site]:  # new, or taken back by a rollback
            number = self._numbers[site] = len(self.sites)
            self.sites.append(site)
        return number

    def record(
        self,
        failed: ir.Value,
        code: ErrorCode,
        site: int,
        details: Sequence[ir.Value] = (),
        *,
        leave: Leave = "no",
    ) -> None:
        """Record an error if `failed`, a flag, and none is recorded yet; details have 64 bits.

        `leave`: abandon the call then, `at start` if nothing is allocated yet.
        """
        attributes = {
            "code": enumeration(code),
            "site": enumeration(site),
            "leave": ir.StringAttr.get(leave),
        }
        create("runtime.check", [], [failed, *details], attributes)
