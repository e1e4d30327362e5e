"""Dimension expressions: taken apart, evaluated, and made over symbols that may be zero.

`jax.export.symbolic_shape` makes dimension expressions; nothing public takes them apart. It takes
every symbol to be at least 1, and has no way to add to what is known about a symbol while tracing
goes on: `SizeScope` has.
"""

# Private names are what this package is for.
# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false

import operator
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

from jax.errors import ConcretizationTypeError
from jax.export import SymbolicScope, symbolic_shape

from diastase_mlir.jax_compat.patches import SIZES
from diastase_mlir.jax_compat.private import JAX, patch, shape_poly, shape_poly_decision


def is_symbolic(dimension: Any) -> bool:
    """Whether a size is a dimension expression, not a plain number."""
    return isinstance(dimension, _EXPRESSIONS)


def is_number(dimension: Any) -> bool:
    """Whether a size, or what one is compared with, is an integer that is known now."""
    try:
        operator.index(dimension)
    except (TypeError, ConcretizationTypeError):
        return False
    return True


def dimension_terms(dimension: Any) -> Sequence[tuple[Sequence[tuple[Any, int]], int]]:
    """An expression as a sum: `((factor, power)…, coefficient)` for each term."""
    return [(term._factors, coefficient) for term, coefficient in dimension._sorted_terms]


def factor_symbol(factor: Any) -> str | None:
    """The symbol that a factor is, or None where it is an operation."""
    return factor.var


def factor_operation(factor: Any) -> tuple[str, Sequence[Any]]:
    """Operation (`floordiv`, `mod`, `max`, `min`) and operands (sizes) of a factor."""
    return factor.operation, [_plain(operand) for operand in factor.operands]


def _plain(operand: Any) -> Any:
    """An operand as a number, where it is a constant dressed up as an expression."""
    constant = shape_poly._DimExpr._to_constant(operand)
    return operand if constant is None else constant


def nesting_depth(dimension: Any) -> int:
    """How many operations a size has inside of one another, apart from sums and products."""
    if not is_symbolic(dimension):
        return 0
    factors = [factor for term, _ in dimension_terms(dimension) for factor, _ in term]
    operations = [factor for factor in factors if factor_symbol(factor) is None]
    operands = [operand for factor in operations for operand in factor_operation(factor)[1]]
    return bool(operations) + max(map(nesting_depth, operands), default=0)


def dimension_symbols(dimension: Any) -> set[str]:
    """All symbols in an expression."""
    return dimension._get_vars()


def evaluate_dimension(dimension: Any, sizes: Mapping[str, int]) -> int:
    """The number that an expression is for these values of its symbols.

    In Python's numbers, which do not wrap around: JAX computes with numpy's of 64 bits.
    """
    if not is_symbolic(dimension):
        return int(dimension)
    if not sizes.keys() >= dimension_symbols(dimension):  # JAX knows what they are equal to
        return int(dimension._evaluate(sizes))
    return sum(
        coefficient * prod(_evaluate_factor(factor, sizes) ** power for factor, power in factors)
        for factors, coefficient in dimension_terms(dimension)
    )


def _evaluate_factor(factor: Any, sizes: Mapping[str, int]) -> int:
    name = factor_symbol(factor)
    if name is not None:
        return int(sizes[name])
    operation, operands = factor_operation(factor)
    return _OPERATIONS[operation](*(evaluate_dimension(operand, sizes) for operand in operands))


_OPERATIONS: Mapping[str, Callable[[int, int], int]] = {
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "max": max,
    "min": min,
}


_EXPRESSIONS = type(symbolic_shape("n")[0])
"""The class of dimension expressions, which has no public name."""


class SizeScope(SymbolicScope):
    """A scope whose symbols are any integers, except for what has become known of them.

    What is learnt changes what expressions mean: sizes that were different are equal from then
    on (`==` says so, though their hashes differ: a cache misses, at worst).
    """

    def __init__(self) -> None:
        super().__init__()
        self._equal_to: dict[str, Any] = {}
        """Symbols, and the expressions without any of these symbols that they are equal to."""
        self._zeros: list[Any] = []
        """Differences that are 0, and which no symbol can be replaced to make so."""
        self._everywhere: list[tuple[Any, bool]] = []
        """Differences that are 0 (or, where False, at least 0) wherever they have a value."""

    def symbol(self, name: str) -> Any:
        """The expression that is this symbol alone."""
        JAX.require(SIZES)
        return shape_poly._DimExpr._from_var(name, self)

    def normalised(self, expression: Any) -> Any:
        """An expression with what is equal replaced by one of its kind."""
        if not self._equal_to and not self._zeros:
            return expression
        if not is_symbolic(expression):
            return expression
        names = dimension_symbols(expression)
        if not names.isdisjoint(self._equal_to):
            values = {name: self._equal_to.get(name, self.symbol(name)) for name in names}
            expression = substitute(expression, values)
        for zero in self._zeros:
            expression = _without_pivot(expression, zero)
        return expression

    def learn_not_negative(self, expression: Any, *, everywhere: bool = False) -> None:
        """From now on, decisions may use `expression >= 0`; ignored if it contradicts others.

        `everywhere`: also for what was recorded before, or runs after a check that has failed.
        """
        if everywhere:
            self._everywhere.append((expression, False))
        expression = self.normalised(expression)
        if not is_symbolic(expression):
            return
        constraint = shape_poly._SymbolicConstraint(
            cmp=shape_poly.Comparator.GEQ,
            debug_str=f"{expression} >= 0",
            e1=expression,
            e2=0,
            diff=expression,
        )
        self._explicit_constraints.append(constraint)
        self._forget_decisions()
        try:
            shape_poly_decision._DecisionByElimination.build(self)
        except ValueError:  # unsatisfiable: the program raises before this matters
            self._explicit_constraints.pop()
            self._forget_decisions()

    def learn_equal(self, left: Any, right: Any, *, everywhere: bool = False) -> None:
        """From now on, these sizes are equal; `everywhere` as in `learn_not_negative`."""
        if everywhere:
            self._everywhere.append((left - right, True))
        difference = self.normalised(left - right)
        if not is_symbolic(difference):
            return
        solution = _solve(difference)
        if solution is None:
            self._zeros.append(difference)
            return
        name, value = solution
        self._equal_to = {
            symbol: substitute_some(known, {name: value})
            for symbol, known in self._equal_to.items()
        } | {name: value}
        self._zeros = [zero for zero in map(self.normalised, self._zeros) if is_symbolic(zero)]
        constraints, self._explicit_constraints = self._explicit_constraints, []
        self._forget_decisions()
        for constraint in constraints:
            self.learn_not_negative(constraint.diff)

    def knowledge(self) -> Any:
        """All that has been learnt, for `go_back_to`."""
        return (
            list(self._explicit_constraints),
            dict(self._equal_to),
            list(self._zeros),
            list(self._everywhere),
        )

    def go_back_to(self, knowledge: Any) -> None:
        """Know what was known before."""
        constraints, equal_to, zeros, everywhere = knowledge
        self._explicit_constraints, self._equal_to = list(constraints), dict(equal_to)
        self._zeros, self._everywhere = list(zeros), list(everywhere)
        self._forget_decisions()

    @contextmanager
    def what_holds_everywhere(self) -> Generator[None]:
        """Know only what holds wherever the symbols have a value, whatever has failed before."""
        knowledge, everywhere = self.knowledge(), self._everywhere
        self.go_back_to(([], {}, [], []))
        try:
            for difference, is_zero in everywhere:
                if is_zero:
                    self.learn_equal(difference, 0)
                else:
                    self.learn_not_negative(difference)
            yield
        finally:
            self.go_back_to(knowledge)

    def _forget_decisions(self) -> None:
        self._decision_initial_state = None
        self._bounds_cache.clear()


def _solve(zero: Any) -> tuple[str, Any] | None:
    """The symbol made last in an equation `zero == 0`, and its value, if that is unique.

    Never another: what is defined in a loop must not stand for what is defined outside.
    """
    name = max(dimension_symbols(zero), key=_age)
    symbol = symbol_expression(zero, name)
    for coefficient in (1, -1):
        rest = zero - coefficient * symbol
        if not is_symbolic(rest) or name not in dimension_symbols(rest):
            return name, -coefficient * rest
    return None


def _without_pivot(expression: Any, zero: Any) -> Any:
    """An expression plus the multiple of `zero` that takes the pivot of `zero` out of it.

    The pivot is a term of `zero` which others can replace: `max(0, n - 1)` in
    `max(0, n - 1) - n + 1`.
    """
    if not is_symbolic(expression):
        return expression
    coefficients = dict(expression._sorted_terms)
    for term, coefficient in zero._sorted_terms:
        if abs(coefficient) == 1 and not term.is_constant:
            return expression - coefficients.get(term, 0) * coefficient * zero
    return (
        0 if expression._sorted_terms in (zero._sorted_terms, (-zero)._sorted_terms) else expression
    )


def _age(symbol: str) -> tuple[int, str]:
    """Symbols of ours are numbered as they are made; those with names of the user's are older."""
    return (int(symbol[1:]) if symbol[1:].isdigit() else -1, symbol)


def _bounded_products(original: Callable[..., Any]) -> Callable[..., Any]:
    def add_implicit_constraints_term(decision: Any, term: Any) -> None:
        if not isinstance(decision.scope, SizeScope):
            original(decision, term)
        elif term.to_factor() is None:
            _product_constraint(decision, term)
        elif term.to_var() is None:
            original(decision, term)

    return add_implicit_constraints_term


def _product_constraint(decision: Any, term: Any) -> None:
    """What is known of a product; JAX's own rule fails where nothing is known of a factor."""
    if term in decision._processed_for_internal_constraints:
        return
    decision._processed_for_internal_constraints.add(term)
    least = 1
    for factor, power in term._factors:
        single = shape_poly._DimTerm.from_factor(factor, 1)
        decision.add_implicit_constraints_term(single)
        expression = shape_poly._DimExpr._from_term(single, 1, decision.scope)
        bound = decision.bounds(expression, shape_poly.BoundsPrecision.BEST)[0]
        if bound < 0 and power % 2:
            return
        least *= max(int(bound), 0) ** power if bound >= 0 else 0
    product = shape_poly._DimExpr._from_term(term, 1, decision.scope)
    decision.combine_and_add_constraint(shape_poly.Comparator.GEQ, product, least)


patch("implicit_constraints", _bounded_products)


def normalised(dimension: Any) -> Any:
    """A size with what its scope knows to be equal replaced by one of its kind."""
    scope = getattr(dimension, "scope", None)
    return scope.normalised(dimension) if isinstance(scope, SizeScope) else dimension


def lower_bound(dimension: Any) -> float:
    """The least value that an expression can be shown to have; minus infinity if unknown."""
    return shape_poly._bounds_decision(dimension, shape_poly.BoundsPrecision.BEST)[0]


def least_everywhere(dimension: Any) -> float:
    """The same by what holds wherever its symbols have a value.

    Compiled code that does not check what it writes into must go by this one: a check that has
    failed is an error that is raised at the end, and an assumption may be made after the write.
    """
    scope = getattr(dimension, "scope", None)
    if not isinstance(scope, SizeScope):
        return lower_bound(dimension)
    with scope.what_holds_everywhere():
        least = scope.normalised(dimension)
        return lower_bound(least) if is_symbolic(least) else least


def symbol_of(dimension: Any) -> str | None:
    """The symbol that an expression is, None where it is anything else."""
    return dimension._to_var()


def substitute(dimension: Any, values: Mapping[str, Any]) -> Any:
    """An expression with its symbols replaced by other expressions."""
    return dimension._evaluate(values)


def substitute_some(dimension: Any, values: Mapping[str, Any]) -> Any:
    """The same with some of the symbols replaced, of an expression or a number."""
    if not is_symbolic(dimension) or dimension_symbols(dimension).isdisjoint(values):
        return dimension
    others = {name: symbol_expression(dimension, name) for name in dimension_symbols(dimension)}
    return substitute(dimension, {**others, **values})


def symbol_expression(dimension: Any, name: str) -> Any:
    """The expression that is one of an expression's symbols alone."""
    return shape_poly._DimExpr._from_var(name, dimension.scope)
