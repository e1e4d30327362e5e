"""Pictures as text, in the style of PennyLane's lines; a region is a box over all of them.

           ╭for i in range(n - 1)─╮
    0: ──H─┤──╭CNOT on i, i + 1╮──├─┤ ╭<Z@Z>
    1: ────┤──╰────────────────╯──├─┤ ╰<Z@Z>
           ╰──────────────────────╯

What is next to each other may happen at once, but for regions. A gate on wires that are not known
is a box over all wires, which says where it acts. Nothing follows a line's last character.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
)

_MORE = " ···"


@dataclass(frozen=True)
class _Block:
    """Lines of the same length: above the wires, of them, and below."""

    above: tuple[str, ...]
    rows: tuple[str, ...]
    below: tuple[str, ...]

    @property
    def width(self) -> int:
        return len(self.rows[0])

    def widened(self, width: int) -> "_Block":
        missing = width - self.width
        return _Block(
            tuple(line + " " * missing for line in self.above),
            tuple(line + "─" * missing for line in self.rows),
            tuple(line + " " * missing for line in self.below),
        )

    def with_room(self, depth: int) -> "_Block":
        """With so many lines above and below."""
        room = (" " * self.width,) * (depth - len(self.above))
        return _Block((*room, *self.above), self.rows, (*self.below, *room))


def drawn(picture: Picture, max_length: int | None = 100, show_wire_labels: bool = True) -> str:
    """The picture as text; lines longer than `max_length` go on below."""
    count = len(picture.labels)
    body = _sequence(picture.items, count)
    width = max(map(len, picture.labels)) + 2 if show_wire_labels else 0
    ends = _results(picture.results, count)
    rows = [f"{row}─┤{end}" for row, end in zip(body.rows, ends, strict=True)]
    lines = [*body.above, *rows, *body.below]
    length = max(map(len, lines))
    lines = [line.ljust(length) for line in lines]
    wires = range(len(body.above), len(body.above) + count)
    prefixes = [" " * width] * len(lines)
    if show_wire_labels:
        prefixes[wires.start : wires.stop] = [f"{one}: ".rjust(width) for one in picture.labels]
    room = None if max_length is None else max(max_length - width - 2 * len(_MORE), 20)
    cuts = _cuts(lines, wires, body.width + 2)
    pages = list(_pages(lines, cuts, room))
    texts = list[str]()
    for number, page in enumerate(pages):
        before, after = (f"{_MORE[1:]} " if number else ""), _MORE * (number < len(pages) - 1)
        texts.append(
            "\n".join(
                f"{prefix}{before}{line}{after}".rstrip()
                if row in wires
                else f"{prefix}{' ' * len(before)}{line}".rstrip()
                for row, (prefix, line) in enumerate(zip(prefixes, page, strict=True))
                if row in wires or line.strip()
            )
        )
    return "\n\n".join(texts)


def _pages(lines: Sequence[str], cuts: Sequence[int], room: int | None) -> Iterator[list[str]]:
    """The lines in parts that fit, as far as they may be cut."""
    start, length = 0, len(lines[0])
    while room is not None and length - start > room + len(_MORE):
        places = [place for place in cuts if place > start]
        if not places:
            break
        fitting = [place for place in places if place - start <= room]
        end = fitting[-1] if fitting else places[0]
        yield [line[start:end] for line in lines]
        start = end
    yield [line[start:] for line in lines]


def _cuts(lines: Sequence[str], wires: range, end: int) -> list[int]:
    """Where lines may be cut: before a column, and after the wires' end before a result."""
    others = [line for row, line in enumerate(lines) if row not in wires]
    return [
        place
        for place in range(1, len(lines[0]))
        if {lines[row][place] for row in wires} == {"─" if place < end else " "}
        if all(line[place] in " ─" and line[place - 1] in " ─╮│╯" for line in others)
    ]


# --- sequences and regions -----------------------------------------------------------------------


def _sequence(items: Sequence[Item], count: int) -> _Block:
    """Items one after the other: regions, and columns of what stands between them."""
    blocks, waiting = list[_Block](), list[Leaf]()
    for item in items:
        if not isinstance(item, Region):
            waiting.append(item)
            continue
        blocks += [_columns(waiting, count), _region(item, count)]
        waiting = []
    return _joined([*blocks, _columns(waiting, count)], count)


def _joined(blocks: Sequence[_Block], count: int) -> _Block:
    depth = max(len(block.above) for block in blocks)
    blocks = [block.with_room(depth) for block in blocks if block.width]
    above = [block.above for block in blocks]
    below = [block.below for block in blocks]
    rows = [block.rows for block in blocks]
    return _Block(
        tuple("".join(lines[k] for lines in above) for k in range(depth)),
        tuple("".join(lines[k] for lines in rows) for k in range(count)),
        tuple("".join(lines[k] for lines in below) for k in range(depth)),
    )


def _region(region: Region, count: int) -> _Block:
    """A box with a compartment for each branch."""
    blocks = [_sequence(branch.items, count) for branch in region.branches]
    depth = max(len(block.above) for block in blocks)
    titles = [branch.title for branch in region.branches]
    blocks = [
        block.with_room(depth).widened(max(block.width, len(title) - 1))
        for block, title in zip(blocks, titles, strict=True)
    ]
    top = "┬".join(
        title + "─" * (block.width + 2 - len(title))
        for title, block in zip(titles, blocks, strict=True)
    )
    bottom = "┴".join("─" * (block.width + 2) for block in blocks)

    def across(lines: Sequence[str], left: str, middle: str, right: str, fill: str) -> str:
        return left + middle.join(f"{fill}{line}{fill}" for line in lines) + right

    within = [
        [across(lines, "│", "│", "│", " ") for lines in zip(*part, strict=True)]
        for part in ([b.above for b in blocks], [b.below for b in blocks])
    ]
    rows = [
        f"─{across(lines, '┤', '┼', '├', '─')}"
        for lines in zip(*[block.rows for block in blocks], strict=True)
    ]
    frame = [f" ╭{top}╮", f" ╰{bottom}╯"]
    return _Block(
        (frame[0], *(f" {line}" for line in within[0])),
        tuple(rows),
        (*(f" {line}" for line in within[1]), frame[1]),
    )


# --- columns -------------------------------------------------------------------------------------


def _columns(leaves: Sequence[Leaf], count: int) -> _Block:
    """Rows of all columns; each begins with a piece of wire."""
    rows = [""] * count
    for column in layered(leaves, count):
        cells = _cells(column, count, "─")
        width = max(map(len, cells))
        rows = [f"{row}─{cell.ljust(width, '─')}" for row, cell in zip(rows, cells, strict=True)]
    return _Block((), tuple(rows), ())


def _results(results: Sequence[Result], count: int) -> list[str]:
    """What stands right of the wires' ends."""
    ends = [""] * count
    for column in layered(results, count):
        cells = _cells(column, count, " ")
        width = max(map(len, cells))
        ends = [f"{end} {cell.ljust(width)}" for end, cell in zip(ends, cells, strict=True)]
    return ends


def _cells(column: Sequence[Leaf], count: int, fill: str) -> list[str]:
    cells = [fill] * count
    for leaf in column:
        if not is_placed(leaf):
            _box(cells, leaf)
            continue
        texts = _texts(leaf, count)
        first, last = min(texts), max(texts)
        for row in range(first, last + 1):
            is_alone = first == last or (isinstance(leaf, Result) and not leaf.wires)
            corner = fill if is_alone else _corner(row, first, last, row in texts)
            cells[row] = corner + texts.get(row, "")
    return cells


def _corner(row: int, first: int, last: int, is_part: bool) -> str:
    if row in (first, last):
        return "╭" if row == first else "╰"
    return "├" if is_part else "│"


def _texts(leaf: Leaf, count: int) -> dict[int, str]:
    """What stands on each of its wires."""
    wires = [wire for wire in leaf.wires if isinstance(wire, int)] or list(range(count))
    if isinstance(leaf, Result):
        return dict.fromkeys(wires, leaf.text)
    if isinstance(leaf, Measurement):
        letters = leaf.word or [""] * len(wires)
        return {wire: _measured(leaf, letter) for wire, letter in zip(wires, letters, strict=True)}
    targets = wires[: len(leaf.targets)] if leaf.wires else wires
    letters = leaf.letters or [leaf.name] * len(targets)
    texts = {
        wire: f"{letter}{leaf.arguments}" for wire, letter in zip(targets, letters, strict=True)
    }
    controls = zip(wires[len(targets) :], leaf.control_values, strict=True)
    return texts | {wire: "●" if value else "○" for wire, value in controls}


def _measured(leaf: Measurement, letter: str) -> str:
    which = {None: "", 0: "₀", 1: "₁"}[leaf.postselect]
    return f"┤{letter}↗{which}{leaf.outcome}{'│  │0⟩' if leaf.reset else '├'}"


def _box(cells: list[str], leaf: Leaf) -> None:
    """A box over all wires."""
    if isinstance(leaf, Operation):
        text = leaf.sentence
    else:
        what = leaf.text if isinstance(leaf, Result) else _measured(leaf, leaf.word)
        text = f"{what} {leaf.place}"
    if len(cells) == 1:
        cells[0] = f"[{text}]"
        return
    cells[0] = f"╭{text}╮"
    cells[1:] = [f"│{' ' * len(text)}│"] * (len(cells) - 1)
    cells[-1] = f"╰{'─' * len(text)}╯"
