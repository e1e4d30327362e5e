"""The circuits of the page, before passes and after each, as SVG, or as text.

In: a compiled function, and the types of its arguments. Out: HTML. Figures are images of the page's
own (`data:`), so that nothing in them is part of it. Where matplotlib is not installed, or a
circuit is large, it is drawn as text; the largest ones are not drawn.
"""

import base64
import io
from html import escape
from typing import TYPE_CHECKING, Any

from diastase.inspection.levels import CompiledFunction, Level, levels_of
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
_TOO_LARGE = f"<p>More than {_IN_A_TEXT} operations: not drawn.</p>"


def drawings_of(compiled: CompiledFunction, args: Any, kwargs: Any) -> list[str]:
    """HTML of each circuit at each level, in order; the function is traced again for it."""
    return [
        _drawing(level, circuit)
        for level in levels_of(compiled, "all", args, kwargs)
        for circuit in level.circuits
    ]


def _drawing(level: Level, circuit: SeenCircuit) -> str:
    title = f"{circuit.traced.settings.qnode}, level {level.number}: {level.name}"
    try:
        picture = read_circuit(circuit, {}, Reading(decimals=2, unroll=False))
        drawn = _drawn(picture.with_rows(picture.used_rows()))
    except PictureTooLargeError:
        drawn = _TOO_LARGE
    return f"<figure><figcaption>{escape(title)}</figcaption>{drawn}</figure>"


def _drawn(picture: Picture) -> str:
    count = sum(1 for _ in leaves_of(picture.items))
    if count > _IN_A_TEXT:
        return _TOO_LARGE
    if count <= _IN_A_FIGURE:
        try:
            drawn, _ = figure.draw_figure(picture)
        except ModuleNotFoundError:  # of matplotlib
            pass
        else:
            content = io.BytesIO()
            drawn.savefig(content, format="svg")
            data = base64.b64encode(content.getvalue()).decode()
            label = escape(f"circuit {picture.name}")
            return f'<img alt="{label}" src="data:image/svg+xml;base64,{data}">'
    return f"<pre>{escape(text.drawn(picture))}</pre>"
