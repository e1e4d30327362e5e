"""Types of 64 bits, where the user has JAX make arrays of 32 bits only (`jax_enable_x64` is off).

The engine takes numbers as float64 and positions as int64, whatever the user's arrays are. So what
we record for circuits and their derivatives is recorded `in_64_bits`; the user's own functions run
`as_set_by_user`; and what a QNode gives is `narrowed` at its end, to what JAX would give.

With 64 bits, the default here, all of these do nothing.
"""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import jax

P = ParamSpec("P")
R = TypeVar("R")

_NARROW = {
    "float64": "float32",
    "complex128": "complex64",
    "int64": "int32",
    "uint64": "uint32",
}


class _Setting(threading.local):
    widened = False
    """Whether we have widened what the user has set narrow."""


_setting = _Setting()
_UNCHANGED = nullcontext()


class _Bits:
    """64 bits inside, or 32 again."""

    def __init__(self, widened: bool) -> None:
        self._widened = widened
        self._enabling: Any = jax.enable_x64(widened)

    def __enter__(self) -> None:
        self._outer, _setting.widened = _setting.widened, self._widened
        self._enabling.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._enabling.__exit__(*error)
        _setting.widened = self._outer


def is_narrow() -> bool:
    """Whether the user has arrays of 32 bits."""
    return _setting.widened or not jax.config.jax_enable_x64  # type: ignore[attr-defined]


def in_64_bits() -> AbstractContextManager[None]:
    """Inside, arrays have the types that they are asked to have."""
    return _UNCHANGED if jax.config.jax_enable_x64 else _Bits(True)  # type: ignore[attr-defined]


def as_set_by_user() -> AbstractContextManager[None]:
    """Inside, as it was outside of all of ours."""
    return _Bits(False) if _setting.widened else _UNCHANGED


def runs_in_64_bits(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function of ours: all of it records `in_64_bits`."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with in_64_bits():
            return function(*args, **kwargs)

    return run


def narrowed(values: Any) -> Any:
    """Values in a pytree with the types that the user has: of 32 bits, where these are set."""
    return jax.tree.map(_narrowed, values) if is_narrow() else values


def _narrowed(value: Any) -> Any:
    dtype = getattr(value, "dtype", None)
    narrow = _NARROW.get(getattr(dtype, "name", ""))
    return value if narrow is None else value.astype(narrow)
