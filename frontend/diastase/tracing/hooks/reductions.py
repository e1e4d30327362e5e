"""Reductions, of which some want at least one element."""

from collections.abc import Mapping
from typing import Any

from diastase.tracing.dimensions import DimensionTable
from diastase.tracing.hooks.overlay import Original, Overlay
from diastase_mlir.jax_internals import HookPoint, deciding


def _reduction(table: DimensionTable, original: Original, *args: Any, **keywords: Any) -> Any:
    """`max` and others without a neutral element want at least one element: checked at run time."""
    with deciding(table.demand):
        return original(*args, **keywords)


OVERLAYS: Mapping[HookPoint, Overlay] = {
    "reduction": _reduction,
}
