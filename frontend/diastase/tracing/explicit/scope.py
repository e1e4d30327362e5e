"""One level of nesting during the derivation of an explicit jaxpr: variables, sizes, equations."""

from collections.abc import Mapping, Sequence
from typing import Any, Union

import jax.numpy as jnp
from jax.core import ShapedArray
from jax.extend.core import Literal, Var

from diastase.tracing.explicit.model import (
    Atom,
    ExplicitEquation,
    ExplicitLiteral,
    ExplicitType,
    ExplicitVariable,
    Size,
)
from diastase_mlir.jax_internals import (
    dimension_terms,
    factor_operation,
    factor_symbol,
    is_symbolic,
    symbol_expression,
    symbol_of,
)

_OPERATIONS = {"floordiv": "floor_divide", "mod": "remainder", "max": "max", "min": "min"}


class Scope:
    """What is declared in one jaxpr, and its equations so far."""

    def __init__(self, expressions: Mapping[Var, Any], parent: Union["Scope", None] = None):
        self.equations: list[ExplicitEquation] = []
        self.captured: dict[Any, ExplicitVariable] = {}
        """Sizes taken from outside, each with the variable that it is here."""
        self._expressions = expressions
        self._parent = parent
        self._atoms: dict[Var, Atom] = {}
        self._sizes: dict[Any, Atom] = {}

    def nest(self) -> "Scope":
        """A jaxpr inside this one: it sees no variables, and captures the sizes that it needs."""
        return Scope(self._expressions, self)

    # --- variables -------------------------------------------------------------------------------

    def atom(self, atom: Var | Literal) -> Atom:
        """A variable or literal of the symbolic jaxpr."""
        if isinstance(atom, Literal):
            return ExplicitLiteral(atom.val, ExplicitType(atom.aval, ()))
        return self._atoms[atom]

    def bind(self, variable: Var, type_: ExplicitType | None = None) -> ExplicitVariable:
        """A new variable for one of the symbolic jaxpr."""
        result = ExplicitVariable(type_ or self.type_of(variable.aval))
        self.alias(variable, result)
        return result

    def alias(self, variable: Var, atom: Atom) -> None:
        """Let a variable of the symbolic jaxpr be this atom, and hold the size that it holds."""
        self._atoms[variable] = atom
        if variable in self._expressions:
            self._sizes.setdefault(self._expressions[variable], atom)

    def type_of(self, aval: Any) -> ExplicitType:
        """An abstract value's type, its sizes declared."""
        if not isinstance(aval, ShapedArray):
            return ExplicitType(aval, None)
        return ExplicitType(aval, tuple(self.size(size) for size in aval.shape))

    # --- sizes -----------------------------------------------------------------------------------

    def knows(self, expression: Any) -> bool:
        """Whether a variable of this jaxpr holds a size."""
        return expression in self._sizes

    def declare(self, expression: Any) -> ExplicitVariable:
        """A new variable that holds a size."""
        variable = ExplicitVariable(size_type())
        self._sizes.setdefault(expression, variable)
        return variable

    def size(self, size: Any) -> Size:
        """A number, or the variable that holds a size; computed or captured if need be."""
        return self.held(size) if is_symbolic(size) else int(size)

    def held(self, expression: Any) -> Atom:
        """The variable that holds a symbolic size."""
        if expression not in self._sizes:
            if self._must_capture(expression):
                self.captured[expression] = self.declare(expression)
            else:
                self._sizes[expression] = self._compute(expression)
        return self._sizes[expression]

    def _must_capture(self, expression: Any) -> bool:
        if self._parent is None:
            return False
        return symbol_of(expression) is not None or self._parent.holds(expression)

    def holds(self, expression: Any) -> bool:
        """Whether a variable here or further out holds a size."""
        outer = self._parent is not None and self._parent.holds(expression)
        return self.knows(expression) or outer

    def _compute(self, expression: Any) -> Atom:
        """A sum of products, by equations."""
        total: Atom | None = None
        for factors, coefficient in dimension_terms(expression):
            subtract = total is not None and coefficient < 0
            term = self._product(expression, factors, abs(coefficient) if subtract else coefficient)
            total = self._emit("sub" if subtract else "add", total, term) if total else term
        assert total is not None, "a symbolic size has a term"
        return total

    def _product(
        self, expression: Any, factors: Sequence[tuple[Any, int]], coefficient: int
    ) -> Atom:
        atoms = [
            self._factor(expression, factor) for factor, power in factors for _ in range(power)
        ]
        if coefficient != 1 or not atoms:
            atoms.append(number(coefficient))
        product = atoms[0]
        for atom in atoms[1:]:
            product = self._emit("mul", product, atom)
        return product

    def _factor(self, expression: Any, factor: Any) -> Atom:
        name = factor_symbol(factor)
        if name is not None:
            return self.held(symbol_expression(expression, name))
        operation, operands = factor_operation(factor)
        left, right = (self._size_atom(operand) for operand in operands)
        return self._emit(_OPERATIONS[operation], left, right)

    def _size_atom(self, size: Any) -> Atom:
        held = self.size(size)
        return number(held) if isinstance(held, int) else held

    def _emit(self, primitive: str, *operands: Atom) -> ExplicitVariable:
        result = ExplicitVariable(size_type())
        self.equations.append(ExplicitEquation(primitive, operands, (result,)))
        return result

    def sizes_in(self, atoms: Sequence[Atom], known: Sequence[Atom] = ()) -> list[Atom]:
        """The sizes in the types of these, each once, without the known ones."""
        sizes = [size for atom in atoms for size in atom.type.shape or ()]
        symbolic = [size for size in sizes if not isinstance(size, int) and size not in known]
        return list(dict.fromkeys(symbolic))


def size_type() -> ExplicitType:
    """The type of a variable that holds a size."""
    return ExplicitType(ShapedArray((), jnp.result_type(int)), ())


def number(value: int) -> ExplicitLiteral:
    """A size written out."""
    return ExplicitLiteral(value, size_type())
