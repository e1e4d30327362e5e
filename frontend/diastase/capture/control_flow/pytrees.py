"""Pytrees at the border of a region: leaves as traced values, each with a name for messages.

A leaf is named as the user would write it: `x`, `params['w']`, `state[1]`; results of branches
are `result`, `result[0]`.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from diastase.capture.control_flow.errors import NotAnArrayError
from diastase_mlir.diagnostics import user_span


@dataclass(frozen=True)
class Leaves:
    """A flattened pytree."""

    values: tuple[Any, ...]
    tree: Any
    names: tuple[str, ...]

    @property
    def avals(self) -> list[Any]:
        """Abstract values of the leaves, weak types included."""
        return [jax.typeof(value) for value in self.values]


def flatten(values: Any, construct: str, names: list[str] | tuple[str, ...] | str) -> Leaves:
    """Flatten a tuple of values with a name for each, or one value with one name."""
    pairs, tree = jax.tree_util.tree_flatten_with_path(values)
    paths = tuple(_name(path, names) for path, _ in pairs)
    leaves = [as_value(leaf, construct, name) for (_, leaf), name in zip(pairs, paths, strict=True)]
    return Leaves(tuple(leaves), tree, paths)


def _name(path: Sequence[Any], names: list[str] | tuple[str, ...] | str) -> str:
    if isinstance(names, str):
        return names + jax.tree_util.keystr(tuple(path))
    name: str = names[path[0].idx]
    return name + jax.tree_util.keystr(tuple(path[1:]))


def as_value(leaf: Any, construct: str, name: str) -> Any:
    """A leaf as something JAX computes with; Python numbers keep their weak type."""
    if isinstance(leaf, jax.Array):
        return leaf
    try:
        return jnp.asarray(leaf)
    except TypeError:
        found = f"{leaf!r} of type {type(leaf).__name__}"
        error = NotAnArrayError(construct=construct, leaf=name, found=found, span=user_span())
        raise error from None


def state_names(function: Callable[..., Any], skipped: int, count: int) -> list[str]:
    """Names of a body's parameters, after the first few; `state[k]` where there are none."""
    names = [f"state[{position}]" for position in range(count)]
    try:
        parameters = list(inspect.signature(function).parameters.values())[skipped:]
    except (TypeError, ValueError):
        return names
    named = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    for position, parameter in enumerate(parameters[:count]):
        if parameter.kind not in named:
            break
        names[position] = parameter.name
    return names


def type_name(aval: Any) -> str:
    """A type as jaxprs print it: `f64[3]`."""
    return aval.str_short(short_dtypes=True)


def structure_name(value: Any) -> str:
    """The structure of a value, or of a tree, with a star for each array: `(*, {'a': *})`."""
    tree = value if isinstance(value, jax.tree_util.PyTreeDef) else jax.tree.structure(value)
    return str(tree).removeprefix("PyTreeDef(").removesuffix(")")
