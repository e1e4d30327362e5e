"""Pictures as figures of matplotlib, drawn with PennyLane's `MPLDrawer` in its styles.

Figures belong to nobody but the caller: pyplot does not know them, and what a style changes is as
it was before. In a notebook a figure shows itself as SVG.
"""

import io
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyBboxPatch
from matplotlib.textpath import TextPath
from pennylane.drawer import MPLDrawer

from diastase.capture.pennylane_compat.drawing import set_style
from diastase.inspection.pictures.items import (
    Leaf,
    Measurement,
    Operation,
    Picture,
    Result,
    is_placed,
)
from diastase.inspection.pictures.layout import (
    BOX,
    EDGE,
    GAP,
    GATE_SIZE,
    SMALL_SIZE,
    TITLE,
    TITLE_SIZE,
    Layout,
    PlacedLeaf,
    PlacedRegion,
    laid_out,
    texts_of,
)

_MARGIN = 0.5


class CircuitFigure(Figure):
    """A figure that shows itself as SVG in a notebook."""

    def _repr_svg_(self) -> str:
        page = io.StringIO()
        self.savefig(page, format="svg")
        return page.getvalue()


def draw_figure(
    picture: Picture,
    style: str | None = None,
    show_wire_labels: bool = True,
    wire_options: Mapping[str, Any] | None = None,
    label_options: Mapping[str, Any] | None = None,
) -> tuple[Figure, Axes]:
    """Draw a picture in one of PennyLane's styles (the one in use, if none is named)."""
    with mpl.rc_context():
        set_style(style)
        items, results = laid_out(picture, width_of)
        heights = items.heights(len(picture.labels))
        width = items.width + GAP
        last = max((leaf.middle - leaf.width / 2 for leaf in results.leaves), default=0.0)
        drawer = _drawer(picture, heights, width + last, wire_options)
        canvas = _Canvas(drawer, heights)
        for region in items.regions:
            canvas.region(region.rows, region)
        for placed in (*items.leaves, *results.moved(width).leaves):
            canvas.leaf(placed)
        label_width = 0.0
        if show_wire_labels:
            label_width = _labels(drawer, picture.labels, heights, label_options or {})
        _limits(drawer, items, heights, (label_width, width + results.width))
        return drawer.fig, drawer.ax


def width_of(text: str, size: float) -> float:
    """The width of a text, in inches."""
    if not text:
        return 0.0
    path: Any = TextPath((0, 0), text, size=size, prop=FontProperties())
    return float(path.get_extents().width) / 72


def _drawer(
    picture: Picture, heights: Sequence[float], width: float, options: Mapping[str, Any] | None
) -> MPLDrawer:
    """A drawer whose wires go from 0 to `width`."""
    figure = CircuitFigure()
    FigureCanvasAgg(figure)
    wires = dict(zip(picture.labels, heights, strict=True))
    drawer = MPLDrawer(n_layers=1, wire_map=wires, fig=figure, wire_options=dict(options or {}))
    drawer.n_wires = int(max(heights)) + 2  # all heights are those of wires, none of classical ones
    for line, wire in zip(drawer.ax.lines, heights, strict=True):
        line.set_data((-GAP, width), (wire, wire))
    return drawer


def _labels(
    drawer: MPLDrawer, labels: Sequence[str], heights: Sequence[float], options: Mapping[str, Any]
) -> float:
    """Write the wires' labels, and return the width of the longest."""
    given: dict[str, Any] = {"ha": "right", "va": "center", "fontsize": GATE_SIZE, **options}
    for label, wire in zip(labels, heights, strict=True):
        drawer.ax.text(-GAP - 0.1, wire, label, **given)
    return max(width_of(label, GATE_SIZE) for label in labels)


def _limits(
    drawer: MPLDrawer, layout: Layout, heights: Sequence[float], widths: tuple[float, float]
) -> None:
    """An inch is a unit, and everything is within the figure."""
    frames = layout.regions
    top = max((r.levels[0] for r in frames if r.rows[0] == 0), default=0)
    bottom = max((r.levels[1] for r in frames if r.rows[1] == len(heights) - 1), default=0)
    left, right = -GAP - 0.1 - widths[0] - 0.2, widths[1] + 0.3
    over, under = -_MARGIN - TITLE * top - 0.1, heights[-1] + _MARGIN + EDGE * bottom + 0.1
    drawer.ax.set_xlim(left, right)
    drawer.ax.set_ylim(under, over)
    drawer.fig.set_size_inches(right - left, under - over)


class _Canvas:
    """Draws what has been laid out."""

    def __init__(self, drawer: MPLDrawer, heights: Sequence[float]) -> None:
        self._drawer, self._heights = drawer, heights
        self._color = mpl.rcParams["lines.color"]

    def region(self, rows: tuple[int, int], region: PlacedRegion) -> None:
        """A frame with its titles."""
        (first, last), (over, under) = rows, region.levels
        top = self._heights[first] - 0.45 - TITLE * over + 0.04
        bottom = self._heights[last] + 0.45 + EDGE * (under - 1)
        frame = FancyBboxPatch(
            (region.start, top), region.end - region.start, bottom - top,
            boxstyle="round, pad=0, rounding_size=0.08",
            facecolor=to_rgba(self._color, 0.05),
            edgecolor=self._color, linewidth=1, zorder=0.5,
        )  # fmt: skip
        ax: Any = self._drawer.ax
        ax.add_patch(frame)
        for number, (start, title) in enumerate(region.titles):
            style = {"ha": "left", "va": "center", "fontsize": TITLE_SIZE, "zorder": 5}
            ax.text(start + 0.1, top + TITLE / 2, title, **style)
            if number:
                line = {"color": self._color, "linewidth": 1, "linestyle": "--", "zorder": 1.5}
                ax.plot((start, start), (top, bottom), **line)

    def leaf(self, placed: PlacedLeaf) -> None:
        """A gate, a measurement or a result."""
        leaf = placed.leaf
        if isinstance(leaf, Operation):
            self._operation(leaf, placed)
            return
        _, beside = texts_of(leaf)
        meter = placed.middle - placed.width / 2 + BOX / 2
        wires = self._wires(leaf)
        is_of_word = isinstance(leaf, Measurement) and bool(leaf.word) and is_placed(leaf)
        if isinstance(leaf, Measurement) and is_of_word:
            self._drawer.pauli_measure(meter, leaf.word, wires)
        else:
            self._drawer.measure(meter, (min(wires), max(wires)))
        middle = (min(wires) + max(wires)) / 2
        if isinstance(leaf, Result):
            color = mpl.rcParams["figure.facecolor"]
            hidden = {"facecolor": color, "edgecolor": "none", "pad": 1.5}
            self._small(meter + BOX / 2 + 0.08, middle, beside, bbox=hidden)
        else:
            self._small(meter + BOX / 2 + 0.08 + 0.04 * is_of_word, middle - 0.2, beside)

    def _wires(self, leaf: Leaf) -> list[float]:
        rows = [wire for wire in leaf.wires if isinstance(wire, int)]
        if not is_placed(leaf) or not rows:
            rows = list(range(len(self._heights)))
        return [self._heights[row] for row in rows]

    def _operation(self, leaf: Operation, placed: PlacedLeaf) -> None:
        wires = self._wires(leaf)
        targets = wires[: len(leaf.targets)] if leaf.targets and is_placed(leaf) else wires
        controls = wires[len(targets) :]
        beside = placed.width - BOX if leaf.letters else 0.0
        x, values = placed.middle - beside / 2, list(leaf.control_values)
        drawer: Any = self._drawer
        if not is_placed(leaf):
            self._box(placed, wires)
            return
        if controls:
            with warnings.catch_warnings():  # a control between targets lies on their box
                warnings.filterwarnings("ignore", message="Some control indicators")
                drawer.ctrl(x, controls, targets, control_values=values)
        if leaf.letters:
            self._letters(leaf, x, targets)
        elif leaf.name == "X" and controls and len(targets) == 1:
            drawer.CNOT(x, [*controls, *targets], control_values=values)
        elif leaf.name == "SWAP":
            drawer.SWAP(x, targets)
        else:
            self._box(placed, targets)

    def _box(self, placed: PlacedLeaf, wires: Sequence[float]) -> None:
        x, ends = placed.middle, (min(wires), max(wires))
        assert isinstance(placed.leaf, Operation)
        name, below = texts_of(placed.leaf)
        rows = [row for row, wire in enumerate(self._heights) if ends[0] <= wire <= ends[1]]
        self._drawer.box_gate(
            x, list(wires) if len(rows) > len(wires) else ends,
            extra_width=placed.width - BOX, autosize=False,
            active_wire_notches=len(rows) > len(wires),
        )  # fmt: skip
        middle = sum(ends) / 2
        shift = 0.13 if below else 0.0
        style: dict[str, Any] = {"ha": "center", "va": "center", "zorder": 3}
        ax: Any = self._drawer.ax
        ax.text(x, middle - shift, name, fontsize=GATE_SIZE, **style)
        if below:
            ax.text(x, middle + shift, below, fontsize=SMALL_SIZE, **style)

    def _letters(self, leaf: Operation, x: float, targets: Sequence[float]) -> None:
        """A box for each letter of a Pauli word, joined; the angle is beside the first."""
        ax: Any = self._drawer.ax
        ax.plot((x, x), (min(targets), max(targets)), color=self._color, zorder=1.5)
        for wire, letter in zip(targets, leaf.letters, strict=True):
            self._drawer.box_gate(x, wire, letter, autosize=False)
        self._small(x + BOX / 2 + 0.03, min(targets) - 0.2, leaf.arguments)

    def _small(self, x: float, y: float, text: str, **options: Any) -> None:
        ax: Any = self._drawer.ax
        ax.text(x, y, text, ha="left", va="center", fontsize=SMALL_SIZE, zorder=1.8, **options)
