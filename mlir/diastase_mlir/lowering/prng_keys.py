"""Arrays of PRNG keys, where they are only rearranged: as the arrays of words that stand for them.

A key is represented by an axis of words behind all others. JAX's rules add it for known sizes only;
here the equation itself is rewritten, so that the rules for arrays do the rest, for all sizes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from diastase_mlir import jax_compat
from diastase_mlir.lowering.core.registry import Equation

Params = Mapping[str, Any]
Words = Sequence[int]


def _slice(equation: Equation, words: Words) -> Params:
    params = equation.params
    strides = params["strides"]
    return {
        "start_indices": (*params["start_indices"], *(0 for _ in words)),
        "limit_indices": (*params["limit_indices"], *words),
        "strides": None if strides is None else (*strides, *(1 for _ in words)),
    }


def _broadcast(equation: Equation, words: Words) -> Params:
    params = equation.params
    last = _behind(len(params["shape"]), words)
    return {
        "shape": (*params["shape"], *words),
        "broadcast_dimensions": (*params["broadcast_dimensions"], *last),
    }


def _reshape(equation: Equation, words: Words) -> Params:
    params = equation.params
    order = params["dimensions"]
    last = _behind(len(equation.avals_in[0].shape), words)
    return {
        "new_sizes": (*params["new_sizes"], *words),
        "dimensions": None if order is None else (*order, *last),
    }


def _transpose(equation: Equation, words: Words) -> Params:
    order = equation.params["permutation"]
    return {"permutation": (*order, *_behind(len(order), words))}


def _gather(equation: Equation, words: Words) -> Params:
    numbers = equation.params["dimension_numbers"]
    last = _behind(len(equation.avals_out[0].shape), words)
    return {
        "dimension_numbers": numbers._replace(offset_dims=(*numbers.offset_dims, *last)),
        "slice_sizes": (*equation.params["slice_sizes"], *words),
    }


def _behind(rank: int, words: Words) -> range:
    """The axes of the words, behind so many others."""
    return range(rank, rank + len(words))


def _unchanged(_equation: Equation, _words: Words) -> Params:
    return {}


_MOVES: Mapping[str, Callable[[Equation, Words], Params]] = {
    "slice": _slice,
    "gather": _gather,
    "transpose": _transpose,
    "broadcast_in_dim": _broadcast,
    "reshape": _reshape,
    "squeeze": _unchanged,
    "rev": _unchanged,
    "stack": _unchanged,
    "unstack": _unchanged,
    "concatenate": _unchanged,
}
"""Which parameters change, and to what, by the sizes of the words' axes."""


def on_words(equation: Equation) -> Equation | None:
    """The same for the words of the keys, or None for anything but a rearrangement of keys."""
    change = _MOVES.get(equation.primitive.name)
    if change is None or not equation.avals_out or not equation.avals_in:
        return None
    result, operand = equation.avals_out[0], equation.avals_in[0]
    if not hasattr(operand, "dtype"):
        return None
    if not (jax_compat.is_extended(operand.dtype) and jax_compat.is_extended(result.dtype)):
        return None
    words = jax_compat.physical_aval(operand).shape[len(operand.shape) :]
    return replace(
        equation,
        avals_in=tuple(map(jax_compat.physical_aval, equation.avals_in)),
        avals_out=tuple(map(jax_compat.physical_aval, equation.avals_out)),
        params={**equation.params, **change(equation, words)},
    )
