"""The runs of a derivative: shifted circuits, Hadamard tests, and the sum of their results.

Each parameter that is differentiated by (`parameters`) has a `Rule`: terms, each of which takes one
run. Runs are numbered in the order of execution, so the first parameter has the runs 0, 1, ... of
its terms. Visitors of the circuit's body (`circuit_interpreter`):

    Shifts      the circuit of run r: the parameter that r belongs to, shifted by the term's shift
    Weighted    the classical program  sum over parameters p of p * (terms' coefficients . results),
                with the results of all runs, an array with a row for each, held fixed; its
                derivatives by the arguments are those of the circuit
    Counts      how many runs there are
    Perturbs    the circuit with all parameters shifted at once, by a vector
    Tests       the Hadamard test of run r, which estimates <Y x O>: one more wire in |+>, the
                *auxiliary wire*, which after the operation that r belongs to controls the letters
                of r's Pauli word, and is measured in Y

The outcome of the auxiliary wire is the sign of the shot: it is noted in the packed outcomes
(`sampling.samples.SIGN`), and averages over shots are weighted with signs there. A test of a test
has two auxiliary wires, and the product of two signs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from diastase.autodiff.parameter_shift.parameters import Parameters, Rules, Values
from diastase.autodiff.parameter_shift.shift_rules import Rule
from diastase.jaxprs.circuit_interpreter import Visitor, Walk
from diastase.primitives.define import Role, has_role
from diastase.primitives.quantum import allocate_p, gate_p, is_register, touches_register, unitary_p
from diastase.primitives.sampling import sample_p
from diastase.quantum.qnode.samples import SIGN
from diastase_mlir.jax_compat import equations_in, evaluate_equation, rebuilt

Equation = Any


@dataclass
class _OfParameters(Visitor):
    """What happens at the operations whose parameters are differentiated by."""

    rules: Rules

    def operate(self, walk: Walk, equation: Equation, operands: Values) -> Values:
        """Operands to go on with."""
        parameters = self.rules.active(equation)
        return operands if parameters is None else self.at(walk, parameters, operands)

    def at(self, walk: Walk, parameters: Parameters, operands: Values) -> Values:
        """The same, for an operation with such parameters."""
        raise NotImplementedError


@dataclass
class Shifts(_OfParameters):
    """The circuit of one run."""

    run: Any

    def at(self, walk: Walk, parameters: Parameters, operands: Values) -> Values:
        """Shift the parameter that the run belongs to."""
        needs_values = any(rule.multiples for rule in parameters.rules)
        values = parameters.values(operands) if needs_values else [0.0] * len(parameters.rules)
        shifts = list[Any]()
        for rule, value in zip(parameters.rules, values, strict=True):
            shifts.append(_shift(rule, value, self.run - walk.position))
            walk.position = walk.position + len(rule.terms)
        return parameters.shifted(operands, shifts)


def _shift(rule: Rule, value: Any, term: Any) -> Any:
    """That of a parameter in the run of one of its terms; zero in others."""
    shift: Any = jnp.float64(0)
    for position, (_, amount) in enumerate(rule.terms):
        if rule.multiples:
            amount = amount + (rule.multiples[position] - 1) * value
        shift = jnp.where(term == position, amount, shift)
    return shift


@dataclass
class Perturbs(_OfParameters):
    """The circuit with all parameters shifted."""

    shifts: Any

    def at(self, walk: Walk, parameters: Parameters, operands: Values) -> Values:
        """Shift each parameter by its own element."""
        count = len(parameters.rules)
        if isinstance(walk.position, int):
            own = jax.lax.slice_in_dim(self.shifts, walk.position, walk.position + count)
        else:
            own = jax.lax.dynamic_slice_in_dim(self.shifts, walk.position, count)
        walk.position = walk.position + count
        shifts = [jax.lax.squeeze(part, [0]) for part in jax.lax.split(own, [1] * count)]
        return parameters.shifted(operands, shifts)


@dataclass
class Counts(_OfParameters):
    """How many runs there are."""

    def at(self, walk: Walk, parameters: Parameters, operands: Values) -> Values:
        """Count the runs of an operation's parameters."""
        walk.position = walk.position + _runs(parameters)
        return operands


@dataclass
class Weighted(_OfParameters):
    """The sum of all parameters, with weights made of the results of runs."""

    results: Any
    base: Any

    def at(self, walk: Walk, parameters: Parameters, operands: Values) -> Values:
        """Note an operation's parameters; those with equal rules are added at once."""
        for rule, value in zip(parameters.rules, parameters.values(operands), strict=True):
            if walk.pending and walk.pending[-1][0] != rule:
                self.settle(walk)
            walk.pending.append((rule, value))
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
            rows = jax.lax.dynamic_slice_in_dim(self.results, start, size)
            rows = rows.reshape(count, terms, -1)
            for position, (coefficient, _) in enumerate(rule.terms):
                weights = weights + coefficient * rows[:, position]
        if rule.base and self.base is not None:
            weights = weights + rule.base * self.base[None, :]
        walk.position = walk.position + size
        walk.total = walk.total + jnp.sum(values[:, None] * weights, axis=0)


def _runs(parameters: Parameters | None) -> int:
    return 0 if parameters is None else sum(len(rule.terms) for rule in parameters.rules)


def longest(closed: ClosedJaxpr, rules: Rules) -> int:
    """No fewer runs than any stretch of operations in one region takes."""
    operations = (each for each in equations_in(closed) if has_role(each, Role.OPERATION))
    return sum(_runs(rules.active(equation)) for equation in operations)


def head_of(closed: ClosedJaxpr) -> ClosedJaxpr:
    """A body up to its measurements, and without what is computed of them; gives the register."""
    measured, kept, registers = set[Any](), list[Equation](), list[Any]()
    for equation in closed.jaxpr.eqns:
        inputs = [atom for atom in equation.invars if not isinstance(atom, Literal)]
        if any(atom in measured for atom in inputs) or not _keeps(equation):
            measured.update(equation.outvars)
            continue
        kept.append(equation)
        registers = [v for v in equation.outvars if is_register(v)] or registers
    return rebuilt(closed, closed.jaxpr.invars, kept, registers)


def _keeps(equation: Equation) -> bool:
    return (
        not touches_register(equation)
        or equation.primitive is allocate_p
        or has_role(equation, Role.OPERATION, Role.CONTROL_FLOW)
    )


_LETTERS = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])


@dataclass
class Tests(Visitor):
    """The circuit of one Hadamard test."""

    rules: Rules
    run: Any
    _wire: Any = None
    """The auxiliary wire."""
    _is_turned: bool = False

    def allocate(self, equation: Equation, operands: Sequence[Any]) -> Any:
        """A register with one more wire, in |+>."""
        number = equation.params["num_wires"]
        if number is None:
            (self._wire,) = operands
            register = equation.primitive.bind(self._wire + 1, **equation.params)
        else:
            self._wire = number
            register = equation.primitive.bind(**{**equation.params, "num_wires": number + 1})
        return self._on_wire("Hadamard", register)

    def apply(self, walk: Walk, equation: Equation, operands: Sequence[Any]) -> None:
        """The operation; then control the word of this run, if it belongs to it."""
        super().apply(walk, equation, operands)
        parameters = self.rules.active(equation)
        if parameters is None:
            return
        count = len(parameters.tests)
        test = self.run - walk.position
        walk.position = walk.position + count
        table = np.array([*parameters.tests, (0,) * len(equation.params["wires"])])
        is_here = (test >= 0) & (test < count)
        letters = jnp.asarray(table)[jnp.where(is_here, test, count)]
        wires = equation.params["wires"]
        traced = iter(operands[len(operands) - wires.count(None) :])
        for place, wire in enumerate(wires):
            matrix = jnp.asarray(_LETTERS)[letters[place]]
            wire_operands = [next(traced)] if wire is None else []
            known, more = self._with_wire((wire,))
            walk.register = unitary_p.bind(
                walk.register, matrix, *wire_operands, *more, wires=known, control_values=(True,)
            )

    def measure(self, walk: Walk, equation: Equation, operands: Sequence[Any]) -> Sequence[Any]:
        """Samples have the sign of their shot."""
        if equation.primitive is not sample_p:
            return evaluate_equation(equation, operands)
        if not self._is_turned:
            walk.register = self._on_wire("Adjoint(S)", walk.register)
            walk.register = self._on_wire("Hadamard", walk.register)
            self._is_turned = True
        known, more = self._with_wire(equation.params["wires"])
        params = {**equation.params, "wires": known}
        found = sample_p.bind(walk.register, *operands[1:], *more, **params)
        old, sign = found & SIGN, (found & 1) << np.int64(SIGN.bit_length() - 1)
        return [((found ^ old) >> 1) | (old ^ sign)]

    def _with_wire(self, wires: Sequence[Any]) -> tuple[tuple[Any, ...], list[Any]]:
        """The wires and the auxiliary one, and the latter as an operand, where it is traced."""
        known = isinstance(self._wire, int)
        return (*wires, self._wire if known else None), [] if known else [self._wire]

    def _on_wire(self, name: str, register: Any) -> Any:
        known, more = self._with_wire(())
        return gate_p.bind(
            register, *more, name=name, num_parameters=0, wires=known, control_values=()
        )
