"""`x[i] = v` and `x[i] += v`."""

import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from diastase.autograph.staging.errors import FreeArrayError
from diastase.autograph.staging.variables import has_tracer, is_array
from diastase_mlir.diagnostics import user_span

_IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.iadd, "Sub": operator.isub, "Mult": operator.imul, "Div": operator.itruediv,
    "FloorDiv": operator.ifloordiv, "Mod": operator.imod, "Pow": operator.ipow,
    "MatMult": operator.imatmul, "BitAnd": operator.iand, "BitOr": operator.ior,
    "BitXor": operator.ixor, "LShift": operator.ilshift, "RShift": operator.irshift,
}  # fmt: skip


def set_item(base: Any, path: tuple[Any, ...], value: Any, in_place: bool = False) -> Any:
    """`base[i][j] = value`: `base` with the value in it, a new one if it is an array of JAX."""
    return _changed(base, path, lambda _: value, in_place)


def update_item(
    base: Any, path: tuple[Any, ...], name: str, value: Any, in_place: bool = False
) -> Any:
    """`base[i][j] += value` and the like."""
    return _changed(base, path, lambda item: _IN_PLACE[name](item(), value), in_place)


def _changed(
    base: Any, path: tuple[Any, ...], new: Callable[[Callable[[], Any]], Any], in_place: bool
) -> Any:
    key, *rest = path
    if rest:
        inner = base[key]
        value = _changed(inner, tuple(rest), new, False)
        if value is inner:
            return base
    else:
        value = new(lambda: base[key])
    if isinstance(base, np.ndarray) and is_array(base) and has_tracer((key, value)):
        base = jnp.asarray(base)
    if not isinstance(base, jax.Array):
        base[key] = value
        return base
    if in_place:
        raise FreeArrayError(span=user_span())
    return base.at[key].set(value)
