"""Words for the values of a jaxpr, as its user would write them: `i + 1`, `(w + 1) % 3`, `2*x[0]`.

`Words` goes through classical equations in order. Of each result it knows the value, where those of
all operands are known, and else an expression made of the names of arguments, indices and outcomes.
How equations are written is up to `rules`. An expression that would be long is a function of the
names in it: `f(i, x)`.

The trap: variables are bound anew where a body is read again, so words are asked for at once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jax.extend.core import Literal

from diastase.primitives.define import PRIMITIVES
from diastase_mlir.jax_compat import eager, evaluate_equation, is_extended, jaxprs_in

LONGEST = 32
"""Characters of an expression."""

ATOM, POWER, SIGN, PRODUCT, SUM, COMPARED, NOT, AND, OR = range(9)
"""How weakly the outermost operator of an expression binds."""


@dataclass(frozen=True)
class Term:
    """An expression: its text, how weakly it binds, and the names in it."""

    text: str
    weakness: int = ATOM
    names: tuple[str, ...] = ()

    @classmethod
    def name(cls, name: str) -> "Term":
        """A name alone."""
        return cls(name, ATOM, (name,))

    def within(self, weakness: int) -> str:
        """The text as an operand that must not bind more weakly than this."""
        return self.text if self.weakness <= weakness else f"({self.text})"


@dataclass(frozen=True)
class _Known:
    """What is known of a variable."""

    value: np.ndarray | None = None
    term: Term | None = None
    equation: Any = None
    """The one that it is a result of."""


class Words:
    """What is known of variables, and the words for them."""

    def __init__(self, decimals: int | None, rules: Mapping[str, Any]) -> None:
        self._decimals = 2 if decimals is None else decimals
        self._rules: Mapping[str, Rule] = rules
        self._known: dict[Any, _Known] = {}

    # --- what is known ----------------------------------------------------------------------------

    def _of(self, atom: Any) -> _Known:
        if isinstance(atom, Literal):
            return _Known(np.asarray(atom.val))
        return self._known.get(atom, _NOTHING)

    def value(self, atom: Any) -> np.ndarray | None:
        """The value of an atom, where it is known."""
        return self._of(atom).value

    def origin(self, atom: Any) -> Any:
        """The equation that an atom is a result of; None where there is none."""
        return self._of(atom).equation

    def text(self, atom: Any) -> str:
        """The words for an atom, as text."""
        return self.term(atom).text

    def term(self, atom: Any) -> Term:
        """The words for an atom."""
        known = self._of(atom)
        if known.value is not None and known.value.shape == ():
            return self._number(known.value)
        return known.term or _UNKNOWN

    def _number(self, value: Any) -> Term:
        if value.dtype.kind == "c" and value.imag:
            return Term(f"{complex(value):.{self._decimals}f}", SUM)
        number = value.real
        if number.dtype.kind != "f":
            text = str(number)
        elif float(number).is_integer() and abs(float(number)) < 10**6:
            text = str(int(number))
        else:
            text = "π" if float(number) == np.pi else f"{float(number):.{self._decimals + 1}g}"
        return Term(text, SIGN if text.startswith("-") else ATOM)

    # --- what becomes known -----------------------------------------------------------------------

    def name(self, variable: Any, name: str) -> None:
        """A variable is what a name stands for."""
        self._known[variable] = _Known(term=Term.name(name))

    def know(self, variable: Any, value: Any) -> None:
        """A variable has a value."""
        self._known[variable] = _Known(np.asarray(value))

    def let(self, variable: Any, atom: Any) -> None:
        """A variable is what an atom is."""
        self._known[variable] = self._of(atom)

    def bind(self, inputs: Sequence[Any], operands: Sequence[Any]) -> None:
        """The inputs of a region are these atoms, all at once."""
        self._known.update(zip(inputs, list(map(self._of, operands)), strict=True))

    def choose(self, variable: Any, terms: Sequence[Term]) -> None:
        """A variable is one of these."""
        if len({term.text for term in terms}) > 1:
            names = dict.fromkeys(name for term in terms for name in term.names)
            terms = [shortened(f"f({', '.join(names)})", ATOM, terms)]
        self._known[variable] = _Known(term=terms[0])

    def read(self, equation: Any) -> None:
        """Go through a classical equation."""
        inner = list(jaxprs_in(equation.params))
        if equation.primitive.name in _INLINED and inner:
            region = inner[0]
            self.bind(region.invars, equation.invars[len(equation.invars) - len(region.invars) :])
            for each in region.eqns:
                self.read(each)
            self.bind(equation.outvars, region.outvars)
            return
        values = [self.value(atom) for atom in equation.invars]
        if all(value is not None for value in values) and _is_computable(equation):
            with eager():
                results = evaluate_equation(equation, values)
            for variable, result in zip(equation.outvars, results, strict=True):
                self.know(variable, result)
            return
        rule = self._rules.get(equation.primitive.name)
        term = None if rule is None else rule(self, equation)
        if term is None:
            term = self._call(equation.primitive.name, equation.invars)
        for variable in equation.outvars:
            self._known[variable] = _Known(None, term, equation)

    def _call(self, function: str, atoms: Sequence[Any]) -> Term:
        terms = [self.term(atom) for atom in atoms]
        return shortened(f"{function}({', '.join(term.text for term in terms)})", ATOM, terms)


Rule = Callable[[Words, Any], Term | None]
"""What stands for the results of an equation; None: a function of the operands."""


def shortened(text: str, weakness: int, parts: Sequence[Term]) -> Term:
    """An expression of these parts; too long a one becomes a function of the names in it."""
    names = tuple(dict.fromkeys(name for part in parts for name in part.names))
    if len(text) <= LONGEST:
        return Term(text, weakness, names)
    listed = ", ".join(names)
    return Term(f"f({listed})" if names and len(listed) <= LONGEST else "f(…)", ATOM, names)


def _is_computable(equation: Any) -> bool:
    name = equation.primitive.name
    results = [variable.aval for variable in equation.outvars]
    known = all(not is_extended(aval.dtype) for aval in results if hasattr(aval, "dtype"))
    return known and not equation.effects and name not in PRIMITIVES and "callback" not in name


_NOTHING, _UNKNOWN = _Known(), Term.name("…")
_INLINED = (
    "inlined", "pjit", "jit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call",
)  # fmt: skip
