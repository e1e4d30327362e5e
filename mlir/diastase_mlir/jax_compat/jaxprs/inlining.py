"""What is inlined: by lowering, primitives that merely call a jaxpr; by tracing, `jax.jit`.

Symbols that are defined inside of a jitted function must be known outside, as sizes of its results,
so it is traced inline in a thread that traces for us. JAX decides about that by global settings.
"""

# Private names are what this package is for.
# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import eval_context
from jax.extend.core import set_current_trace

from diastase_mlir.jax_compat.private import JAX, hijax, partial_eval, patch, pjit
from diastase_toolchain.errors import MissingNameError

CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "eval_jaxpr": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
    "checkpoint": "jaxpr",
    "remat2": "jaxpr",
    "composite": "jaxpr",
    "custom_lin": "call_jaxpr",
    "matrix_function": "jaxpr",
}
"""Primitives that call a jaxpr on their operands, and the parameter that holds it."""


class _Inlining(threading.local):
    active = False


_inlining = _Inlining()
_FEATURE = JAX.patches["calling"].feature


def _stage_inline(original: Callable[..., Any]) -> Callable[..., Any]:
    def stage(trace: Any, source_info: Any, *operands: Any, **params: Any) -> Any:
        if not _inlining.active:
            return original(trace, source_info, *operands, **params)
        with set_current_trace(trace):
            return hijax.call_hi_primitive_p.to_lojax(*operands, **params)

    return stage


_NOTHING_TRACED = SimpleNamespace(effects=(), consts=())


def _infer_unless_inlined(original: Callable[..., Any]) -> Callable[..., Any]:
    """What comes first when a jitted function is called, or asked for its shapes or stages."""

    def infer_params(function: Any, info: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
        caller = sys._getframe(1).f_code.co_name
        if _inlining.active and caller == "cache_miss":  # a call
            return info, ()
        return original(function, info, args, kwargs)

    return infer_params


def _run_or_inline(original: Callable[..., Any]) -> Callable[..., Any]:
    """What comes second; the parameters are those of `jax.jit` itself if it is to be inlined."""

    def run_jit(params: Any, flat: Any, function: Any, args: Any, kwargs: Any) -> Any:
        if not isinstance(params, pjit.PjitInfo):
            return original(params, flat, function, args, kwargs)
        positions = {p + len(args) if p < 0 else p for p in params.static_argnums}
        args = [arg if p in positions else as_arrays(arg) for p, arg in enumerate(args)]
        names = params.static_argnames
        kwargs = {name: arg if name in names else as_arrays(arg) for name, arg in kwargs.items()}
        return function(*args, **kwargs), (), None, (), _NOTHING_TRACED, None, None, ()

    return run_jit


if _FEATURE not in JAX.disabled:
    patch("calling", _run_or_inline)
if _FEATURE not in JAX.disabled:  # one half is of no use
    patch("staging", _infer_unless_inlined)
with suppress(MissingNameError):
    _rules = partial_eval.custom_staging_rules
    _rules[hijax.call_hi_primitive_p] = _stage_inline(_rules[hijax.call_hi_primitive_p])


def as_arrays(tree: Any) -> Any:
    """Numbers and NumPy arrays as arrays of JAX, which a function under `jax.jit` gets."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf) if _is_number(leaf) else leaf, tree)


def _is_number(leaf: Any) -> bool:
    return type(leaf) in (bool, int, float, complex) or isinstance(leaf, (np.ndarray, np.generic))


@contextmanager
def inline_jits() -> Generator[None]:
    """In this thread: functions under `jax.jit` are traced inline.

    Symbols that are defined inside must be known outside, as sizes of the results. The functions
    that JAX records as one equation, from 0.12 on `jnp.searchsorted` and others, are traced inline
    for the same reason. `jax.disable_jit` will not do: numbers would stay Python's, which divide
    and overflow in another way, and have no `astype`.
    """
    outer, _inlining.active = _inlining.active, True
    try:
        yield
    finally:
        _inlining.active = outer


@contextmanager
def computed_now() -> Generator[None]:
    """In this thread: primitives of known values are computed by JAX, which compiles each."""
    outer, _inlining.active = _inlining.active, False
    try:
        with eval_context():
            yield
    finally:
        _inlining.active = outer
