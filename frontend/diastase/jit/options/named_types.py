"""Types of arguments written as text: `"f64[n,2], i64"`, for programs that nobody has called.

In: what `save(path, types=…)` was given. Out: for each program the positional and named arguments,
as types (`ShapeDtypeStruct`), with one symbol for each name of a size.
"""

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

import jax

from diastase.jit.options.saving_errors import InvalidTypesError
from diastase_mlir.jax_compat import SizeScope

Types: TypeAlias = "str | tuple[Any, ...] | Mapping[str, Any] | list[Any]"
"""For one program a text, a tuple of arguments or a mapping of them by name; or a list of such."""

_TYPE = re.compile(r"\s*(\w+)\s*(?:\[([^\[\]]*)\])?\s*")
_BETWEEN = re.compile(r",(?![^\[]*\])")
"""A comma that is not within brackets."""

_SHORT = {
    "bf16": "bfloat16",
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"c{bits}": f"complex{bits}" for bits in (64, 128)},
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
}
_NAMES = {"bool", *_SHORT.values()}


def read_types(types: Any) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """The arguments of each program."""
    return [_arguments(one) for one in (types if isinstance(types, list) else [types])]


def _arguments(types: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    scope = SizeScope()

    def read(leaf: Any) -> Any:
        return _type(leaf, scope) if isinstance(leaf, str) else leaf

    if isinstance(types, str):
        parts = _BETWEEN.split(types) if types.strip() else []
        return tuple(map(read, parts)), {}
    if isinstance(types, Mapping):
        return (), {name: jax.tree.map(read, value) for name, value in types.items()}
    if isinstance(types, tuple):
        return jax.tree.map(read, types), {}
    problem = "is no text, no tuple, no dictionary and no list of such"
    raise InvalidTypesError(text=repr(types), problem=problem)


def _type(text: str, scope: SizeScope) -> jax.ShapeDtypeStruct:
    match = _TYPE.fullmatch(text)
    if match is None:
        raise InvalidTypesError(text=repr(text), problem="is no type")
    name, sizes = match.groups()
    dtype = _SHORT.get(name, name)
    if dtype not in _NAMES:
        raise InvalidTypesError(text=repr(text), problem=f"has no element type {name!r}")
    parts = sizes.split(",") if sizes and sizes.strip() else []
    shape = tuple(_size(part.strip(), text, scope) for part in parts)
    return jax.ShapeDtypeStruct(shape, jax.numpy.dtype(dtype))


def _size(part: str, text: str, scope: SizeScope) -> Any:
    if part.isascii() and part.isdigit() and len(part) < 19:
        return int(part)
    if part.isascii() and part.isidentifier():
        return scope.symbol(part)
    raise InvalidTypesError(text=repr(text), problem=f"has {part!r} for a size")
