"""Scalars of a jaxpr that are computed alike: a form, and the numbers in which they differ.

`angles[3, 0, 1]` and `-2.0 * angles[5, 1, 0]` written out are equations of their own for every
angle. `Forms.of` sees through them: a scalar has a *form* (which elements of which arrays, by which
arithmetic, from which other values) and *columns* (positions in arrays, and literals, in the order
in which the form is read). Scalars of one form are computed by one loop over a table of their
columns (`scalar_tables`):

    d = slice[start_indices=(3, 0, 1)] a    e = squeeze d    form: element of a    columns: 3, 0, 1
    f = neg (element of a at (5, 1, 0))                      form: neg(element of a)        5, 1, 0

What is not understood is a variable of the form itself, so that only scalars with the same variable
in that place have that form. Everything here is pure; what is computed twice gives the same twice.
"""

from collections.abc import Generator, Hashable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

ARITHMETIC = frozenset(
    "abs add convert_element_type copy cos dim_as_value div eq exp ge gt integer_pow le lt max min "
    "mul ne neg pow select_n sign sin sqrt square sub".split()
)
"""Primitives on scalars without effects, that are cheap to compute where they are used."""

MOST_PARTS = 128
"""Equations and numbers of a form: it is a tree, so what is used twice counts, and costs, twice."""

DEEPEST = 100
"""Equations in a chain; longer ones are taken for variables from there on."""

Form = tuple[Any, ...]
"""A name, and what it is of: `("element", array)`, `("number", kind)`, `("variable", variable)`,
`("literal", identity)`, or a primitive's name, its parameters, the result's kind, its operands'
forms."""

_DTYPES = frozenset(map(np.dtype, "int8 int16 int32 int64 uint32 uint64 float32 float64".split()))


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar of the jaxpr, seen through."""

    form: Form
    columns: tuple[Any, ...]
    equations: tuple[int, ...]
    """Positions of the equations that compute it; those of its parts are among them."""
    parts: int
    needs: tuple[Any, ...]
    """Variables that stand in the form."""


@dataclass(frozen=True, slots=True)
class Element:
    """What a chain of slices reads: part of an array, as the array's positions."""

    root: Any
    start: tuple[int, ...]
    steps: tuple[int, ...]
    axes: tuple[int, ...]
    """The root's axes that are left, in order."""
    equations: tuple[int, ...]


class Forms:
    """The forms of the scalars of a jaxpr, given its equations."""

    def __init__(self, equations: Sequence[Any]):
        self.equations = equations
        self._producers = {
            equation.outvars[0]: position
            for position, equation in enumerate(equations)
            if len(equation.outvars) == 1 and not equation.effects
        }
        self._scalars: dict[Any, Scalar] = {}
        self._elements: dict[Any, Element] = {}
        self._depth = 0

    def of(self, variable: Any) -> Scalar:
        """The form of a scalar; always the same one, as other forms have it in them."""
        known = self._scalars.get(variable)
        if known is None:
            with self._deeper():
                known = self._element(variable) or self._computed(variable)
            self._scalars[variable] = known
        return known

    def part(self, atom: Any) -> Scalar:
        """The form of an operand: also a literal, one element computed by a slice, or an array."""
        if hasattr(atom, "val"):
            return _literal(atom)
        producer = self.producer(atom) if atom.aval.shape else None
        is_element = producer is not None and producer.primitive.name == "dynamic_slice"
        return self.of(atom) if is_element or not atom.aval.shape else _unknown(atom)

    def producer(self, variable: Any) -> Any:
        """The equation that computes a variable, if there is one here."""
        position = self._producers.get(variable)
        return None if position is None else self.equations[position]

    @contextmanager
    def _deeper(self) -> Generator[None]:
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def _element(self, variable: Any) -> Scalar | None:
        """An element of an array, at a position known now."""
        read = self._seen_through(variable)
        if read.root is variable or read.axes or read.root.aval.dtype not in _DTYPES:
            return None
        producer = self.producer(read.root)
        if producer is not None and _is_understood(producer):  # one element, at a computed place
            return None
        return Scalar(
            form=("element", read.root),
            columns=read.start,
            equations=read.equations,
            parts=1 + len(read.start),
            needs=(read.root,),
        )

    def _computed(self, variable: Any) -> Scalar:
        """By arithmetic on other scalars, or an element at a position so computed."""
        position = self._producers.get(variable)
        if (
            position is None
            or self._depth > DEEPEST
            or not _is_understood(self.equations[position])
        ):
            return _unknown(variable)
        equation = self.equations[position]
        parts = [self.part(atom) for atom in equation.invars]
        count = 1 + sum(part.parts for part in parts)
        params = _hashable(equation.params)
        if params is None or count > MOST_PARTS:
            return _unknown(variable)
        return Scalar(
            form=(equation.primitive.name, params, _kind(variable), *(p.form for p in parts)),
            columns=tuple(number for part in parts for number in part.columns),
            equations=(position, *(number for part in parts for number in part.equations)),
            parts=count,
            needs=tuple(needed for part in parts for needed in part.needs),
        )

    def _seen_through(self, variable: Any) -> Element:
        """What of which array a variable is."""
        known = self._elements.get(variable)
        if known is None:
            with self._deeper():
                known = self._elements[variable] = self._read(variable)
        return known

    def _read(self, variable: Any) -> Element:
        """Follow slices with known bounds, and axes of size 1 that are dropped."""
        position = self._producers.get(variable)
        if position is None or self._depth > DEEPEST or not _is_view(self.equations[position]):
            rank = len(getattr(variable.aval, "shape", ()))
            return Element(variable, (0,) * rank, (1,) * rank, tuple(range(rank)), ())
        equation = self.equations[position]
        read = self._seen_through(equation.invars[0])
        equations = (position, *read.equations)
        if equation.primitive.name == "slice":
            return _sliced(read, equation.params, equations)
        dropped = equation.params["dimensions"]
        kept = tuple(axis for number, axis in enumerate(read.axes) if number not in dropped)
        return Element(read.root, read.start, read.steps, kept, equations)


def _is_understood(equation: Any) -> bool:
    """Whether an equation is part of a form: it computes one number from what its operands are."""
    name = equation.primitive.name
    (result,) = equation.outvars
    if name == "dynamic_slice":
        slice_is_one = all(isinstance(size, int) and size == 1 for size in result.aval.shape)
        return slice_is_one and _is_number(result) and len(equation.invars) > 1
    if name == "squeeze":
        return not result.aval.shape and _is_number(result)
    return (
        name in ARITHMETIC
        and not result.aval.shape
        and all(not atom.aval.shape and _is_simple(atom) for atom in equation.invars)
        and _is_simple(result)
    )


def _is_number(atom: Any) -> bool:
    return getattr(atom.aval, "dtype", None) in _DTYPES


def _is_simple(atom: Any) -> bool:
    return _is_number(atom) or getattr(atom.aval, "dtype", None) == np.bool_


def _is_view(equation: Any) -> bool:
    """Whether an equation only reads some of its operand's elements, at positions known now."""
    name = equation.primitive.name
    if name not in ("slice", "squeeze") or hasattr(equation.invars[0], "val"):
        return False
    return all(isinstance(size, int) for size in equation.invars[0].aval.shape)


def _sliced(read: Element, params: Any, equations: tuple[int, ...]) -> Element:
    start, steps = list(read.start), list(read.steps)
    strides = params["strides"] or (1,) * len(read.axes)
    for axis, first, stride in zip(read.axes, params["start_indices"], strides, strict=True):
        start[axis] += first * steps[axis]
        steps[axis] *= stride
    return Element(read.root, tuple(start), tuple(steps), read.axes, equations)


def _unknown(atom: Any) -> Scalar:
    return Scalar(("variable", atom), (), (), 1, (atom,))


def _literal(atom: Any) -> Scalar:
    if atom.aval.shape or not _is_number(atom):
        return Scalar(("literal", id(atom)), (), (), 1, ())
    return Scalar(("number", _kind(atom)), (np.asarray(atom.val)[()],), (), 1, ())


def _kind(atom: Any) -> Hashable:
    return atom.aval.dtype, atom.aval.shape, getattr(atom.aval, "weak_type", False)


def _hashable(params: Any) -> Hashable | None:
    """The parameters of an equation, where they can be compared."""
    key = tuple(params.values())
    try:
        hash(key)
    except TypeError:
        return None
    return key
