"""Hadamard tests: circuits whose shots estimate <Y x O>, for `hadamard` with shots.

The circuit of test r is the same one with one more wire in |+>, the *auxiliary wire*, which after
the operation that r belongs to controls the letters of r's Pauli word, and is measured in Y. Its
outcome is the sign of the shot: it is noted in the packed outcomes (`sampling.shots.SIGN`), and
averages over shots are weighted with signs there.

A test of a test has two auxiliary wires, and the product of two signs.
"""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from diastase.autodiff.parameter_shift.parameters import Rules
from diastase.autodiff.qnode.circuit_interpreter import Visitor, Walk
from diastase.primitives.quantum import gate_p, unitary_p
from diastase.primitives.sampling import sample_p
from diastase.quantum.qnode.samples import SIGN
from diastase_mlir.jax_compat import evaluate_equation

Equation = Any
_LETTERS = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])


class Tests(Visitor):
    """The circuit of one test."""

    def __init__(self, rules: Rules, run: Any) -> None:
        self._rules, self._run = rules, run
        self._wire: Any = None
        """The auxiliary wire."""
        self._is_turned = False

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

    def operate(self, walk: Walk, equation: Equation, operands: Sequence[Any]) -> Sequence[Any]:
        """Operations are as they were."""
        return operands

    def apply(self, walk: Walk, equation: Equation, operands: Sequence[Any]) -> None:
        """The operation; then control the word of this run, if it belongs to it."""
        super().apply(walk, equation, operands)
        parameters = self._rules.active(equation)
        if parameters is None:
            return
        count = len(parameters.tests)
        test = self._run - walk.position
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
