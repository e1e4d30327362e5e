"""Loops of `jax.lax`: a traced number of iterations."""

from collections.abc import Mapping, Sequence
from typing import Any

from diastase.errors import UnknownSizesDifferError
from diastase.tracing.dimensions import DimensionTable, is_size_like
from diastase.tracing.hooks.overlay import Original, Overlay
from diastase_mlir.jax_internals import HookPoint, is_symbolic


def _scan_length(
    table: DimensionTable,
    original: Original,
    values: Sequence[Any],
    avals: Sequence[Any],
    length: Any = None,
) -> Any:
    """`scan(length=n)`: a size like that of the arrays that it goes over, if there are any."""
    if not is_size_like(length) and not is_symbolic(length):
        return original(values, avals, length)
    size = table.size(length)
    if values:
        found = original(values, avals, None)
        if not found == size:
            what = f"scan over arrays of leading size {found}, with length={size}"
            raise UnknownSizesDifferError(what=what)
    return size


OVERLAYS: Mapping[HookPoint, Overlay] = {"scan_length": _scan_length}
