"""The circuits of the page, before passes and after each, as SVG, or as text.

In: a compiled function, and the types of its arguments. Out: HTML. Figures are images of the page's
own (`data:`), so that nothing in them is part of it. Where matplotlib is not installed, or a
circuit is large, it is drawn as text; the largest ones are not drawn.
"""

import base64
import io
from html import escape
from typing import TYPE_CHECKING, Any

from diastase.inspection.levels import CompiledFunction, levels_of
from diastase.inspection.pictures import text
from diastase.inspection.pictures.errors import PictureTooLargeError
from diastase.inspection.pictures.items import Picture, leaves_of
from diastase.inspection.pictures.read import Reading, read_circuit
from diastase.quantum.qnode.circuits import SeenCircuit
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    from diastase.inspection.pictures import figure
else:
    figure = LazyModule("diastase.inspection.pictures.figure")

_IN_A_FIGURE = 200
_IN_A_TEXT = 2000
"""Gates and measurements that are drawn."""


def drawings_of(compiled: CompiledFunction, args: Any, kwargs: Any) -> list[str]:
    """HTML of each circuit at each level, equal ones once; the function is traced again for it."""
    found: list[tuple[str, Picture | None]] = []
    for level in levels_of(compiled, "all", args, kwargs):
        for circuit in level.circuits:
            title = f"{circuit.traced.settings.qnode}, level {level.number}: {level.name}"
            one = (title, _picture(circuit))
            if one not in found:  # a loop traces its body several times
                found.append(one)
    return [
        f"<figure><figcaption>{escape(title)}</figcaption>{_drawn(picture)}</figure>"
        for title, picture in found
    ]


def _picture(circuit: SeenCircuit) -> Picture | None:
    """The picture of a circuit; None of one with too many operations."""
    try:
        picture = read_circuit(circuit, {}, Reading(decimals=2, unroll=False))
    except PictureTooLargeError:
        return None
    picture = picture.with_rows(picture.used_rows())
    return picture if sum(1 for _ in leaves_of(picture.items)) <= _IN_A_TEXT else None


def _drawn(picture: Picture | None) -> str:
    if picture is None:
        return f"<p>More than {_IN_A_TEXT} operations: not drawn.</p>"
    if sum(1 for _ in leaves_of(picture.items)) <= _IN_A_FIGURE:
        try:
            drawn, _ = figure.draw_figure(picture)
        except ModuleNotFoundError:  # of matplotlib
            pass
        else:
            content = io.BytesIO()
            drawn.savefig(content, format="svg", metadata={"Date": None})
            data = base64.b64encode(content.getvalue()).decode()
            label = escape(f"circuit {picture.name}")
            return f'<img alt="{label}" src="data:image/svg+xml;base64,{data}">'
    return f"<pre>{escape(text.drawn(picture))}</pre>"
