"""Types of an explicit jaxpr: of variables, and of whole input and output lists.

A variable's type (`ExplicitType`) refers to sizes by variable: `f64[a]`. An *input type* or *output
type* carries types from one scope to another, so sizes there are positions: `DBIdx(k)` is the k-th
input of an input type; in an output type `InDBIdx(k)` is the k-th input and `OutDBIdx(k)` the k-th
output. Beside each type stands whether it is *explicit*: written in the user's Python function
(True), or put in because it is the size of another, or captured (False). JAX uses the flag in this
sense; the text that these words come from does so once, and the other way round elsewhere.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Union

import jax.numpy as jnp
from jax.core import ShapedArray

Size = Union[int, "Atom"]


@dataclass(frozen=True, eq=False)
class ExplicitType:
    """The type of a variable."""

    aval: Any
    """JAX's abstract value, for everything but the sizes."""
    shape: tuple[Size, ...] | None
    """Sizes of the axes; None for what is no array."""

    def __str__(self) -> str:
        """The type with `?` for sizes that are variables, which have no names here."""
        return self.text(lambda _: "?")

    def text(self, name: Callable[["Atom"], str]) -> str:
        """The type as printed, where `name(variable)` gives the name of a size."""
        short = self.aval.str_short(short_dtypes=True)
        known = (*(self.shape or ()), *getattr(self.aval, "shape", ()))
        if all(isinstance(size, int) for size in known):
            return short
        sizes = (str(size) if isinstance(size, int) else name(size) for size in self.shape or ())
        return f"{short[: short.index('[')]}[{','.join(sizes)}]"


@dataclass(frozen=True, eq=False)
class ExplicitVariable:
    """A value of the program."""

    type: ExplicitType


@dataclass(frozen=True, eq=False)
class ExplicitLiteral:
    """A number written out."""

    value: Any
    type: ExplicitType


Atom = ExplicitVariable | ExplicitLiteral


def size_type() -> ExplicitType:
    """The type of a variable that holds a size."""
    return ExplicitType(ShapedArray((), jnp.result_type(int)), ())


def size_atom(size: Size) -> Atom:
    """A size as an operand: a number becomes a literal."""
    return ExplicitLiteral(size, size_type()) if isinstance(size, int) else size


def size_of(atom: Atom) -> Size:
    """An operand as a size: the literal of an integer becomes a number."""
    if isinstance(atom, ExplicitLiteral) and jnp.issubdtype(atom.type.aval.dtype, jnp.integer):
        return int(atom.value)
    return atom


def array_type(shape: tuple[Size, ...], dtype: Any, weak_type: bool = False) -> ExplicitType:
    """The type of an array over these sizes."""
    known = tuple(size if isinstance(size, int) else 1 for size in shape)
    return ExplicitType(ShapedArray(known, dtype, weak_type=weak_type), shape)


# --- types of input and output lists -------------------------------------------------------------


@dataclass(frozen=True)
class DBIdx:
    """In an input type: the size that is the input at this position."""

    val: int


@dataclass(frozen=True)
class InDBIdx:
    """In an output type: the size that is the *input* at this position."""

    val: int


@dataclass(frozen=True)
class OutDBIdx:
    """In an output type: the size that is the *output* at this position."""

    val: int


@dataclass(frozen=True)
class DShapedArray:
    """An array type whose sizes are numbers, or positions in the list of types it stands in."""

    shape: tuple[int | DBIdx | InDBIdx | OutDBIdx, ...]
    dtype: Any
    weak_type: bool = False

    def __str__(self) -> str:
        """Print as in `f64[DBIdx(0),3]`."""
        short = ShapedArray((), self.dtype).str_short(short_dtypes=True).removesuffix("[]")
        return f"{short}[{','.join(map(_index_text, self.shape))}]"


def _index_text(size: int | DBIdx | InDBIdx | OutDBIdx) -> str:
    return str(size) if isinstance(size, int) else f"{type(size).__name__}({size.val})"


InputType = tuple[tuple[Any, bool], ...]
"""`(DShapedArray, is_explicit)` for each input; other than arrays, JAX's abstract value."""
OutputType = tuple[tuple[Any, bool], ...]
"""`(DShapedArray, is_explicit)` for each output; other than arrays, JAX's abstract value."""


class Defect(Exception):
    """A violation of the typing rules, found where names are not known yet.

    `template` has a `{}` for each of `items`: atoms, types, equations.
    """

    def __init__(self, template: str, *items: Any):
        super().__init__(template)
        self._template, self._items = template, items
        self.place: Any = None
        self.path: tuple[str, ...] = ()

    def replace_items(self, originals: Mapping[Any, Any]) -> None:
        """Name these instead of what stands for them."""
        self._items = tuple(
            item if isinstance(item, ExplicitType) else originals.get(item, item)
            for item in self._items
        )

    def text(self, names: Any) -> str:
        """The defect in words, with names as in the printed jaxpr."""
        texts = [
            names.type(item) if isinstance(item, ExplicitType) else names.of(item)
            for item in self._items
        ]
        return self._template.format(*texts)
