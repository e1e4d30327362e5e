"""The picture of the rooms as SVG, from the text in Mermaid's language that GitHub draws.

Packages are boxes, one below the other; in each, rooms that import others are above these. Lines
between packages are left out, as all of them point down.
"""

import re
from collections import defaultdict
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch

PACKAGE = re.compile(r"^ *subgraph (\w+)\n(.*?)^ *end$", re.DOTALL | re.MULTILINE)
ROOM = re.compile(r"^ *(\w+)\[([^\]]+)\]$", re.MULTILINE)
ARROW = re.compile(r"^ *(\w+) --> (\w+)$", re.MULTILINE)
WIDTH, ROW = 10.0, 1.0
BOX = "round,pad=0,rounding_size=0.2"


def draw(text: str, path: Path) -> None:
    """Write the picture of a flowchart with one level of subgraphs."""
    packages = PACKAGE.findall(text)
    places: dict[str, tuple[float, float]] = {}
    names: dict[str, str] = {}
    boxes: list[tuple[str, float, float]] = []
    top = 0.0
    for package, body in packages:
        rooms = dict(ROOM.findall(body))
        names |= rooms
        rows = _rows(rooms, ARROW.findall(body))
        for number, row in enumerate(rows):
            for place, room in enumerate(row):
                places[room] = ((place + 0.5) * WIDTH / len(row), top - (number + 0.8) * ROW)
        boxes.append((package, top, len(rows) * ROW + 0.4))
        top -= len(rows) * ROW + 0.7
    figure, axes = plt.subplots(figsize=(WIDTH, -top * 0.62), layout="constrained")
    for package, above, height in boxes:
        corner = (0, above - height)
        axes.add_patch(FancyBboxPatch(corner, WIDTH, height, BOX, fc="#f3f6f9", ec="#c4ccd4"))
        axes.text(0.15, above - 0.12, package, weight="bold", va="top", fontsize=11)
    for one, other in ARROW.findall(text):
        if one in places and other in places:
            arrow = {"arrowstyle": "-|>", "color": "#8494a4", "shrinkA": 9, "shrinkB": 9}
            axes.annotate("", places[other], places[one], arrowprops=arrow)
    for room, place in places.items():
        style = {"boxstyle": "round", "fc": "white", "ec": "#00798c"}
        axes.text(*place, names[room], ha="center", va="center", fontsize=10, bbox=style)
    axes.set(xlim=(-0.3, WIDTH + 0.3), ylim=(top - 0.1, 0.4))
    axes.axis("off")
    figure.savefig(path)
    plt.close(figure)


def _rows(rooms: dict[str, str], arrows: list[tuple[str, str]]) -> list[list[str]]:
    """Rooms by how far they are from one that nothing imports; rows of seven at most."""
    imported_by: dict[str, list[str]] = defaultdict(list)
    for one, other in arrows:
        imported_by[other].append(one)

    def depth(room: str) -> int:
        return max((depth(above) + 1 for above in imported_by[room] if above in rooms), default=0)

    rows: dict[int, list[str]] = defaultdict(list)
    for room in rooms:
        rows[depth(room)].append(room)
    return [
        row[start : start + 7] for _, row in sorted(rows.items()) for start in range(0, len(row), 7)
    ]
