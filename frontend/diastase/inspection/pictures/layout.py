"""Where the items of a picture lie in a figure: numbers only, nothing is drawn here.

Lengths are in units of the distance between two wires, which is an inch. Items stand in columns, of
what is on different wires; a region is one item of the column, as wide as what is in it. A region's
title has room above its first wire, that of a region within it below that, so no two meet.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from diastase.inspection.pictures.items import (
    Item,
    Leaf,
    Measurement,
    Operation,
    Picture,
    Region,
    Result,
    is_placed,
    layered,
    rows_of,
)
from diastase.inspection.pictures.labels import SUM

BOX, GAP, TITLE, EDGE = 0.75, 0.25, 0.32, 0.14
"""Of a gate, between columns, a line with a title, and the room under a region."""

_SUM_IN_FONTS = "\N{SCRIPT CAPITAL H}"

WidthOf = Callable[[str, float], float]
"""The width of a text of this size in points."""

GATE_SIZE, SMALL_SIZE, TITLE_SIZE = 14, 11, 11


@dataclass(frozen=True)
class PlacedLeaf:
    """A leaf in the middle of its place."""

    leaf: Leaf
    middle: float
    width: float


@dataclass(frozen=True)
class PlacedRegion:
    """The frame around a region: from and to, over these rows, with a line for each title."""

    start: float
    end: float
    rows: tuple[int, int]
    levels: tuple[int, int]
    """How many frames begin in a line above its first row, and end below its last: with this one.
    """
    titles: tuple[tuple[float, str], ...]
    """Where each begins; there is a line before all but the first."""


@dataclass(frozen=True)
class Layout:
    """Where everything lies."""

    width: float
    leaves: tuple[PlacedLeaf, ...]
    regions: tuple[PlacedRegion, ...]

    def moved(self, by: float) -> "Layout":
        """All of it, further to the right."""
        return Layout(
            self.width,
            tuple(replace(leaf, middle=leaf.middle + by) for leaf in self.leaves),
            tuple(
                replace(
                    region, start=region.start + by, end=region.end + by,
                    titles=tuple((x + by, title) for x, title in region.titles),
                )
                for region in self.regions
            ),
        )  # fmt: skip

    def heights(self, count: int) -> list[float]:
        """How far below the first wire each wire is."""
        above, below = [0] * count, [0] * count
        for region in self.regions:
            (first, last), (over, under) = region.rows, region.levels
            above[first] = max(above[first], over)
            below[last] = max(below[last], under)
        heights = [0.0]
        for row in range(1, count):
            heights.append(heights[-1] + 1 + TITLE * above[row] + EDGE * below[row - 1])
        return heights


def laid_out(picture: Picture, width_of: WidthOf) -> tuple[Layout, Layout]:
    """The layouts of a picture's items, and of its results."""
    count = len(picture.labels)
    return _sequence(picture.items, count, width_of), _sequence(picture.results, count, width_of)


def _sequence(items: Sequence[Item], count: int, width_of: WidthOf) -> Layout:
    end, leaves, regions = 0.0, list[PlacedLeaf](), list[PlacedRegion]()
    for column in layered(items, count):
        parts = [_part(item, count, width_of) for item in column]
        width = max(part.width for part in parts)
        for part in parts:
            moved = part.moved(end + (width - part.width) / 2)
            leaves += moved.leaves
            regions += moved.regions
        end += width + GAP
    return Layout(max(end - GAP, 0.0), tuple(leaves), tuple(regions))


def _part(item: Item, count: int, width_of: WidthOf) -> Layout:
    if isinstance(item, Region):
        return _region(item, count, width_of)
    width = width_of_leaf(item, width_of)
    return Layout(width, (PlacedLeaf(item, width / 2, width),), ())


def width_of_leaf(leaf: Leaf, width_of: WidthOf) -> float:
    """How much room a gate, a measurement or a result takes."""
    name, beside = texts_of(leaf)
    if isinstance(leaf, Measurement | Result):
        return BOX + width_of(beside, SMALL_SIZE) + 0.15
    if leaf.letters and is_placed(leaf):
        return BOX + width_of(beside, SMALL_SIZE)
    within = max(width_of(name, GATE_SIZE), width_of(beside, SMALL_SIZE))
    return max(BOX, within + 0.25)


def texts_of(leaf: Leaf) -> tuple[str, str]:
    """What stands in a gate's box, or beside a meter: a name, and a line under it or alone."""
    if isinstance(leaf, Operation):
        if is_placed(leaf):
            return leaf.name, leaf.arguments
        name, _, place = leaf.sentence.partition(" on ")
        return name, f"on {place}"
    place = "" if is_placed(leaf) else f" {leaf.place}"
    if isinstance(leaf, Result):
        return "", f"{leaf.text}{place}".replace(SUM, _SUM_IN_FONTS)
    found = "" if leaf.postselect is None else f" = {leaf.postselect}"
    return "", f"{leaf.outcome}{found}{', |0⟩' if leaf.reset else ''}{place}"


def _region(region: Region, count: int, width_of: WidthOf) -> Layout:
    end, leaves, regions, titles = 0.0, list[PlacedLeaf](), list[PlacedRegion](), list[float]()
    for branch in region.branches:
        inner = _sequence(branch.items, count, width_of)
        width = max(inner.width + 1.4 * GAP, width_of(branch.title, TITLE_SIZE) + 0.35)
        moved = inner.moved(end + (width - inner.width) / 2)
        titles.append(end)
        leaves += moved.leaves
        regions += moved.regions
        end += width
    rows = rows_of(region, count)
    over = [inner.levels[0] for inner in regions if inner.rows[0] == rows[0]]
    under = [inner.levels[1] for inner in regions if inner.rows[1] == rows[1]]
    levels = 1 + max(over, default=0), 1 + max(under, default=0)
    names = [branch.title for branch in region.branches]
    frame = PlacedRegion(0.0, end, rows, levels, tuple(zip(titles, names, strict=True)))
    return Layout(end, tuple(leaves), (frame, *regions))
