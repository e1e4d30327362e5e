"""Arguments that are arrays of other packages (DLPack) as arrays of ours, on the same memory."""

import sys
from collections.abc import Sequence
from typing import Any

import jax

from diastase_runtime.arrays import dlpack


def are_foreign(leaves: Sequence[Any]) -> bool:
    """Whether one of them is an array of another package, which has no types of JAX's."""
    return any(map(is_foreign, leaves))


def is_foreign(leaf: Any) -> bool:
    """Whether it is one."""
    return dlpack.is_exchanged(leaf) and not isinstance(leaf, jax.Array)


def is_tensor(leaf: Any) -> bool:
    """Whether it is one of PyTorch's, which is imported then."""
    kind = getattr(sys.modules.get("torch"), "Tensor", None)
    return kind is not None and isinstance(leaf, kind)


def shared(leaf: Any) -> Any:
    """An array on the memory of a foreign one; itself where there can be none, or it is ours."""
    if not is_foreign(leaf):
        return leaf
    try:
        return _view(leaf)
    except dlpack.NotSharedError:
        return leaf


def why_not_shared(leaf: Any) -> str:
    """The reason that there can be no array on the memory of a foreign one."""
    try:
        _view(leaf)
    except dlpack.NotSharedError as error:
        return error.reason
    return ""


def _view(leaf: Any) -> Any:
    if is_tensor(leaf):
        leaf = leaf.detach().resolve_conj().resolve_neg()
    try:
        return dlpack.view(leaf)
    except dlpack.NotSharedError:
        if not str(getattr(leaf, "dtype", "")).endswith("bfloat16"):
            raise
    return jax.dlpack.from_dlpack(leaf)  # NumPy knows no bfloat16
