"""What a scenario has left, and whether that is nothing: rows of a table."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isinf
from typing import Any

from soak.measures import Measures
from soak.scenarios import EACH, SLACK, Scenario

HEAD = (
    "scenario", "calls", "seconds", "RSS at 10 %", "at the end", "bytes/call", "of malloc",
    "descriptors", "threads", "mappings", "files", "verdict",
)  # fmt: skip


@dataclass
class Outcome:
    """How one scenario ended."""

    scenario: Scenario
    calls: int
    failure: str | None
    errors: str
    measured: dict[str, Any] = field(default_factory=dict)

    @property
    def early(self) -> Measures:
        return Measures(**self.measured["early"])

    @property
    def late(self) -> Measures:
        return Measures(**self.measured["late"])

    @property
    def verdict(self) -> str:
        """`flat`, or what is not."""
        if self.failure:
            return self.failure
        early, late = self.early, self.late
        counts = ("descriptors", "threads", "files")
        grown = [name for name in counts if getattr(late, name) > getattr(early, name)]
        if late.resident - early.resident > self.scenario.slack:
            grown.append("memory")
        elif self.scenario.compiles and late.allocated - early.allocated > max(
            SLACK, EACH * (late.calls - early.calls)
        ):
            grown.append("what malloc has handed out")
        if isinf(self.scenario.slack):
            return "for comparison"
        return ", ".join(grown) + " grow" if grown else "flat"

    @property
    def is_good(self) -> bool:
        return self.verdict in ("flat", "for comparison")

    def row(self) -> list[str]:
        if self.failure:
            return [self.scenario.name, f"{self.calls:,}", *["-"] * (len(HEAD) - 3), self.failure]
        early, late = self.early, self.late
        made = max(late.calls - early.calls, 1)
        return [
            self.scenario.name,
            f"{late.calls:,}",
            f"{self.measured['seconds']:.0f}",
            f"{early.resident / 2**20:.1f} MiB",
            f"{late.resident / 2**20:.1f} MiB",
            f"{(late.resident - early.resident) / made:+.2f}",
            f"{(late.allocated - early.allocated) / made:+.2f}",
            f"{early.descriptors}/{late.descriptors}",
            f"{early.threads}/{late.threads}",
            f"{early.mappings}/{late.mappings}",
            f"{early.files}/{late.files}",
            self.verdict,
        ]

    def line(self) -> str:
        return "  ".join(self.row())


def table(outcomes: Sequence[Outcome]) -> str:
    """The report, in Markdown."""
    rows = [HEAD, ["---"] * len(HEAD), *(outcome.row() for outcome in outcomes)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def merged(before: str, new: str) -> str:
    """One table of the rows of two, the new ones where both have one."""
    rows = {line.split(" | ")[0]: line for line in (*before.splitlines(), *new.splitlines())}
    return "\n".join(rows.values()) + "\n"
