"""What is known of the values of a jaxpr while its circuit is read.

A value is a numpy array where it is known; `Elements`, an array of scalars of which some are
expressions; or `Unsayable`, with the reason, which is an error only where a circuit needs it.
Equations are evaluated by JAX where all is known, element by element where they are in a table, and
by moving elements where that is all they do.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from diastase.inspection.circuit_texts import expressions
from diastase.inspection.circuit_texts.elementwise import ELEMENTWISE
from diastase.inspection.circuit_texts.expressions import (
    SUM,
    Choice,
    Expression,
    NotSayableError,
    Scalar,
    chosen,
    expressed,
    first_condition,
    given,
)
from diastase.primitives.define import PRIMITIVES
from diastase_mlir.jax_compat import (
    eager,
    evaluate_equation,
    is_extended,
    is_symbolic,
    jaxprs_in,
)

MOST_ELEMENTS = 1 << 14
"""Of an array of expressions."""


@dataclass(frozen=True, eq=False)
class Elements:
    """An array of scalars (of objects), and its type of numbers."""

    array: np.ndarray
    dtype: Any


@dataclass(frozen=True)
class Unsayable:
    """A value that no expression stands for; the reason goes on after the name of its operation."""

    reason: str


Value = np.ndarray | Elements | Unsayable


def of_input(name: str, aval: Any) -> Value:
    """An argument of the program: a variable or an array of them."""
    if not isinstance(aval.dtype, np.dtype) or aval.dtype.kind not in "fiubc":
        return Unsayable(f"uses {name}, of the type {aval.dtype}")
    if not all(isinstance(size, int) for size in aval.shape):
        return Unsayable(f"uses {name}, whose sizes are known only at run time")
    if int(np.prod(aval.shape)) > MOST_ELEMENTS:
        return Unsayable(f"uses {name}, which has more than {MOST_ELEMENTS} elements")
    kind = "i" if aval.dtype.kind in "iu" else aval.dtype.kind
    natural = aval.dtype.kind == "u"
    elements = list[Expression]()
    for place in np.ndindex(*aval.shape):
        text = f"{name}[{', '.join(map(str, place))}]" if place else name
        elements.append(Expression(text, kind=kind, is_natural=natural))
    return collapsed(elements, aval)


def scalar_value(scalar: Scalar, dtype: Any) -> Value:
    """A value of rank 0."""
    if isinstance(scalar, np.generic):
        return np.asarray(scalar, dtype)
    array = np.empty((), object)
    array[()] = scalar
    return Elements(array, dtype)


def scalar_of(value: Value) -> Scalar:
    """The scalar that a value of rank 0 is."""
    if isinstance(value, Unsayable):
        raise NotSayableError(value.reason)
    found: Any = value if isinstance(value, np.ndarray) else value.array
    return found[()]


def scalars_of(value: Value) -> list[Any]:
    """All scalars of a value, in order."""
    if isinstance(value, Unsayable):
        raise NotSayableError(value.reason)
    return list(_objects(value).flat)


class Values:
    """The values of variables; regions share one table, as variables are of one region each."""

    def __init__(self) -> None:
        self._known: dict[Any, Value] = {}

    def of(self, atom: Any) -> Value:
        """The value of an atom."""
        return np.asarray(atom.val) if isinstance(atom, Literal) else self._known[atom]

    def let(self, variable: Any, value: Value) -> None:
        """A variable has a value."""
        self._known[variable] = value

    def bind(self, variables: Sequence[Any], values: Sequence[Value]) -> None:
        """Variables have these values."""
        self._known.update(zip(variables, values, strict=True))

    def enter(self, closed: ClosedJaxpr, operands: Sequence[Value]) -> None:
        """The inputs of a region are these."""
        self.bind(closed.jaxpr.constvars, [np.asarray(constant) for constant in closed.consts])
        self.bind(closed.jaxpr.invars, operands)

    def read(self, equation: Any) -> None:
        """Evaluate a classical equation."""
        operands = [self.of(atom) for atom in equation.invars]
        inner = list(jaxprs_in(equation.params))
        if equation.primitive.name in INLINED and inner:
            region = inner[0]
            self.bind(region.invars, operands[len(operands) - len(region.invars) :])
            consts = getattr(equation.params.get("jaxpr"), "consts", ())
            self.bind(region.constvars, [np.asarray(constant) for constant in consts])
            for each in region.eqns:
                self.read(each)
            self.bind(equation.outvars, [self.of(atom) for atom in region.outvars])
            return
        self.bind(equation.outvars, _evaluated(equation, operands))


def _evaluated(equation: Any, operands: Sequence[Value]) -> Sequence[Value]:
    reasons = [operand for operand in operands if isinstance(operand, Unsayable)]
    if reasons:
        return [reasons[0]] * len(equation.outvars)
    name = equation.primitive.name
    if _has_unknown_sizes(equation):
        return [Unsayable(_OF_UNKNOWN_SIZE)] * len(equation.outvars)
    try:
        if all(isinstance(operand, np.ndarray) for operand in operands):
            if not _is_computable(equation):
                raise NotSayableError(f"depends on {name}")
            with eager():
                return [np.asarray(result) for result in evaluate_equation(equation, operands)]
        found = _by_cases(equation, operands) if _is_computable(equation) else None
        if found is not None:
            return found
        _require_wide(equation, operands)
        if name in ELEMENTWISE:
            return [_elementwise(equation, operands)]
        if name in MOVING:
            return _moved(equation, operands)
        rule = _RULES.get(name)
        if rule is None:
            raise NotSayableError(f"depends on {name}, for which there is no expression")
        return [rule(equation, operands)]
    except NotSayableError as error:
        return [Unsayable(error.reason)] * len(equation.outvars)


WIDE = frozenset({"int64", "float64", "bool"})
"""Types of numbers whose arithmetic is that of the languages."""


def too_narrow(dtype: Any) -> str:
    """Why numbers of a type that outcomes decide have no expression."""
    return f"depends on {dtype} numbers that outcomes decide, and only 64-bit ones can be computed"


def _require_wide(equation: Any, operands: Sequence[Value]) -> None:
    """Refuse what would be rounded, or overflow, unlike the program's numbers."""
    given = [
        (operand.dtype, each.kind)
        for operand in operands
        if isinstance(operand, Elements)
        for each in operand.array.flat
        if isinstance(each, Expression) and each.is_outcome
    ]
    types = [dtype for dtype, _ in given]
    if equation.primitive.name == "convert_element_type":
        types += [equation.outvars[0].aval.dtype for _, kind in given if kind != "b"]
    for dtype in types:
        if str(dtype) not in WIDE and equation.primitive.name not in MOVING:
            raise NotSayableError(too_narrow(dtype))


def _has_unknown_sizes(equation: Any) -> bool:
    """Whether the equation is about a size that is known only at run time."""
    sizes = [size for v in equation.outvars for size in getattr(v.aval, "shape", ())]
    for value in equation.params.values():
        sizes += value if isinstance(value, tuple) else [value]
    return any(map(is_symbolic, sizes))


_OF_UNKNOWN_SIZE = "depends on a size that is known only at run time"


def _is_computable(equation: Any) -> bool:
    name = equation.primitive.name
    known = all(
        isinstance(v.aval.dtype, np.dtype) and not is_extended(v.aval.dtype)
        for v in equation.outvars
        if hasattr(v.aval, "dtype")
    )
    return known and not equation.effects and name not in PRIMITIVES and "callback" not in name


def _by_cases(equation: Any, operands: Sequence[Value]) -> list[Value] | None:
    """Where there is a choice among the operands: one case after the other."""
    scalars = [
        each for operand in operands if isinstance(operand, Elements) for each in operand.array.flat
    ]
    condition = first_condition(scalars)
    if condition is None:
        return None
    cases = [
        _evaluated(equation, [_given(operand, condition, holds) for operand in operands])
        for holds in (False, True)
    ]
    return [_chosen_value(condition, low, high) for low, high in zip(*cases, strict=True)]


def _given(value: Value, condition: Expression, holds: bool) -> Value:
    if not isinstance(value, Elements):
        return value
    return collapsed([given(each, condition, holds) for each in value.array.flat], value)


def collapsed(scalars: Sequence[Any], like: Any) -> Value:
    """An array of scalars with this shape and type of numbers; a known one where all are."""
    shape = like.array.shape if isinstance(like, Elements) else like.shape
    if all(isinstance(each, np.generic) for each in scalars):
        return np.asarray(scalars, like.dtype).reshape(shape)
    array = np.empty(len(scalars), object)
    array[:] = scalars
    return Elements(array.reshape(shape), like.dtype)


def _objects(value: Value) -> np.ndarray:
    """The scalars of a value."""
    if isinstance(value, Elements):
        return value.array
    assert isinstance(value, np.ndarray)
    array = np.empty(value.shape, object)
    for place in np.ndindex(*value.shape):
        array[place] = value[place]
    return array


def _chosen_value(condition: Expression, low: Value, high: Value) -> Value:
    for each in (low, high):
        if isinstance(each, Unsayable):
            return each
    pairs = zip(_objects(low).flat, _objects(high).flat, strict=True)
    return collapsed([chosen(condition, a, b) for a, b in pairs], low)


def choose(index: Scalar, branches: Sequence[Value]) -> Value:
    """What branches give, of which an index that is a choice picks one."""
    if isinstance(index, Choice):
        low, high = choose(index.if_false, branches), choose(index.if_true, branches)
        return _chosen_value(index.condition, low, high)
    if isinstance(index, Expression):
        raise NotSayableError("needs a value that a computed number chooses")
    return branches[min(max(int(index), 0), len(branches) - 1)]


# --- rules ----------------------------------------------------------------------------------------


def _elementwise(equation: Any, operands: Sequence[Value]) -> Value:
    name, aval = equation.primitive.name, equation.outvars[0].aval
    if int(np.prod(aval.shape)) > MOST_ELEMENTS:
        raise NotSayableError(f"depends on an array of more than {MOST_ELEMENTS} elements")
    arrays = np.broadcast_arrays(*map(_objects, operands))
    rule, kind = ELEMENTWISE[name], "i" if aval.dtype.kind in "iu" else aval.dtype.kind
    _require_real(equation)
    scalars = list[Any]()
    for row in zip(*(array.flat for array in arrays), strict=True):
        if all(isinstance(each, np.generic) for each in row):
            with eager():
                atoms = [np.asarray(each) for each in row]
                scalars.append(np.asarray(evaluate_equation(equation, atoms)[0])[()])
        else:
            scalars.append(rule(equation, kind, *row))
    return collapsed(scalars, aval)


def _require_real(equation: Any) -> None:
    """Of complex numbers, which arguments may be, there are the parts only."""
    avals = [variable.aval for variable in (*equation.invars, *equation.outvars)]
    is_part = equation.primitive.name in ("real", "imag")
    if not is_part and any(aval.dtype.kind == "c" for aval in avals):
        raise NotSayableError("depends on complex numbers that are not known")


MOVING = frozenset({
    "broadcast_in_dim", "concatenate", "expand_dims", "pad", "reshape", "rev", "slice", "squeeze",
    "transpose", "unstack",
})  # fmt: skip
"""Every element of a result is an element of an operand."""


def _moved(equation: Any, operands: Sequence[Value]) -> list[Value]:
    """Move numbers that count the elements of all operands, to see where each comes from."""
    arrays = [_objects(operand) for operand in operands]
    counts = np.cumsum([0, *(array.size for array in arrays)])
    numbers = [
        np.arange(first, first + array.size).reshape(array.shape)
        for first, array in zip(counts, arrays, strict=False)
    ]
    with eager():
        results = evaluate_equation(equation, numbers)
    everything = [each for array in arrays for each in array.flat]
    return [
        collapsed([everything[int(place)] for place in np.asarray(places).flat], variable.aval)
        for places, variable in zip(results, equation.outvars, strict=True)
    ]


def _dynamic_slice(equation: Any, operands: Sequence[Value]) -> Value:
    """One element of an argument, at a computed place."""
    array, *starts = operands
    if any(size != 1 for size in equation.params["slice_sizes"]):
        raise NotSayableError("takes part of an array, from a computed place on")
    name = _argument(array)
    assert isinstance(array, Elements)
    places = [expressed(scalar_of(start)) for start in starts]
    if not all(place.is_natural for place in places):
        raise NotSayableError("takes an element at a place that may be negative")
    inside = ", ".join(place.text for place in places)
    kind = "i" if array.dtype.kind in "iu" else array.dtype.kind
    element = Expression(f"{name}[{inside}]", kind=kind, is_natural=array.dtype.kind == "u")
    return collapsed([element], equation.outvars[0].aval)


def _argument(value: Value) -> str:
    """The name of the argument that an array is, as a whole."""
    first = value.array.flat[0] if isinstance(value, Elements) and value.array.size else None
    if isinstance(first, Expression) and isinstance(value, Elements):
        name = first.text.partition("[")[0]
        expected = [
            f"{name}[{', '.join(map(str, place))}]" for place in np.ndindex(*value.array.shape)
        ]
        if [getattr(each, "text", None) for each in value.array.flat] == expected:
            return name
    raise NotSayableError("takes an element of a computed array, at a computed place")


def _sum(equation: Any, operands: Sequence[Value]) -> Value:
    """A sum over axes, term by term."""
    _require_real(equation)
    array, aval = _objects(operands[0]), equation.outvars[0].aval
    axes = tuple(equation.params["axes"])
    rows = np.moveaxis(array, axes, range(len(axes))).reshape(-1, *aval.shape)
    kind = "i" if aval.dtype.kind in "iu" else aval.dtype.kind
    add, total = expressions.infix("+", SUM), list(rows[0].flat)
    for row in rows[1:]:
        total = [
            add(kind, expressed(a), expressed(b)) for a, b in zip(total, row.flat, strict=True)
        ]
    return collapsed(total, aval)


_RULES: Mapping[str, Callable[[Any, Sequence[Value]], Value]] = {
    "dynamic_slice": _dynamic_slice,
    "reduce_sum": _sum,
}
INLINED = (
    "inlined", "pjit", "jit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call",
)  # fmt: skip
