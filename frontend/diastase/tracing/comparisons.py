"""Comparisons of sizes as traced booleans.

`x.shape[0] < 20` in the user's code has a value in each iteration of a loop that resizes `x`; an
answer while tracing would hold in one. So a question about a size that is no argument's is recorded
as a comparison of numbers, and the question is remembered: if Python needs its truth (`if`), it is
answered as any other, by an assumption (`assumptions`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import jax.numpy as jnp
from jax.core import Tracer

from diastase_mlir.jax_internals import (
    COMPARISONS,
    is_recorded,
    is_recorded_variable,
    tracer_equation,
    tracer_variable,
    unwrap_tracer,
)


class Answering(Protocol):
    """Answers questions about sizes."""

    def at_least(self, left: Any, right: Any) -> bool:
        """Whether `left >= right`."""
        ...

    def equal(self, left: Any, right: Any) -> bool:
        """Whether `left == right`."""
        ...


_ANSWERS: Mapping[str, Callable[[Answering, Any, Any], bool]] = {
    ">=": lambda answering, left, right: answering.at_least(left, right),
    "<": lambda answering, left, right: not answering.at_least(left, right),
    "<=": lambda answering, left, right: answering.at_least(right, left),
    ">": lambda answering, left, right: not answering.at_least(right, left),
    "==": lambda answering, left, right: answering.equal(left, right),
    "!=": lambda answering, left, right: not answering.equal(left, right),
}


@dataclass
class SizeComparisons:
    """The comparisons of one trace that are values."""

    _questions: dict[Any, tuple[Any, str, Any]] = field(default_factory=dict)
    # A variable is a key only as long as its tracer lives.
    _alive: list[Any] = field(default_factory=list)

    def value(self, left: Any, comparison: str, right: Any) -> Any | None:
        """A comparison as a traced boolean, None where it cannot be recorded."""
        result = COMPARISONS[comparison](jnp.asarray(left), jnp.asarray(right))
        variable = _variable(result)
        if variable is None:
            return None
        self._questions[variable] = left, comparison, right
        self._alive.append(result)
        return result

    def truth(self, value: Any, answering: Answering) -> bool | None:
        """The answer to the question that a traced boolean is, None if it is something else."""
        variable = _variable(value)
        if variable in self._questions:
            left, comparison, right = self._questions[variable]
            return _ANSWERS[comparison](answering, left, right)
        equation = None if variable is None else tracer_equation(unwrap_tracer(value))
        if equation is None or equation.primitive.name not in _CONNECTIVES:
            return None
        parts = [self.truth(operand, answering) for operand in equation.in_tracers]
        if any(part is None for part in parts):
            return None
        return _CONNECTIVES[equation.primitive.name](parts)


_CONNECTIVES: Mapping[str, Callable[[Any], bool]] = {
    "and": all,
    "or": any,
    "not": lambda parts: not parts[0],
    "convert_element_type": all,  # of one: `&` promotes to a common type, here to the same one
}


def _variable(value: Any) -> Any | None:
    value = unwrap_tracer(value)
    if not isinstance(value, Tracer) or not is_recorded(value) or not is_recorded_variable(value):
        return None
    return tracer_variable(value)
