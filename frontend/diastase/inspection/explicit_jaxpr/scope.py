"""One level of nesting during the derivation of an explicit jaxpr: variables, sizes, equations.

A size is held by the first variable that is bound to it; in a nested jaxpr, sizes that are known
outside are *captured*: they become inputs, whose order is that of `captured`. In the types of
inputs every size is captured or declared, since nothing can be computed before an input.

`Parameters` and the functions beside it are what translations of equations have in common.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union

from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal, Var

from diastase.inspection.explicit_jaxpr.model import ExplicitEquation
from diastase.inspection.explicit_jaxpr.types import (
    Atom,
    ExplicitLiteral,
    ExplicitType,
    ExplicitVariable,
    Size,
    array_shape,
    size_atom,
    size_of,
    size_type,
)
from diastase_mlir.jax_compat import (
    dimension_symbols,
    dimension_terms,
    factor_operation,
    factor_symbol,
    is_symbolic,
    normalised,
    symbol_expression,
)
from diastase_runtime.errors import InternalError

Translate = Callable[["Scope", Jaxpr], None]

_OPERATIONS = {"floordiv": "floor_divide", "mod": "remainder", "max": "max", "min": "min"}


class Scope:
    """What is declared in one jaxpr, and its equations so far."""

    def __init__(
        self,
        expressions: Mapping[Var, Any],
        translate: Translate,
        parent: Union["Scope", None] = None,
    ):
        self.equations: list[ExplicitEquation] = []
        self.captured: dict[Any, ExplicitVariable] = {}
        """Sizes taken from outside, each with the variable that it is here."""
        self.assumed_equal: list[tuple[Size, ...]] = []
        """Different variables for sizes that were assumed to be equal."""
        self._expressions = expressions
        self._translate = translate
        self._parent = parent
        self._atoms: dict[Var, Atom] = {}
        self._sizes: dict[Any, Atom] = {}

    def nest(self) -> "Scope":
        """A jaxpr inside this one: it sees no variables, and captures the sizes that it needs."""
        return Scope(self._expressions, self._translate, self)

    def translate(self, jaxpr: Jaxpr) -> list[Atom]:
        """Add the equations of a symbolic jaxpr to those of this scope; its outputs."""
        self._translate(self, jaxpr)
        return [self.atom(output) for output in jaxpr.outvars]

    # --- variables -------------------------------------------------------------------------------

    def atom(self, atom: Var | Literal) -> Atom:
        """A variable or literal of the symbolic jaxpr."""
        if isinstance(atom, Literal):
            shape = tuple(getattr(atom.aval, "shape", ()))
            return ExplicitLiteral(atom.val, ExplicitType(atom.aval, shape))
        return self._atoms[atom]

    def bind(self, variable: Var) -> ExplicitVariable:
        """A new variable for the result of an equation."""
        return self._bound(variable, self.type_of(variable.aval))

    def bind_input(self, variable: Var, declared: Mapping[int, Atom] | None = None) -> Any:
        """A new variable for an input: sizes in its type are captured, if not declared.

        `declared` has those that these axes have, whatever holds the same size.
        """
        shape = array_shape(variable.aval)
        if shape is None:
            return self._bound(variable, ExplicitType(variable.aval, None))
        sizes: list[Size] = []
        for axis, known in enumerate(map(normalised, shape)):
            if declared and axis in declared:
                sizes.append(declared[axis])
            else:
                sizes.append(self._input_size(known) if is_symbolic(known) else int(known))
        return self._bound(variable, ExplicitType(variable.aval, tuple(sizes)))

    def _bound(self, variable: Var, type_: ExplicitType) -> ExplicitVariable:
        result = ExplicitVariable(type_)
        self.alias(variable, result)
        return result

    def alias(self, variable: Var, atom: Atom) -> None:
        """Let a variable of the symbolic jaxpr be this atom, and hold the size that it holds."""
        self._atoms[variable] = atom
        if variable in self._expressions:
            self._sizes.setdefault(normalised(self._expressions[variable]), atom)

    def type_of(self, aval: Any) -> ExplicitType:
        """An abstract value's type, its sizes declared."""
        if array_shape(aval) is None:
            return ExplicitType(aval, None)
        return ExplicitType(aval, tuple(self.size(size) for size in aval.shape))

    def record(
        self,
        equation: Any,
        operands: Sequence[Atom],
        implicit: Sequence[ExplicitVariable],
        params: Mapping[str, Any],
        original: Any = None,
    ) -> None:
        """Add what an equation of the symbolic jaxpr is here, and bind its results."""
        results = [self.bind(variable) for variable in equation.outvars]
        name, source = equation.primitive.name, equation.source_info
        all_results = (*implicit, *results)
        self.equations.append(
            ExplicitEquation(name, tuple(operands), all_results, params, original, source)
        )

    # --- sizes -----------------------------------------------------------------------------------

    def declare(self, expression: Any) -> ExplicitVariable:
        """A new variable that holds a size from now on."""
        self._sizes[normalised(expression)] = variable = ExplicitVariable(size_type())
        return variable

    def declare_implicit(self, results: Sequence[Any]) -> dict[Any, ExplicitVariable]:
        """New variables for sizes of an equation's results that nothing before it holds."""
        unknown = [size for size in places_of(results) if not self.can_hold(size)]
        return {size: self.declare(size) for size in unknown}

    def define(self, symbol: Any, expression: Any) -> None:
        """A symbol is held by what holds this expression, unless something does already."""
        if symbol not in self._sizes:
            self._sizes[symbol] = self.held(expression)

    def share(self, expression: Any, atom: Atom) -> None:
        """Let a variable (or number) hold another size, too: one that is known to be equal."""
        self._sizes[normalised(expression)] = atom

    def size(self, size: Any) -> Size:
        """A number, or the variable that holds a size; computed or captured if need be.

        Sizes that the program assumes to be equal are one.
        """
        size = normalised(size)
        return size_of(self.held(size)) if is_symbolic(size) else int(size)

    def held(self, expression: Any) -> Atom:
        """The variable that holds a symbolic size, of the type that sizes have."""
        expression = normalised(expression)
        if not is_symbolic(expression):
            return size_atom(int(expression))
        if expression not in self._sizes:
            if self._must_capture(expression):
                return self.capture(expression)
            self._sizes[expression] = self._compute(expression)
        atom = self._sizes[expression]
        if atom.type.aval.dtype != size_type().aval.dtype:
            atom = self._sizes[expression] = self.converted(atom, size_type().aval)
        return atom

    def capture(self, expression: Any) -> Atom:
        """The variable that holds a size here and is an input, unless one is known already."""
        expression = normalised(expression)
        if expression not in self._sizes:
            self.captured[expression] = self.declare(expression)
        return self._sizes[expression]

    def _input_size(self, expression: Any) -> Atom:
        """The variable for a size in the type of an input."""
        known = self._sizes.get(expression)
        if known is None or known.type.aval.dtype != size_type().aval.dtype:
            self.captured[expression] = known = self.declare(expression)
        return known

    def knows(self, expression: Any) -> bool:
        """Whether a variable of this jaxpr holds a size."""
        return normalised(expression) in self._sizes

    def holds(self, expression: Any) -> bool:
        """Whether a variable here or further out holds a size."""
        outer = self._parent is not None and self._parent.holds(expression)
        return self.knows(expression) or outer

    def can_hold(self, expression: Any) -> bool:
        """Whether a size is held here or further out, or can be computed from what is."""
        expression = normalised(expression)
        if not is_symbolic(expression):
            return True
        return self.holds(expression) or all(
            self.holds(symbol_expression(expression, name))
            for name in dimension_symbols(expression)
        )

    def declare_separately(self, expressions: Sequence[Any]) -> ExplicitVariable:
        """A new variable that holds a size; if that is known here, both are assumed to be equal."""
        variable = ExplicitVariable(size_type())
        for normal in dict.fromkeys(map(normalised, expressions)):
            known = self._sizes.setdefault(normal, variable) if is_symbolic(normal) else normal
            if known is not variable:
                self.assumed_equal.append(
                    (size_of(known) if is_symbolic(normal) else known, variable)
                )
        return variable

    def _must_capture(self, expression: Any) -> bool:
        if self._parent is None:
            return False
        return _is_symbol(expression) or self._parent.holds(expression)

    def _compute(self, expression: Any) -> Atom:
        """A sum of products, by equations."""
        if _is_symbol(expression):
            raise InternalError(what=f"no variable of the explicit jaxpr holds {expression}")
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
            atoms.append(size_atom(coefficient))
        product = atoms[0]
        for atom in atoms[1:]:
            product = self._emit("mul", product, atom)
        return product

    def _factor(self, expression: Any, factor: Any) -> Atom:
        name = factor_symbol(factor)
        if name is not None:
            return self.held(symbol_expression(expression, name))
        operation, operands = factor_operation(factor)
        left, right = (size_atom(self.size(operand)) for operand in operands)
        return self._emit(_OPERATIONS[operation], left, right)

    def _emit(self, primitive: str, *operands: Atom) -> ExplicitVariable:
        result = ExplicitVariable(size_type())
        self.equations.append(ExplicitEquation(primitive, operands, (result,)))
        return result

    def converted(self, atom: Atom, aval: Any) -> ExplicitVariable:
        """A scalar as one of another type."""
        params = {"new_dtype": aval.dtype, "weak_type": False}
        result = ExplicitVariable(ExplicitType(ShapedArray((), aval.dtype), ()))
        self.equations.append(ExplicitEquation("convert_element_type", (atom,), (result,), params))
        return result


def _is_symbol(expression: Any) -> bool:
    """Whether an expression, which may be a number, is a symbol alone."""
    return dimension_symbols(expression) == {str(expression)}


# --- what equations consist of -------------------------------------------------------------------

Place = tuple[int, int]
"""A value among several, and one of its axes."""


def places_of(variables: Sequence[Any]) -> dict[Any, list[Place]]:
    """The symbolic sizes in the types of these variables, in order, and where each stands."""
    places: dict[Any, list[Place]] = {}
    for item, variable in enumerate(variables):
        for axis, size in enumerate(getattr(variable.aval, "shape", ())):
            if is_symbolic(size):
                places.setdefault(size, []).append((item, axis))
    return places


def size_at(atoms: Sequence[Atom], place: Place) -> Atom:
    """The size that one of these atoms has at an axis."""
    item, axis = place
    return size_atom((atoms[item].type.shape or ())[axis])


def without_result_types(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters without the types of the results, which the explicit form shows anyway."""
    return {name: value for name, value in params.items() if name != "result_avals"}


class Parameters:
    """Parameters of one equation in explicit form."""

    def __init__(self, scope: Scope, nested: Callable[[Any], Any] = lambda jaxpr: jaxpr):
        self._scope = scope
        self._nested = nested
        self.sizes: list[Atom] = []
        """What holds the symbolic sizes among the parameters, in order."""

    def explicit(self, value: Any) -> Any:
        """A parameter with None for each symbolic size, and `nested(jaxpr)` for each jaxpr."""
        if is_symbolic(value) and not is_symbolic(normalised(value)):
            return int(normalised(value))
        if is_symbolic(value):
            self.sizes.append(self._scope.held(value))
            return None
        if isinstance(value, ClosedJaxpr | Jaxpr):
            return self._nested(value)
        if isinstance(value, ShapedArray) and any(map(is_symbolic, value.shape)):
            type_ = self._scope.type_of(value)
            self.sizes += [size for size in type_.shape or () if not isinstance(size, int)]
            return type_
        return map_parts(self.explicit, value)


def map_parts(function: Callable[[Any], Any], value: Any) -> Any:
    """A tuple or list with `function` applied to its parts; anything else as it is."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(function, value))
    if type(value) in (tuple, list):
        return type(value)(map(function, value))
    return value
