"""Values of variables at the border of a region: what is traced of them, and what is not.

Control flow hands the values of variables in and out as arrays. A variable may hold anything:
`Split` takes its value apart into leaves that are arrays or numbers, which are traced, and the
rest (strings, functions, None, objects), which stays what it is. `joined` puts both together.

A variable that has a value on some paths only is a pair while the program runs: `MaybeDefined`,
a boolean and a value. Reading it is what Python makes an error of, so there the program checks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from malt.operators.variables import Undefined, UndefinedReturnValue

from diastase.autograph.staging.errors import UninitialisedError
from diastase.primitives.checks import require
from diastase_mlir.diagnostics import user_span
from diastase_mlir.jax_compat import is_symbolic

_NUMBERS = (bool, int, float, complex, np.generic)


@dataclass(frozen=True)
class MaybeDefined:
    """A variable that has a value only if `is_defined`, which is traced."""

    name: str
    is_defined: Any
    value: Any

    def read(self) -> Any:
        """The value; where there is none, the program fails when it runs."""
        require(self.is_defined, f"the variable '{self.name}' is read before it has a value")
        return self.value


def plain(value: Any) -> Any:
    """The value of a variable that may have none, where it has one; any other as it is."""
    return value.value if isinstance(value, MaybeDefined) else value


def is_undefined(value: Any) -> bool:
    """Whether a variable has no value."""
    return isinstance(value, Undefined | UndefinedReturnValue)


def load(value: Any) -> Any:
    """Read a variable: `ag__.ld`."""
    if isinstance(value, MaybeDefined):
        return value.read()
    if isinstance(value, Undefined):
        raise UninitialisedError(variable=value.symbol_name, span=user_span())
    return value


def is_traced(value: Any) -> bool:
    """Whether a value is known only when the program runs."""
    return isinstance(value, Tracer) or is_symbolic(value)


def has_tracer(values: Any) -> bool:
    """Whether a value has a traced leaf."""
    return any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(values))


def is_array(leaf: Any) -> bool:
    """Whether a value can be one of a program: an array or a number."""
    if isinstance(leaf, (jax.Array, *_NUMBERS)) or is_symbolic(leaf):
        return not isinstance(leaf, np.generic) or leaf.dtype.kind in "biufc"
    return isinstance(leaf, np.ndarray) and leaf.dtype.kind in "biufc"


@dataclass(frozen=True)
class Split:
    """A value taken apart: `leaves` has None where a leaf is traced, which stands in `arrays`."""

    tree: Any
    leaves: tuple[Any, ...]
    arrays: tuple[Any, ...]

    @classmethod
    def of(cls, value: Any) -> "Split":
        """Take a value apart."""
        if is_undefined(value):
            return cls(None, (value,), ())
        leaves, tree = jax.tree.flatten(value)
        arrays = tuple(leaf for leaf in leaves if is_array(leaf))
        return cls(tree, tuple(None if is_array(leaf) else leaf for leaf in leaves), arrays)

    def joined(self, arrays: Sequence[Any]) -> Any:
        """The value with these arrays in the place of its own."""
        if self.tree is None:
            return self.leaves[0]
        values = iter(arrays)
        leaves = [next(values) if leaf is None else leaf for leaf in self.leaves]
        return jax.tree.unflatten(self.tree, leaves)

    def types(self) -> "Split":
        """The same with types for arrays."""
        return replace(self, arrays=tuple(jax.typeof(jnp.asarray(array)) for array in self.arrays))

    def fits(self, other: "Split") -> bool:
        """Whether both have one structure, and the same in it where it is no array."""
        return self.tree == other.tree and all(map(same, self.leaves, other.leaves))


def same(first: Any, other: Any) -> bool:
    """Whether two values that are no arrays are interchangeable."""
    if first is other or (is_undefined(first) and is_undefined(other)):
        return True
    return type(first) is type(other) and isinstance(first, str | bytes) and first == other


def same_number(first: Any, other: Any) -> bool:
    """Whether two leaves are one Python number, known while tracing."""
    if first is other:
        return True
    if type(first) is not type(other) or not isinstance(first, bool | int | float):
        return False
    return first == other and (first != 0 or str(first) == str(other))


def placeholder(aval: Any) -> Any:
    """A value of a type, for where a variable has none."""
    zeros = jnp.zeros(aval.shape, aval.dtype)
    return aval.dtype.type(0).item() if aval.weak_type and aval.shape == () else zeros


def copied(value: Any) -> Any:
    """A value whose lists and dictionaries are new: what changes them does not change these."""
    if type(value) is list or type(value) is tuple:
        return type(value)(map(copied, value))
    if type(value) is dict:
        return {key: copied(part) for key, part in value.items()}
    return value


@dataclass(frozen=True)
class Variables:
    """The variables that a statement changes, as the converted function gives access to them."""

    names: tuple[str, ...]
    get: Callable[[], tuple[Any, ...]]
    set: FunctionType


class NeedsPair(Exception):
    """A variable has a value on some paths only: what was traced is given up, and traced again."""

    def __init__(self, position: int, types: Split) -> None:
        super().__init__(position)
        self.position, self.types = position, types


Pairs = dict[int, Split]
"""Which variables, by position, are `MaybeDefined`, and what types they have where they are."""


def pairs_among(values: Sequence[Any]) -> Pairs:
    """The variables that are `MaybeDefined` before a statement."""
    return {
        position: Split.of(value.value).types()
        for position, value in enumerate(values)
        if isinstance(value, MaybeDefined)
    }


def packed(value: Any, types: Split | None) -> Any:
    """The arrays of a variable; with `types`, of one that may have no value, those of the pair."""
    if types is None:
        return Split.of(value).arrays
    if is_undefined(value):
        return False, tuple(map(placeholder, types.arrays))
    if isinstance(value, MaybeDefined):
        return value.is_defined, Split.of(value.value).arrays
    return True, Split.of(value).arrays


def unpacked(name: str, like: Any, arrays: Any, types: Split | None) -> Any:
    """The value of a variable from its arrays; `like` has the structure of it."""
    if types is None:
        return Split.of(like).joined(arrays)
    return MaybeDefined(name, arrays[0], types.joined(arrays[1]))


def written_back(before: Any, after: Any) -> Any:
    """A list or dictionary that was changed in place: the same object, with other contents."""
    if type(before) is list:
        before[:] = after
    elif type(before) is dict:
        before.clear()
        before.update(after)
    else:
        return after
    return before
