"""The texts that stand side by side, and which of the user's lines each of their lines is of.

In: a jaxpr, and what the compiler's stages leave. Out: columns as the page's script reads them. A
line of a column has the number of a *group*, which is a set of the user's lines: lines that come
from the same ones have the same group, and group 0 is of none.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from diastase.inspection.explicit_jaxpr import with_sources
from diastase_mlir import ASSEMBLY, LOWERED, LocatedText
from diastase_mlir.diagnostics import span_of_traceback
from diastase_runtime.errors import Span

JAXPR = "jaxpr"
_LONGEST_LINE = 2000
_SHOWN = (JAXPR, LOWERED, ASSEMBLY)
"""At first, beside the source."""
_TITLES = {
    LOWERED: "MLIR",
    "translate": "LLVM IR",
    "optimise": "LLVM IR, optimised",
}
_ABOUT = {
    JAXPR: "the program as it was traced; passes over circuits have run",
    LOWERED: "StableHLO and the quantum dialect, as lowering makes them, before any pass of MLIR's",
    "translate": "what MLIR is translated to",
    "optimise": "what machine code is made from",
    ASSEMBLY: "the machine code",
}


@dataclass(frozen=True)
class Column:
    """A text, and the spans of each of its lines."""

    name: str
    title: str
    about: str
    text: str
    spans: Sequence[Sequence[Span]]
    seconds: float | None = None

    @property
    def lines(self) -> int:
        """How many lines there are."""
        return len(self.spans)

    @property
    def is_shown(self) -> bool:
        """Whether it is on the page at first."""
        return self.name in _SHOWN


def column_of_jaxpr(jaxpr: Any, seconds: float) -> Column:
    """The jaxpr; what an equation says over several lines is of its user's line."""
    text, sources = with_sources(jaxpr)
    spans: list[list[Span]] = []
    for parts in sources:
        found = [span_of_traceback(traceback) for *_, traceback in parts]
        spans.append([span for span in found if span is not None])
    missing = text.count("\n") + 1 - len(spans)
    return Column(JAXPR, JAXPR, _ABOUT[JAXPR], text, [*spans, *[[]] * missing], seconds)


def column_of_stage(stage: LocatedText, about: str) -> Column:
    """What a stage leaves."""
    name = stage.stage
    return Column(
        name,
        _TITLES.get(name, name),
        _ABOUT.get(name, about),
        stage.text,
        stage.spans,
        stage.seconds,
    )


def within(columns: Sequence[Column], most: int) -> list[Column]:
    """The same columns, of at most so many characters together; what is cut off says so.

    Long ones are cut to one length, short ones stay; and so do all lines but the longest.
    """
    columns = [_with_short_lines(column) for column in columns]
    room, share = most, most
    for number, length in enumerate(sorted(len(column.text) for column in columns)):
        share = room // (len(columns) - number)
        if length > share:
            break
        room -= length
    return [_within(column, share) for column in columns]


def _with_short_lines(column: Column) -> Column:
    lines = column.text.split("\n")
    if max(map(len, lines)) <= _LONGEST_LINE:
        return column
    cut = (
        line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]} … {len(line):,} characters"
        for line in lines
    )
    return replace(column, text="\n".join(cut))


def _within(column: Column, most: int) -> Column:
    if len(column.text) <= most:
        return column
    kept = column.text[: column.text.rfind("\n", 0, most)]
    number = kept.count("\n") + 1
    more = f"… {column.lines - number:,} more lines"
    return replace(column, text=f"{kept}\n{more}", spans=[*column.spans[:number], ()])


@dataclass
class Groups:
    """The user's lines that there are, and the sets of them that lines of columns come from."""

    lines: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    groups: dict[tuple[int, ...], int] = field(default_factory=lambda: {(): 0})

    def of(self, spans: Iterable[Span]) -> int:
        """The number of the set of these lines."""
        numbers = {self.lines.setdefault((span.file, span.line), len(self.lines)) for span in spans}
        return self.groups.setdefault(tuple(sorted(numbers)), len(self.groups))

    def runs(self, spans: Iterable[Sequence[Span]]) -> list[int]:
        """Groups of lines: each, and how many lines in a row have it."""
        known: dict[tuple[Span, ...], int] = {}
        numbers: list[int] = []
        for of_line in map(tuple, spans):
            if of_line not in known:
                known[of_line] = self.of(of_line)
            numbers.append(known[of_line])
        return in_runs(numbers)


def in_runs(numbers: Iterable[int]) -> list[int]:
    """`[3, 3, 0]` as `[3, 2, 0, 1]`."""
    return [item for number, run in groupby(numbers) for item in (number, sum(1 for _ in run))]
