"""`qml.draw` and `qml.draw_mpl` of compiled functions, and PennyLane's styles."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from diastase.capture.pennylane_compat.private import PENNYLANE

Drawing = Callable[..., Callable[..., Any]]
"""`draw(original, compiled, **options)`, where `original` is PennyLane's function."""

_style = PENNYLANE.module("pennylane.drawer.style")


def draw_compiled(kind: type, draw: Drawing, draw_mpl: Drawing) -> None:
    """Let functions of this class be drawn by these functions; called once."""

    def taken_over(drawing: Drawing, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def drawn(qnode: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(qnode, kind):
                return drawing(original, qnode, *args, **kwargs)
            return original(qnode, *args, **kwargs)

        return drawn

    PENNYLANE.patch("draw", partial(taken_over, draw))
    PENNYLANE.patch("draw_mpl", partial(taken_over, draw_mpl))


def set_style(name: str | None) -> None:
    """Change matplotlib's settings to a style of PennyLane's; None: to the one in use."""
    _style._set_style(name)
