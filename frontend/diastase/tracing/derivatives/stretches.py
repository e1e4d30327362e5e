"""The operations of a region, in stretches: what the surrogate makes of them.

A *stretch* is operations that follow each other with no control flow between them. It is one
equation on vectors of parameters (`rerolling`): thousands of gates written out leave a few
equations. What a region does between stretches is kept as it is.
"""

from collections.abc import Sequence
from typing import Any

from jax.extend.core import ClosedJaxpr

from diastase.tracing.derivatives.lengths import length_of_operation
from diastase.tracing.resizing import dimension_table
from diastase_mlir.jax_internals import rebuilt
from diastase_mlir.rerolling import LEAST_ALIKE, join_positions, register_operations, rerolled

Equation = Any
_OPERATIONS = ("gate", "global_phase", "unitary", "diagonal", "prepare", "check_wires")


def in_stretches(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The region with one equation, `operations`, for each stretch."""
    inner, is_kept = closed.jaxpr, dimension_table().defines_symbols
    runs = list(register_operations(inner.eqns, _is_operation))
    joins = join_positions(inner.eqns, LEAST_ALIKE)
    equations = rerolled(inner.eqns, inner.outvars, runs, _parameters, is_kept, joins=joins)
    return rebuilt(closed, inner.invars, equations, inner.outvars)


def _is_operation(equation: Equation) -> bool:
    return equation.primitive.name in _OPERATIONS


def _parameters(equation: Equation) -> Sequence[Any]:
    """What g has numbers for: scalars, or one array."""
    length = length_of_operation(equation)
    is_scalars = equation.primitive.name in ("gate", "global_phase")
    return equation.invars[1 : 1 + (length if is_scalars else min(length, 1))]
