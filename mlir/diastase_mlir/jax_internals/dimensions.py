"""Dimension expressions: taken apart, evaluated, and made over symbols that may be zero.

`jax.export.symbolic_shape` makes dimension expressions; nothing public takes them apart. It takes
every symbol to be at least 1, and has no way to add to what is known about a symbol while tracing
goes on: `SizeScope` has.
"""

# Private names are what this package is for.
# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false

from collections.abc import Mapping, Sequence
from typing import Any

from jax._src import core
from jax._src.export import shape_poly
from jax._src.export.shape_poly_decision import _DecisionByElimination


def is_symbolic(dimension: Any) -> bool:
    """Whether a size is a dimension expression, not a plain number."""
    return core.is_symbolic_dim(dimension)


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


def dimension_symbols(dimension: Any) -> set[str]:
    """All symbols in an expression."""
    return dimension._get_vars()


def evaluate_dimension(dimension: Any, sizes: Mapping[str, int]) -> int:
    """The number that an expression is for these values of its symbols."""
    return int(dimension._evaluate(sizes))


class SizeScope(shape_poly.SymbolicScope):
    """A scope whose symbols are any integers, except for what has become known of them."""

    def symbol(self, name: str) -> Any:
        """The expression that is this symbol alone."""
        return shape_poly._DimExpr._from_var(name, self)

    def learn_not_negative(self, expression: Any) -> None:
        """From now on, decisions may use `expression >= 0`."""
        constraint = shape_poly._SymbolicConstraint(
            cmp=shape_poly.Comparator.GEQ,
            debug_str=f"{expression} >= 0",
            e1=expression,
            e2=0,
            diff=expression,
        )
        self._explicit_constraints.append(constraint)
        self._decision_initial_state = None
        self._bounds_cache.clear()


_jax_implicit_constraints = _DecisionByElimination.add_implicit_constraints_term


def _implicit_constraints(decision: Any, term: Any) -> None:
    if not isinstance(decision.scope, SizeScope):
        _jax_implicit_constraints(decision, term)
    elif term.to_factor() is None:
        _product_constraint(decision, term)
    elif term.to_var() is None:
        _jax_implicit_constraints(decision, term)


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


_decision_class: Any = _DecisionByElimination
_decision_class.add_implicit_constraints_term = _implicit_constraints


def lower_bound(dimension: Any) -> float:
    """The least value that an expression can be shown to have; minus infinity if unknown."""
    return shape_poly._bounds_decision(dimension, shape_poly.BoundsPrecision.BEST)[0]


def symbol_of(dimension: Any) -> str | None:
    """The symbol that an expression is, None where it is anything else."""
    return dimension._to_var()


def substitute(dimension: Any, values: Mapping[str, Any]) -> Any:
    """An expression with its symbols replaced by other expressions."""
    return dimension._evaluate(values)


def symbol_expression(dimension: Any, name: str) -> Any:
    """The expression that is one of an expression's symbols alone."""
    return shape_poly._DimExpr._from_var(name, dimension.scope)
