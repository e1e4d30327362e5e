"""A picture of a circuit as data: what both renderers draw, and nothing of how.

A wire is a row of the picture where it is known, and else the words for it: `i + 1`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

Wire = int | str


@dataclass(frozen=True)
class Operation:
    """A gate, or anything else that acts on wires; no targets: on all of them."""

    name: str
    """As PennyLane labels it: `RX`, `X` (of CNOT, too), `U(M0)`."""
    targets: tuple[Wire, ...] = ()
    parameters: tuple[str, ...] = ()
    controls: tuple[Wire, ...] = ()
    control_values: tuple[bool, ...] = ()
    letters: str = ""
    """Of a rotation about a Pauli word: what stands on each target."""

    @property
    def wires(self) -> tuple[Wire, ...]:
        """Targets, then controls."""
        return (*self.targets, *self.controls)

    @property
    def arguments(self) -> str:
        """The parameters in brackets; nothing where there are none."""
        return f"({','.join(self.parameters)})" if self.parameters else ""

    @property
    def sentence(self) -> str:
        """What it does where, in words: `CNOT on i, i + 1`; for wires that are not known."""
        name, wires = f"{self.name}{self.letters}", [*self.controls, *self.targets]
        if all(self.control_values):
            name = _CONTROLLED.get((name, len(self.controls)), "C" * len(self.controls) + name)
            return f"{name}{self.arguments} on {', '.join(map(str, wires))}"
        pairs = zip(self.controls, self.control_values, strict=True)
        conditions = ", ".join(f"{wire}" if value else f"not {wire}" for wire, value in pairs)
        targets = ", ".join(map(str, self.targets))
        return f"{name}{self.arguments} on {targets} ctrl {conditions}"


_CONTROLLED = {("X", 1): "CNOT", ("X", 2): "Toffoli"}


@dataclass(frozen=True)
class Measurement:
    """A measurement in the middle of a circuit; no Pauli word: in the computational basis."""

    outcome: str
    """The name by which conditions speak of it: `m0`."""
    targets: tuple[Wire, ...]
    word: str = ""
    reset: bool = False
    postselect: int | None = None

    @property
    def wires(self) -> tuple[Wire, ...]:
        """What is measured."""
        return self.targets

    @property
    def place(self) -> str:
        """Where, in words."""
        return f"on {', '.join(map(str, self.targets))}"


@dataclass(frozen=True)
class Result:
    """What a circuit returns, as PennyLane prints it: `<Z@Z>`; no wires: of all of them."""

    text: str
    wires: tuple[Wire, ...] = ()

    @property
    def place(self) -> str:
        """Where, in words."""
        return f"on {', '.join(map(str, self.wires))}"


@dataclass(frozen=True)
class Branch:
    """A title, and what happens under it."""

    title: str
    items: "tuple[Item, ...]"


@dataclass(frozen=True)
class Region:
    """A loop (of one branch) or a choice."""

    branches: tuple[Branch, ...]


Leaf = Operation | Measurement | Result
Item = Leaf | Region
Drawn = TypeVar("Drawn", bound=Item)


@dataclass(frozen=True)
class Picture:
    """One circuit at one level."""

    name: str
    labels: tuple[str, ...]
    """Of the rows, from the top."""
    items: tuple[Item, ...]
    results: tuple[Result, ...]
    matrices: tuple[Any, ...] = field(default=(), compare=False)
    """The arrays that are known, in the order of their numbers: `M0`."""

    def with_rows(self, rows: Sequence[int]) -> "Picture":
        """The picture with these of its rows only, in this order."""
        place = {row: number for number, row in enumerate(rows)}
        return Picture(
            self.name,
            tuple(self.labels[row] for row in rows),
            tuple(_moved(item, place) for item in self.items),
            tuple(_moved(result, place) for result in self.results),
            self.matrices,
        )

    def used_rows(self) -> list[int]:
        """The rows on which something is; all of them, where a wire is not known."""
        leaves = [*leaves_of(self.items), *self.results]
        wires = {wire for leaf in leaves for wire in leaf.wires}
        if not wires or any(isinstance(wire, str) for wire in wires):
            return list(range(len(self.labels)))
        return sorted(wire for wire in wires if isinstance(wire, int))


def leaves_of(items: Sequence[Item]) -> Iterator[Leaf]:
    """Everything but the regions, in order."""
    for item in items:
        if isinstance(item, Region):
            for branch in item.branches:
                yield from leaves_of(branch.items)
        else:
            yield item


def rows_of(item: Item, count: int) -> tuple[int, int]:
    """The first and the last row that an item needs, of so many."""
    leaves = leaves_of([item])
    rows = [row for leaf in leaves for row in (leaf.wires or range(count))]
    known = [row for row in rows if isinstance(row, int)]
    if len(known) < len(rows) or not rows:
        return 0, count - 1
    return min(known), max(known)


def layered(items: Sequence[Drawn], count: int) -> list[list[Drawn]]:
    """Columns of what is on different wires; each as far to the left as it can be.

    What speaks of an outcome comes after the measurement that has it.
    """
    columns, ends, measured = list[list[Drawn]](), [0] * count, dict[str, int]()
    for item in items:
        first, last = rows_of(item, count)
        known = [measured[name] for name in _outcomes_named(item) if name in measured]
        place = max(*ends[first : last + 1], *known, 0)
        while place >= len(columns):
            columns.append([])
        columns[place].append(item)
        ends[first : last + 1] = [place + 1] * (last + 1 - first)
        for leaf in leaves_of([item]):
            if isinstance(leaf, Measurement):
                measured[leaf.outcome] = place + 1
    return columns


def _outcomes_named(item: Item) -> list[str]:
    if isinstance(item, Region):
        titles = [branch.title for branch in item.branches]
        inner = [
            name
            for branch in item.branches
            for each in branch.items
            for name in _outcomes_named(each)
        ]
        return inner + [name for title in titles for name in _OUTCOME.findall(title)]
    words = [wire for wire in item.wires if isinstance(wire, str)]
    if isinstance(item, Operation):
        words += item.parameters
    return [name for word in words for name in _OUTCOME.findall(word)]


_OUTCOME = re.compile(r"\bm\d+\b")


def is_placed(leaf: Leaf) -> bool:
    """Whether all of its wires are known."""
    return not any(isinstance(wire, str) for wire in leaf.wires)


def _moved(item: Any, place: dict[int, int]) -> Any:
    if isinstance(item, Region):
        branches = [
            Branch(branch.title, tuple(_moved(inner, place) for inner in branch.items))
            for branch in item.branches
        ]
        return Region(tuple(branches))
    moved = {
        name: tuple(place[wire] if isinstance(wire, int) else wire for wire in getattr(item, name))
        for name in ("targets", "controls", "wires")
        if name in vars(item)
    }
    return replace(item, **moved)
