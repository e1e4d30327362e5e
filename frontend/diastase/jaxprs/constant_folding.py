"""Constant folding and dead code elimination of jaxprs, done before a derivative is lowered.

Rules of derivatives are written for any operands, and often the operands are known: cotangents of
1, bounds of loops, positions in arrays. `simplified` follows numbers through the equations, at any
depth, drops equations that do nothing, and those whose results nobody reads (the value of which
only a gradient is wanted). A rule (`_RULES`) gives what stands for an equation's result, an atom or
a number (as an array of rank 0), or None.

The trap: nothing changes by a bit. Of floats only what is exact is left out (`x * 1`, but not
`x + 0`, which is 0 for -0), and numbers are computed only where they are rounded alike everywhere.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from diastase.capture.dynamic_carry import dimension_table
from diastase.jaxprs.control_flow import known_range
from diastase.jaxprs.dependence import lasting
from diastase.primitives.define import Role, has_role
from diastase_mlir.jax_compat import needed_equations, rebuilt, with_jaxprs
from diastase_mlir.rerolling import FOLDED

Equation = Any
Range = tuple[int, int]


class Known:
    """What is known of the variables of a region."""

    def __init__(self, ranges: dict[Any, Range]) -> None:
        self.ranges = ranges
        self._instead: dict[Any, Any] = {}
        self._uniform: dict[Any, Any] = {}
        self._reshaped: dict[Any, Any] = {}

    def atom(self, atom: Any) -> Any:
        """What stands for an atom."""
        return atom if isinstance(atom, Literal) else self._instead.get(atom, atom)

    def with_operands(self, equation: Equation) -> Equation:
        """The equation with what stands for its operands."""
        if not self._instead:
            return equation
        operands = [self.atom(atom) for atom in equation.invars]
        same = all(new is old for new, old in zip(operands, equation.invars, strict=True))
        return equation if same else equation.replace(invars=operands)

    def number(self, atom: Any) -> Any:
        """The number that an atom is in all places; None where it is not known."""
        atom = atom if isinstance(atom, Literal) else self._uniform.get(atom)
        return (
            np.asarray(atom.val) if isinstance(atom, Literal) and not np.shape(atom.val) else None
        )

    def learn(self, equation: Equation) -> bool:
        """Note what is known of an equation's result; whether the equation is needless then."""
        rule = _RULES.get(equation.primitive.name)
        if rule is None or equation.effects:
            return False
        (result,) = equation.outvars
        found = rule(self, equation)
        if found is None or dimension_table().defines_symbols(result):
            return False
        if isinstance(found, np.ndarray):
            found = Literal(found.astype(result.aval.dtype)[()], result.aval)
        if found.aval != result.aval:
            return False
        self._instead[result] = found
        return True

    def note_uniform(self, variable: Any, atom: Any) -> None:
        """All elements of a variable are a number."""
        if self.number(atom) is not None:
            self._uniform[variable] = atom if isinstance(atom, Literal) else self._uniform[atom]

    def note_reshaped(self, variable: Any, atom: Any) -> Any:
        """A variable is an atom reshaped; returns what that was before any reshape."""
        first = atom if isinstance(atom, Literal) else self._reshaped.get(atom, atom)
        self._reshaped[variable] = first
        return first


Rule = Callable[[Known, Equation], Any]

_EXACT = ("add", "sub", "mul", "neg")
"""Rounded alike everywhere."""


def _folded(known: Known, equation: Equation) -> Any:
    (result,) = equation.outvars
    if result.aval.shape:
        return None
    values = [
        np.asarray(atom.val, atom.aval.dtype) for atom in equation.invars if _is_literal(atom)
    ]
    if len(values) < len(equation.invars):
        return None
    name, kinds = equation.primitive.name, {value.dtype.kind for value in values}
    is_exact = kinds <= set("iub") and result.aval.dtype.kind in "iub"
    if not (is_exact or (kinds == {"f"} and name in _EXACT)):
        return None
    with np.errstate(all="ignore"):
        return np.asarray(FOLDED[name](*values))


def _is_literal(atom: Any) -> bool:
    aval: Any = atom.aval
    dtype = getattr(aval, "dtype", None)
    return isinstance(atom, Literal) and not aval.shape and isinstance(dtype, np.dtype)


def _product(known: Known, equation: Equation) -> Any:
    for one, other in (equation.invars, equation.invars[::-1]):
        number = known.number(one)
        if number is not None and number == 1:
            return other
    return _folded(known, equation)


def _sum(known: Known, equation: Equation) -> Any:
    one, other = equation.invars
    (result,) = equation.outvars
    if result.aval.dtype.kind in "iu":
        for number, atom in ((one, other), (other, one)):
            if known.number(number) is not None and not known.number(number).any():
                return atom
        number = known.number(other)
        if one in known.ranges if not isinstance(one, Literal) else False:
            _note_moved(known, result, known.ranges[one], number)
    return _folded(known, equation)


def _note_moved(known: Known, result: Any, limits: Range, number: Any) -> None:
    info = np.iinfo(result.aval.dtype)
    if number is not None:
        low, high = limits[0] + int(number), limits[1] + int(number)
        if info.min <= low and high <= info.max:
            known.ranges[result] = low, high


def _converted(known: Known, equation: Equation) -> Any:
    (operand,), (result,) = equation.invars, equation.outvars
    if operand.aval == result.aval:
        return operand
    if not isinstance(operand, Literal) and operand in known.ranges:
        if result.aval.dtype.kind in "iu":
            _note_moved(known, result, known.ranges[operand], 0)
    return _folded(known, equation)


def _less(known: Known, equation: Equation) -> Any:
    one, other = equation.invars
    number = known.number(other)
    if number is not None and not isinstance(one, Literal) and one in known.ranges:
        low, high = known.ranges[one]
        if low >= number or high < number:
            return np.asarray(high < number)
    return _folded(known, equation)


def _selected(known: Known, equation: Equation) -> Any:
    which, *cases = equation.invars
    number = known.number(which)
    if number is None or not 0 <= int(number) < len(cases):  # JAX leaves open what else it gives
        return None
    return cases[int(number)]


def _same_shape(known: Known, equation: Equation) -> Any:
    """A slice of all, and what was reshaped and is of its first shape again."""
    operand, (result,) = equation.invars[0], equation.outvars
    known.note_uniform(result, operand)
    if equation.primitive.name == "reshape":
        if equation.params["dimensions"] is not None:
            return None
        operand = known.note_reshaped(result, operand)
    return operand if operand.aval == result.aval else None


def _broadcast(known: Known, equation: Equation) -> Any:
    known.note_uniform(equation.outvars[0], equation.invars[0])
    return None


_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(FOLDED, _folded),
    "mul": _product,
    "add": _sum,
    "lt": _less,
    "convert_element_type": _converted,
    "select_n": _selected,
    "reshape": _same_shape,
    "slice": _same_shape,
    "broadcast_in_dim": _broadcast,
    "stop_gradient": lambda known, equation: equation.invars[0],
}


def simplified(closed: ClosedJaxpr, ranges: Mapping[int, Range] | None = None) -> ClosedJaxpr:
    """The program without needless equations; `ranges`: what integers among its inputs lie in."""
    return _Simplifier().region(closed, ranges or {})


class _Simplifier:
    """Simplifies regions, each once: what was the same jaxpr stays the same."""

    def __init__(self) -> None:
        self._done: dict[Any, tuple[ClosedJaxpr, ClosedJaxpr]] = {}

    def region(self, closed: ClosedJaxpr, ranges: Mapping[int, Range]) -> ClosedJaxpr:
        """A region; `ranges`: of its inputs that are integers known to lie in one."""
        key = (id(closed), tuple(ranges.items()))
        if key not in self._done:
            self._done[key] = closed, self._simplified(closed, ranges)
        return self._done[key][1]

    def _simplified(self, closed: ClosedJaxpr, ranges: Mapping[int, Range]) -> ClosedJaxpr:
        if closed.consts:
            return closed
        inputs = closed.jaxpr.invars
        known = Known({inputs[position]: limits for position, limits in ranges.items()})
        equations = list[Equation]()
        for equation in closed.jaxpr.eqns:
            equation = known.with_operands(equation)
            if known.learn(equation):
                continue
            if has_role(equation, Role.CONTROL_FLOW, Role.INLINED, Role.BATCH):
                equation = self._inside(equation)
            equations.append(equation)
        results = [known.atom(atom) for atom in closed.jaxpr.outvars]
        return rebuilt(closed, inputs, needed_equations(equations, results, lasting)[0], results)

    def _inside(self, equation: Equation) -> Equation:
        ranges: Mapping[int, Range] = {}
        if equation.primitive.name == "for_loop":
            limits = known_range(equation)
            ranges = {} if limits is None else {equation.params["body_nconsts"]: limits}
        params = with_jaxprs(equation.params, lambda region: self.region(region, ranges))
        return equation.replace(params=params)
