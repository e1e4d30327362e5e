"""What equations of JAX's compute, by NumPy: what circuits compute their angles and wires with.

JAX evaluates those that are not in the table: each of a new kind is a program for XLA. A primitive
of ours that has no rule (`rules`), a callback, and sizes that are not known, cannot be evaluated.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.special

from diastase_mlir.jax_compat import eager

Function = Callable[..., Any]


class Skip(Exception):
    """Why something cannot be checked."""


def _divided(x: Any, y: Any) -> Any:
    if np.issubdtype(x.dtype, np.integer):
        return np.where(y == 0, -1, np.trunc(x / np.where(y == 0, 1, y))).astype(x.dtype)
    return np.divide(x, y)


def _remainder(x: Any, y: Any) -> Any:
    if np.issubdtype(x.dtype, np.integer):
        return np.where(y == 0, x, np.fmod(x, np.where(y == 0, 1, y)))
    return np.fmod(x, y)


def _converted(x: Any, *, new_dtype: Any, **_: Any) -> Any:
    to_real = np.iscomplexobj(x) and not np.issubdtype(new_dtype, np.complexfloating)
    return np.asarray(np.real(x) if to_real else x).astype(new_dtype)


def _broadcast(x: Any, *, shape: Any, broadcast_dimensions: Any, **_: Any) -> Any:
    inner = [1] * len(shape)
    for axis, place in enumerate(broadcast_dimensions):
        inner[place] = x.shape[axis]
    return np.broadcast_to(x.reshape(inner), shape)


def _slice(x: Any, *, start_indices: Any, limit_indices: Any, strides: Any) -> Any:
    strides = strides or (1,) * x.ndim
    return x[tuple(map(slice, start_indices, limit_indices, strides))]


def _dynamic_slice(x: Any, *starts: Any, slice_sizes: Any) -> Any:
    found = _starts(x, starts, slice_sizes)
    return x[tuple(slice(s, s + size) for s, size in zip(found, slice_sizes, strict=True))]


def _dynamic_update(x: Any, update: Any, *starts: Any) -> Any:
    result = np.array(x)
    found = _starts(x, starts, update.shape)
    result[tuple(slice(s, s + n) for s, n in zip(found, update.shape, strict=True))] = update
    return result


def _starts(x: Any, starts: Sequence[Any], sizes: Sequence[int]) -> list[int]:
    limits = [whole - size for whole, size in zip(x.shape, sizes, strict=True)]
    return [min(max(int(s), 0), limit) for s, limit in zip(starts, limits, strict=True)]


def _selected(which: Any, *cases: Any) -> Any:
    return np.choose(np.broadcast_to(which, cases[0].shape).astype(int), cases)


def _gather(
    x: Any, indices: Any, *, dimension_numbers: Any, slice_sizes: Any, mode: Any = None,
    fill_value: Any = None, **_: Any,
) -> Any:  # fmt: skip
    """A window for each index vector, by XLA's definition."""
    numbers = dimension_numbers
    batch, limits = indices.shape[:-1], np.subtract(x.shape, slice_sizes)
    gone = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    kept = [size for axis, size in enumerate(slice_sizes) if axis not in gone]
    found = np.empty((*batch, *kept), x.dtype)
    for place in np.ndindex(*batch):
        start = np.zeros(x.ndim, np.int64)
        start[list(numbers.start_index_map)] = indices[place]
        for axis, of in zip(
            numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True
        ):
            start[axis] = place[of]
        inside = bool(np.all((start >= 0) & (start <= limits)))
        if not inside and "FILL" in str(mode).upper():
            found[place] = _missing(x.dtype) if fill_value is None else fill_value
            continue
        start = np.clip(start, 0, limits)
        window = tuple(slice(s, s + size) for s, size in zip(start, slice_sizes, strict=True))
        found[place] = x[window].squeeze(gone)
    return np.moveaxis(found, range(len(batch), found.ndim), numbers.offset_dims)


def _missing(dtype: Any) -> Any:
    """What is outside of an array."""
    if np.issubdtype(dtype, np.inexact):
        return np.nan
    return np.iinfo(dtype).min if np.issubdtype(dtype, np.signedinteger) else True


def _product(x: Any, y: Any, *, dimension_numbers: Any, **_: Any) -> Any:
    (contracted, _also), (batch, batch_of_y) = dimension_numbers
    names = iter(range(52))
    of_x = [next(names) for _ in x.shape]
    of_y = [next(names) for _ in y.shape]
    for one, other in zip((*contracted, *batch), (*_also, *batch_of_y), strict=True):
        of_y[other] = of_x[one]
    front = [of_x[axis] for axis in batch]
    rest = [n for axis, n in enumerate(of_x) if axis not in (*contracted, *batch)]
    rest += [n for axis, n in enumerate(of_y) if axis not in (*_also, *batch_of_y)]
    return np.einsum(x, of_x, y, of_y, [*front, *rest])


def _iota(*, dtype: Any, shape: Any, dimension: int, **_: Any) -> Any:
    sizes = [1] * len(shape)
    sizes[dimension] = -1
    return np.broadcast_to(np.arange(shape[dimension], dtype=dtype).reshape(sizes), shape)


def _inverted(x: Any) -> Any:
    return np.logical_not(x) if x.dtype == bool else np.invert(x)


def _plain(function: Callable[..., Any]) -> Function:
    """A function of operands alone; parameters say how XLA is to compute it."""
    return lambda *operands, **_: function(*operands)


def _over_axes(function: Callable[..., Any]) -> Function:
    return lambda x, *, axes, **_: function(x, axis=tuple(axes))


FUNCTIONS: Mapping[str, Function] = {
    **{name: _plain(getattr(np, function)) for name, function in {
        "neg": "negative", "sin": "sin", "cos": "cos", "tan": "tan", "exp": "exp", "log": "log",
        "log1p": "log1p", "expm1": "expm1", "sqrt": "sqrt", "cbrt": "cbrt", "tanh": "tanh",
        "sinh": "sinh", "cosh": "cosh", "asin": "arcsin", "acos": "arccos", "atan": "arctan",
        "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "atan2": "arctan2",
        "abs": "abs", "sign": "sign", "floor": "floor", "ceil": "ceil", "square": "square",
        "real": "real", "imag": "imag", "conj": "conjugate", "max": "maximum", "min": "minimum",
        "pow": "power", "exp2": "exp2", "eq": "equal", "ne": "not_equal", "lt": "less",
        "le": "less_equal", "gt": "greater", "ge": "greater_equal", "and": "bitwise_and",
        "or": "bitwise_or", "xor": "bitwise_xor", "is_finite": "isfinite", "add": "add",
        "add_any": "add", "sub": "subtract", "mul": "multiply",
    }.items()},
    "div": _plain(_divided), "rem": _plain(_remainder), "not": _plain(_inverted),
    "rsqrt": _plain(lambda x: 1 / np.sqrt(x)), "erf": _plain(scipy.special.erf),
    "logistic": _plain(scipy.special.expit), "complex": _plain(lambda x, y: x + 1j * y),
    "integer_pow": lambda x, *, y: np.power(x, y) if y >= 0 else 1 / np.power(x, -y),
    "copy": _plain(lambda x: x), "copy_p": _plain(lambda x: x),
    "optimization_barrier": _plain(lambda *x: list(x)),
    "convert_element_type": _converted, "broadcast_in_dim": _broadcast, "slice": _slice,
    "dynamic_slice": _dynamic_slice, "dynamic_update_slice": _plain(_dynamic_update),
    "select_n": _plain(_selected), "gather": _gather, "dot_general": _product, "iota": _iota,
    "reshape": lambda x, *, new_sizes, **_: x.reshape(new_sizes),
    "squeeze": lambda x, *, dimensions: x.squeeze(tuple(dimensions)),
    "expand_dims": lambda x, *, dimensions: np.expand_dims(x, tuple(dimensions)),
    "transpose": lambda x, *, permutation: x.transpose(permutation),
    "concatenate": lambda *parts, dimension: np.concatenate(parts, dimension),
    "stack": lambda *parts, axis=0, **_: np.stack(parts, axis),
    "rev": lambda x, *, dimensions: np.flip(x, dimensions),
    "clamp": _plain(lambda low, x, high: np.clip(x, low, high)),
    "reduce_sum": _over_axes(np.sum), "reduce_prod": _over_axes(np.prod),
    "reduce_max": _over_axes(np.max), "reduce_min": _over_axes(np.min),
    "reduce_and": _over_axes(np.all), "reduce_or": _over_axes(np.any),
    "cumsum": lambda x, *, axis, reverse: np.flip(np.cumsum(np.flip(x, axis), axis), axis)
    if reverse else np.cumsum(x, axis),
}  # fmt: skip
"""By the names of primitives."""


def evaluated(equation: Any, operands: list[Any]) -> Sequence[Any]:
    """What a classical equation gives."""
    name, params = equation.primitive.name, equation.params
    if "callback" in name or "debug" in name:
        return _called(params.get("callback"), operands)
    for variable in equation.outvars:
        shape = getattr(variable.aval, "shape", ())
        if not all(type(size) is int for size in shape):
            raise Skip("dynamic sizes")
    if name in FUNCTIONS:
        found = FUNCTIONS[name](*operands, **params)
        results = found if equation.primitive.multiple_results else [found]
        return [
            np.asarray(result, variable.aval.dtype)
            for result, variable in zip(results, equation.outvars, strict=True)
        ]
    if equation.primitive.__module__.startswith("diastase"):
        raise Skip(f"primitive {name}")
    return _by_jax(equation, operands)


def _called(callback: Any, operands: list[Any]) -> Sequence[Any]:
    """What the product's own function gives; what users' functions do is not done again."""
    inner = function = getattr(callback, "callback_func", None)
    while isinstance(inner, partial):
        inner = inner.func
    if function is None or not inner.__module__.startswith("diastase.quantum.passes"):
        raise Skip("callback")
    return list(function(*operands))


def _by_jax(equation: Any, operands: list[Any]) -> Sequence[Any]:
    try:
        with eager():
            found = equation.primitive.bind(*operands, **equation.params)
    except Exception as error:
        raise Skip(f"primitive {equation.primitive.name}: {type(error).__name__}") from error
    found = found if equation.primitive.multiple_results else [found]
    return [one if _is_key(one) else np.asarray(one) for one in found]


def _is_key(value: Any) -> bool:
    return "key" in str(getattr(value, "dtype", ""))
