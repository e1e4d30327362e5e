"""Where JAX asks for a size and would refuse a traced integer: our answers, as a table.

Each overlay replaces one function inside JAX (`OVERLAID` in `jax_compat.patches`). It is called
with the trace's dimension table, JAX's own function and the arguments (its parameters stand in
JAX's order and may have other names), and only in a thread that is inside our tracing; everywhere
else JAX's own function runs, unchanged.

The trap: JAX compares sizes with `==`, which is False (not an error) where it cannot be decided.
Functions that treat size 1 specially must therefore be overlaid, or refuse: `squeeze`, `linspace`.

To add an overlay: a function and a line in the table `OVERLAYS` of its topic's module, an entry of
`OVERLAID` (`diastase_mlir/jax_compat/patches.py`); for a new topic, a module and a line in
`_TOPICS`. Two topics must not replace the same function.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from diastase.capture.context import current_context
from diastase.capture.jax_overlays import (
    control_flow,
    creation,
    data_dependent,
    index_functions,
    indexing,
    linear_algebra,
    masks,
    reductions,
    scalar_operators,
    sets,
    shapes,
    sizes,
)
from diastase.capture.jax_overlays.overlay import Original, Overlay, Overlays
from diastase_mlir.jax_compat import patch

_TOPICS = (
    control_flow,
    creation,
    data_dependent,
    index_functions,
    indexing,
    linear_algebra,
    masks,
    reductions,
    scalar_operators,
    sets,
    shapes,
    sizes,
)

OVERLAYS: Overlays = {
    point: overlay for topic in _TOPICS for point, overlay in topic.OVERLAYS.items()
}
"""What replaces each function of JAX while we are tracing."""


def install_overlays() -> None:
    """Put the overlays in place, for good; `trace` does it once."""
    for point, overlay in OVERLAYS.items():
        patch(point, functools.partial(_guarded, overlay))


def _guarded(overlay: Overlay, original: Original) -> Original:
    """JAX's function outside of our tracing, the overlay inside."""

    @functools.wraps(original)
    def guarded(*args: Any, **keywords: Any) -> Any:
        context = current_context()
        if context is None:
            return original(*args, **keywords)
        if keywords:
            names = _own_names(overlay, original)
            keywords = {names.get(name, name): value for name, value in keywords.items()}
        return overlay(context.dimensions, original, *args, **keywords)

    return guarded


@functools.cache  # not when we are imported: reading all signatures takes 7 ms
def _own_names(overlay: Overlay, original: Original) -> dict[str, str]:
    """What the overlay calls JAX's parameters, which stand in the same order, where it differs."""
    try:
        theirs = _positional(original)
    except ValueError:  # built-in functions like `max`, which are called by position only
        return {}
    return dict(zip(theirs, _positional(overlay)[2:], strict=False))


def _positional(function: Callable[..., Any]) -> list[str]:
    """The names of the parameters that may be given by position."""
    parameters = inspect.signature(function).parameters.values()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [parameter.name for parameter in parameters if parameter.kind in kinds]
