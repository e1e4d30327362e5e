"""Scalars of a jaxpr that are computed alike: a form, and the numbers in which they differ.

`angles[3, 0, 1]` and `-2.0 * angles[5, 1, 0]` written out are equations of their own for every
angle. `Forms.of` sees through them: a scalar has a *form* (which elements of which arrays, by which
arithmetic, from which other values) and *columns* (positions in arrays, and literals, in the order
in which the form is read). Scalars of one form are one vector (`vectors`):

    d = slice[start_indices=(3, 0, 1)] a    e = squeeze d    form: element of a    columns: 3, 0, 1
    f = neg (element of a at (5, 1, 0))                      form: neg(element of a)        5, 1, 0

An element of an array that is computed element by element is that arithmetic on elements, so that
`(angles[3] + 0.5)[0, 1]` is of the same form as `angles[3, 0, 1] + 0.5`, and no array is computed
of which only such elements are read. An array that others read too is computed anyway: its elements
are read from it.

What is not understood is a variable of the form itself, so that only scalars with the same variable
in that place have that form. Everything here is pure; what is computed twice gives the same twice.
"""

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diastase_mlir.rerolling.element_positions import (
    Part,
    Position,
    is_move,
    is_repeated,
    is_view,
    moved,
    repeated,
    viewed,
    whole,
)

ARITHMETIC = frozenset(
    "abs add complex conj convert_element_type copy cos dim_as_value div eq exp ge gt imag "
    "integer_pow le lt max min mul ne neg pow real select_n sign sin sqrt square sub".split()
)
"""Primitives without effects that are cheap to compute where a scalar is used."""

MOST_PARTS = 128
"""Equations and numbers of a form: it is a tree, so what is used twice counts, and costs, twice."""

DEEPEST = 100
"""Equations in a chain; longer ones are taken for variables from there on."""

Form = tuple[Any, ...]
"""A name, and what it is of: `("element", array)`, `("number", kind)`, `("variable", variable)`,
`("literal", identity)`, or a primitive's name, its parameters, the result's kind, its operands'
forms."""

_DTYPES = frozenset(map(np.dtype, "int8 int16 int32 int64 uint32 uint64 float32 float64".split()))

_COMPLEX = frozenset(map(np.dtype, "complex64 complex128".split()))
"""Of numbers inside of a form, computed of real ones: coefficients of exponents are such."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar of the jaxpr, seen through."""

    form: Form
    columns: tuple[Any, ...]
    parts: int
    needs: tuple[Any, ...]
    """Variables that stand in the form."""
    atom: Any
    """What it is, or the array that it is an element of."""
    equation: Any = None
    """That computes it from the operands."""
    operands: "tuple[Scalar, ...]" = ()
    is_element: bool = False

    @property
    def row(self) -> Hashable:
        """Its columns; equal to those of scalars that are equal bit by bit, if the form is."""
        return tuple(
            number if isinstance(number, int) else number.tobytes() for number in self.columns
        )

    @property
    def aval(self) -> Any:
        """The type of the scalar."""
        return self.atom.aval.update(shape=()) if self.is_element else self.atom.aval


class Forms:
    """The forms of the scalars of a jaxpr, given its equations and results.

    `joins`: positions of equations that put numbers together, of which forms are asked for.
    """

    def __init__(self, equations: Sequence[Any], results: Sequence[Any], joins: Iterable[int] = ()):
        self._producers = {
            equation.outvars[0]: equation
            for equation in equations
            if len(equation.outvars) == 1 and not equation.effects
        }
        self._computed_anyway = _read_by_others(equations, results, frozenset(joins))
        self._scalars: dict[Any, Scalar] = {}
        self._seen: dict[Any, Part] = {}

    def of(self, variable: Any) -> Scalar:
        """The form of a scalar; always the same one, as other forms have it in them."""
        return self._of(variable, DEEPEST)

    def of_joined(self, equation: Any, place: int) -> Scalar:
        """The form of a number that is put together with others."""
        operand = equation.invars[place]
        scalar = self._at_operands(equation, (place,), DEEPEST)
        return _unknown(operand) if scalar is None else scalar

    def _of(self, variable: Any, depth: int) -> Scalar:
        known = self._scalars.get(variable)
        if known is None:
            known = self._element(variable, depth) or self._computed(variable, depth)
            self._scalars[variable] = known
        return known

    def _element(self, variable: Any, depth: int) -> Scalar | None:
        """An element of an array, at a position known now."""
        part = self._seen_through(variable, depth)
        if part.root is variable or part.axes:
            return None
        return self._at(part.root, part.start, depth - 1)

    def _at(self, array: Any, position: Position, depth: int) -> Scalar | None:
        """The element of an array."""
        if hasattr(array, "val"):
            return _number(array, np.asarray(array.val)[position])
        part = self._seen_through(array, depth)
        root, start = part.root, part.at(position)
        equation = self._producers.get(root)
        if equation is not None:
            if _is_understood(equation):  # at a computed place
                return None
            is_seen_through = depth > 0 and root not in self._computed_anyway
            scalar = self._at_operands(equation, start, depth) if is_seen_through else None
            if scalar is not None:
                return scalar
        if root.aval.dtype not in _DTYPES or not root.aval.shape:
            return None
        return Scalar(
            form=("element", root),
            columns=start,
            parts=1 + len(start),
            needs=(root,),
            atom=root,
            is_element=True,
        )

    def _at_operands(self, equation: Any, position: Position, depth: int) -> Scalar | None:
        """An element of an array by elements of what it is computed from."""
        (array,) = equation.outvars
        if equation.primitive.name == "iota" and array.aval.dtype in _DTYPES:
            along = position[equation.params["dimension"]]
            return _number(array, np.asarray(along).astype(array.aval.dtype)[()])
        if is_move(equation):
            operand, place = moved(equation, position)
            if operand.aval.shape:
                return self._at(operand, place, depth - 1)
            return self._part(operand, depth - 1)
        if not _is_elementwise(equation):
            return None
        parts = [
            self._at(atom, repeated(atom.aval.shape, position), depth - 1)
            if atom.aval.shape
            else self._part(atom, depth - 1)
            for atom in equation.invars
        ]
        known = [part for part in parts if part is not None]
        return _applied(equation, known, array) if len(known) == len(parts) else None

    def _computed(self, variable: Any, depth: int) -> Scalar:
        """By arithmetic on other scalars, or an element at a position so computed."""
        equation = self._producers.get(variable)
        if equation is None or depth <= 0 or not _is_understood(equation):
            return _unknown(variable)
        if is_move(equation):
            operand, place = moved(equation, ())
            element = self._at(operand, place, depth - 1) if operand.aval.shape else None
            if element is not None:
                return element
        parts = [self._part(atom, depth - 1) for atom in equation.invars]
        return _applied(equation, parts, variable) or _unknown(variable)

    def _part(self, atom: Any, depth: int) -> Scalar:
        """The form of an operand: also a literal, one element computed by a slice, or an array."""
        if hasattr(atom, "val"):
            return _literal(atom)
        if not atom.aval.shape:
            return self._of(atom, depth)
        equation = self._producers.get(atom)
        is_one = equation is not None and equation.primitive.name == "dynamic_slice"
        return self._of(atom, depth) if is_one else _unknown(atom)

    def _seen_through(self, variable: Any, depth: int) -> Part:
        """What of which array a variable is: slices with known bounds, and axes dropped."""
        known = self._seen.get(variable)
        if known is None:
            equation = self._producers.get(variable)
            if equation is None or depth <= 0 or not is_view(equation):
                known = whole(variable)
            else:
                known = viewed(self._seen_through(equation.invars[0], depth - 1), equation)
            self._seen[variable] = known
        return known


def _applied(equation: Any, parts: Sequence[Scalar], result: Any) -> Scalar | None:
    """The result of an equation, or an element of it, computed from these operands."""
    count = 1 + sum(part.parts for part in parts)
    params = _hashable(equation.params)
    has_complex_variables = any(
        part.form[0] == "variable" and getattr(part.atom.aval, "dtype", None) in _COMPLEX
        for part in parts
    )
    if params is None or count > MOST_PARTS or has_complex_variables:
        return None
    is_element = bool(result.aval.shape) and not _is_understood(equation)
    kind = _kind(result, () if is_element else result.aval.shape)
    return Scalar(
        form=(equation.primitive.name, params, kind, *(part.form for part in parts)),
        columns=tuple(number for part in parts for number in part.columns),
        parts=count,
        needs=tuple(needed for part in parts for needed in part.needs),
        atom=result,
        equation=equation,
        operands=tuple(parts),
        is_element=is_element,
    )


def _is_understood(equation: Any) -> bool:
    """Whether an equation is part of a form: it computes one number from what its operands are."""
    name = equation.primitive.name
    (result,) = equation.outvars
    if name == "dynamic_slice":
        slice_is_one = all(isinstance(size, int) and size == 1 for size in result.aval.shape)
        return slice_is_one and _is_number(result) and len(equation.invars) > 1
    if name in ("squeeze", "reshape"):
        return not result.aval.shape and _is_number(result) and len(equation.invars) == 1
    if name == "dot_general":
        kinds = {atom.aval.dtype for atom in (*equation.invars, result)}
        return len(kinds) == 1 and not any(atom.aval.shape for atom in (*equation.invars, result))
    return not result.aval.shape and _is_elementwise(equation)


def _is_elementwise(equation: Any) -> bool:
    """Whether an equation computes each element from those in the same place, or from scalars.

    Axes of size 1 are repeated.
    """
    if equation.primitive.name not in ARITHMETIC or len(equation.outvars) != 1:
        return False
    shape = equation.outvars[0].aval.shape
    return _is_simple(equation.outvars[0]) and all(
        _is_simple(atom) and is_repeated(atom.aval.shape, shape) for atom in equation.invars
    )


def _is_number(atom: Any) -> bool:
    dtype = getattr(atom.aval, "dtype", None)
    return dtype in _DTYPES or dtype in _COMPLEX


def _is_simple(atom: Any) -> bool:
    return _is_number(atom) or getattr(atom.aval, "dtype", None) == np.bool_


def _read_by_others(
    equations: Sequence[Any], results: Iterable[Any], joins: Collection[int]
) -> set[Any]:
    """Arrays of which more is read than elements that forms see through.

    `joins`: positions of equations of whose operands forms are asked for.
    """
    found = {atom for atom in results if not hasattr(atom, "val")}
    for position, equation in reversed(list(enumerate(equations))):
        if position in joins:
            continue
        arrays = [
            atom
            for atom in equation.invars
            if getattr(atom.aval, "shape", ()) and not hasattr(atom, "val")
        ]
        if arrays:
            sees = is_view(equation) or is_move(equation) or _is_elementwise(equation)
            if not sees or equation.outvars[0] in found:
                found.update(arrays)
    return found


def _unknown(atom: Any) -> Scalar:
    return Scalar(("variable", atom), (), 1, (atom,), atom)


def _literal(atom: Any) -> Scalar:
    if atom.aval.shape or not _is_number(atom):
        return Scalar(("literal", id(atom)), (), 1, (), atom)
    return _number(atom, np.asarray(atom.val)[()])


def _number(atom: Any, value: Any) -> Scalar:
    """A number known now."""
    form = ("number", _kind(atom, ()))
    return Scalar(form, (value,), 1, (), atom, is_element=bool(atom.aval.shape))


def _kind(atom: Any, shape: Sequence[Any]) -> Hashable:
    return atom.aval.dtype, shape, getattr(atom.aval, "weak_type", False)


def _hashable(params: Any) -> Hashable | None:
    """The parameters of an equation, where they can be compared."""
    key = tuple(params.values())
    try:
        hash(key)
    except TypeError:
        return None
    return key
