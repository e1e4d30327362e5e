"""Random keys and numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

from diastase.tracing.dimensions import DimensionTable, is_size_like
from diastase.tracing.hooks.overlay import Original, Overlay
from diastase_mlir.jax_internals import HookPoint


def _split(table: DimensionTable, original: Original, keys: Any, shape: Sequence[Any]) -> Any:
    """`jax.random.split(key, n)`, which takes its shape unseen."""
    return original(keys, shape=tuple(table.size(s) if is_size_like(s) else s for s in shape))


OVERLAYS: Mapping[HookPoint, Overlay] = {
    "split": _split,
}
