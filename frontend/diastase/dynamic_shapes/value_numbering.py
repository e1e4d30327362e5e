"""Values that a program computes twice: `x[x > 0] * y[x > 0]` has two masks of one value.

Each of them would have a size of its own, and the arrays could not be multiplied. `SameValues`
finds that two recorded tracers are the same operations on the same operands, of which JAX keeps
both. Operations are pure, but for those with effects, which are never the same; nor are those with
more than one result, and those whose parameters cannot be compared.

The trap: a value of a nested trace is not there outside of it, so traces are part of the key.
"""

from collections.abc import Hashable
from typing import Any

from jax.extend.core import Var

from diastase_mlir.jax_compat import (
    is_recorded_variable,
    tracer_equation,
    tracer_trace,
    tracer_variable,
)

_LONGEST_DERIVATION = 100
_IMPURE = frozenset({"rng_uniform"})


class SameValues:
    """The first of the variables that hold the same value, for each variable asked about."""

    def __init__(self) -> None:
        self._first: dict[Hashable, Var] = {}
        self._representatives: dict[Var, Var] = {}
        # A trace is known by its identity, which must not be given to another one.
        self._alive: list[Any] = []

    def representative(self, tracer: Any) -> Var:
        """One variable for all recorded tracers of this tracer's value."""
        return self._representative(tracer, _LONGEST_DERIVATION)

    def _representative(self, tracer: Any, depth: int) -> Var:
        variable = tracer_variable(tracer)
        if variable not in self._representatives:
            key = self._key(tracer, depth) if depth else None
            first = variable if key is None else self._first.setdefault(key, variable)
            self._representatives[variable] = first
        return self._representatives[variable]

    def _key(self, tracer: Any, depth: int) -> Hashable | None:
        equation = tracer_equation(tracer)
        if equation is None or equation.primitive.multiple_results or equation.effects:
            return None
        if equation.primitive.name in _IMPURE:
            return None
        operands = [self._operand(operand, depth - 1) for operand in equation.in_tracers]
        parameters = tuple(sorted(equation.params.items(), key=lambda pair: pair[0]))
        key = (id(tracer_trace(tracer)), equation.primitive, parameters, *operands)
        try:
            hash(key)
        except TypeError:  # an array among the parameters
            return None
        self._alive.append(tracer_trace(tracer))
        return key

    def _operand(self, operand: Any, depth: int) -> Hashable:
        if is_recorded_variable(operand):
            return self._representative(operand, depth)
        literal = operand.val
        return str(literal.aval), repr(literal.val)
