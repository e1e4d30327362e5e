"""The operations of a region, in stretches: what the surrogate makes of them.

A *stretch* is operations that follow each other with no control flow between them. It is one
equation on vectors of parameters (`rerolling`): thousands of gates written out leave a few
equations. What a region does between stretches is kept as it is.
"""

from collections.abc import Sequence
from typing import Any

from jax.extend.core import ClosedJaxpr

from diastase.autodiff.qnode.parameter_counts import length_of_operation
from diastase.jaxprs.dependence import lasting
from diastase.primitives.define import Role, has_role
from diastase_mlir.jax_compat import rebuilt
from diastase_mlir.rerolling import LEAST_ALIKE, join_positions, register_operations, rerolled

Equation = Any


def in_stretches(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The region with one equation, `operations`, for each stretch."""
    inner = closed.jaxpr
    runs = list(register_operations(inner.eqns, _is_operation))
    joins = join_positions(inner.eqns, LEAST_ALIKE)
    equations = rerolled(inner.eqns, inner.outvars, runs, _parameters, lasting, joins=joins)
    return rebuilt(closed, inner.invars, equations, inner.outvars)


def _is_operation(equation: Equation) -> bool:
    return has_role(equation, Role.RECORDED)


def _parameters(equation: Equation) -> Sequence[Any]:
    """What g has numbers for: scalars, or one array."""
    length = length_of_operation(equation)
    is_array = has_role(equation, Role.OF_ARRAY)
    return equation.invars[1 : 1 + (min(length, 1) if is_array else length)]
