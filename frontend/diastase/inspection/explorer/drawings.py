"""The circuits of the page, before passes and after each, as SVG, or as text.

In: a compiled function, and the types of its arguments. Out: HTML. Figures are images of the page's
own (`data:`), so that nothing in them is part of it; where matplotlib is not installed, or a circuit
is large, text stands in for them, and for the largest ones how to draw them.
"""

import base64
import io
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from diastase.inspection.levels import Level
from diastase.inspection.pictures import text
from diastase.inspection.pictures.draw import Drawable, pictures_of
from diastase.inspection.pictures.items import Picture, leaves_of
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    from diastase.inspection.pictures import figure
else:
    figure = LazyModule("diastase.inspection.pictures.figure")

_IN_A_FIGURE = 200
_IN_A_TEXT = 2000
"""Gates and measurements that are drawn."""


def drawings_of(compiled: Drawable, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
    """HTML of each circuit at each level, in order."""
    pictures = pictures_of(compiled, "all", tuple(args), dict(kwargs))
    return [_drawing(level, picture) for level, picture in pictures]


def _drawing(level: Level, picture: Picture) -> str:
    title = f"{picture.name}, level {level.number}: {level.name}"
    return f"<figure><figcaption>{escape(title)}</figcaption>{_drawn(picture)}</figure>"


def _drawn(picture: Picture) -> str:
    count = sum(1 for _ in leaves_of(picture.items))
    if count > _IN_A_TEXT:
        return f"<p>{count} operations, more than are drawn here: qml.draw draws them.</p>"
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
