"""Forward derivatives: a batch of directions at one point is one evaluation of the function."""

from collections.abc import Callable
from typing import Any

import jax

from diastase.capture.jax_overlays.overlay import Original, Overlays
from diastase.dynamic_shapes.dimensions import DimensionTable
from diastase_mlir.jax_compat import along_directions


def _jvp(
    _: DimensionTable,
    original: Original,
    function: Callable[..., Any],
    primals: Any,
    tangents: Any,
    has_aux: bool = False,
) -> Any:
    with along_directions(jax.tree.leaves(primals), jax.tree.leaves(tangents)):
        return original(function, primals, tangents, has_aux)


OVERLAYS: Overlays = {"jvp": _jvp}
