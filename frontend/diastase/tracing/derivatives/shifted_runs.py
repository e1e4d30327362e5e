"""Runs with shifted parameters, and what is made of them.

Each parameter that is differentiated by has a `Rule`: terms, each of which takes one run. Runs are
numbered in the order of execution, so the first parameter has the runs 0, 1, ... of its terms:

    Shifts      the circuit of run r: the parameter that r belongs to, shifted by the term's shift
    Weighted    the classical program  sum over parameters p of p * (terms' coefficients . results),
                with the results of all runs, an array with a row for each, held fixed; its
                derivatives by the arguments are those of the circuit
    Counts      how many runs there are
    Perturbs    the circuit with all parameters shifted at once, by a vector
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Literal

from diastase.errors import NoDerivativeError
from diastase.tracing.derivatives.activity import Activity, touches_register
from diastase.tracing.derivatives.regions import is_register_aval
from diastase.tracing.derivatives.shift_rules import Term
from diastase.tracing.derivatives.walks import OPERATIONS, Visitor, Walk
from diastase_mlir.diagnostics import span_of
from diastase_mlir.jax_internals import rebuilt

Equation = Any
_MOVED_BY_SHIFTS = ("gate", "global_phase")


@dataclass(frozen=True)
class Rule:
    """How the derivative by one parameter is found."""

    terms: tuple[Term, ...]
    """Coefficients and shifts of runs of its own."""
    base: float = 0.0
    """The coefficient of the run without shifts."""


@dataclass(frozen=True)
class Rules:
    """The rules of all parameters of a body."""

    method: str
    activity: Activity
    of_gate: Callable[[Equation, int], Rule]

    def active(self, equation: Equation) -> list[tuple[int, Rule]]:
        """The parameters of an operation that are differentiated by, with their rules."""
        flags = self.activity.of(equation)[1:]
        name = equation.primitive.name
        if name not in _MOVED_BY_SHIFTS:
            if any(flags):
                self._refuse(equation)
            return []
        if name == "global_phase":
            return []
        numbers = range(equation.params["num_parameters"])
        return [(number, self.of_gate(equation, number)) for number in numbers if flags[number]]

    def _refuse(self, equation: Equation) -> None:
        raise NoDerivativeError(
            construct=_CONSTRUCTS.get(equation.primitive.name, "this operation"),
            reason=f"diff_method={self.method!r} shifts the parameters of gates, and an array is "
            "none: use 'adjoint' or 'backprop', without shots",
            span=span_of(equation.source_info),
        )


_CONSTRUCTS = {
    "unitary": "a gate given by its matrix",
    "diagonal": "a gate given by its diagonal",
    "prepare": "StatePrep",
}


class Shifts(Visitor):
    """The circuit of one run."""

    def __init__(self, rules: Rules, run: Any) -> None:
        self._rules, self._run = rules, run

    def operate(self, walk: Walk, equation: Equation, operands: Sequence[Any]) -> Sequence[Any]:
        """Shift the parameter that the run belongs to."""
        changed = list(operands)
        for number, rule in self._rules.active(equation):
            term = self._run - walk.position
            shift: Any = 0.0
            for position, (_, amount) in enumerate(rule.terms):
                shift = jnp.where(term == position, amount, shift)
            changed[number] = changed[number] + shift
            walk.position = walk.position + len(rule.terms)
        return changed


class Perturbs(Visitor):
    """The circuit with all parameters shifted."""

    def __init__(self, rules: Rules, shifts: Any) -> None:
        self._rules, self._shifts = rules, shifts

    def operate(self, walk: Walk, equation: Equation, operands: Sequence[Any]) -> Sequence[Any]:
        """Shift each parameter by its own element."""
        changed = list(operands)
        for number, _ in self._rules.active(equation):
            shift = jax.lax.dynamic_index_in_dim(self._shifts, walk.position, keepdims=False)
            changed[number] = changed[number] + shift
            walk.position = walk.position + 1
        return changed


class Counts(Visitor):
    """How many runs there are."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def operate(self, walk: Walk, equation: Equation, operands: Sequence[Any]) -> Sequence[Any]:
        """Count the runs of an operation's parameters."""
        walk.position = walk.position + _runs(self._rules, equation)
        return operands


class Weighted(Visitor):
    """The sum of all parameters, with weights made of the results of runs."""

    def __init__(self, rules: Rules, results: Any, base: Any) -> None:
        self._rules, self._results, self._base = rules, results, base

    def operate(self, walk: Walk, equation: Equation, operands: Sequence[Any]) -> Sequence[Any]:
        """Note an operation's parameters; those with equal rules are added at once."""
        for number, rule in self._rules.active(equation):
            if walk.pending and walk.pending[-1][0] != rule:
                self.settle(walk)
            walk.pending.append((rule, operands[number]))
        return operands

    def settle(self, walk: Walk) -> None:
        """Add what is pending: parameters with equal rules."""
        if not walk.pending:
            return
        rule = walk.pending[0][0]
        values = jnp.stack([jnp.asarray(value, jnp.float64) for _, value in walk.pending])
        walk.pending = []
        count, terms = values.shape[0], len(rule.terms)
        size = count * terms
        weights: Any = 0.0
        if terms:
            start = jnp.asarray(walk.position, jnp.int64)
            rows = jax.lax.dynamic_slice_in_dim(self._results, start, size)
            rows = rows.reshape(count, terms, -1)
            for position, (coefficient, _) in enumerate(rule.terms):
                weights = weights + coefficient * rows[:, position]
        if rule.base and self._base is not None:
            weights = weights + rule.base * self._base[None, :]
        walk.position = walk.position + size
        walk.total = walk.total + jnp.sum(values[:, None] * weights, axis=0)


def _runs(rules: Rules, equation: Equation) -> int:
    return sum(len(rule.terms) for _, rule in rules.active(equation))


def longest(closed: ClosedJaxpr, rules: Rules) -> int:
    """No fewer runs than any stretch of operations in one region takes."""
    total = 0
    for equation in closed.jaxpr.eqns:
        if equation.primitive.name in OPERATIONS:
            total += _runs(rules, equation)
        for value in equation.params.values():
            for part in value if isinstance(value, tuple) else (value,):
                total += longest(part, rules) if isinstance(part, ClosedJaxpr) else 0
    return total


def head_of(closed: ClosedJaxpr) -> ClosedJaxpr:
    """A body up to its measurements, and without what is computed of them; gives the register."""
    measured, kept, registers = set[Any](), list[Equation](), list[Any]()
    for equation in closed.jaxpr.eqns:
        inputs = [atom for atom in equation.invars if not isinstance(atom, Literal)]
        if any(atom in measured for atom in inputs) or not _keeps(equation):
            measured.update(equation.outvars)
            continue
        kept.append(equation)
        registers = [v for v in equation.outvars if is_register_aval(v.aval)] or registers
    return rebuilt(closed, closed.jaxpr.invars, kept, registers)


def _keeps(equation: Equation) -> bool:
    name = equation.primitive.name
    moves = name in OPERATIONS or name in ("allocate_qubits", "for_loop", "while_loop", "switch")
    return moves or not touches_register(equation)
