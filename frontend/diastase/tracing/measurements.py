"""From the measurement processes that a QNode returns to equations on its final register."""

from collections.abc import Callable
from typing import Any

import jax
import pennylane as qml
from pennylane import measurements

from diastase.primitives import measurement as primitives
from diastase.tracing.gates import record
from diastase.tracing.observables import PauliSum, measured_form
from diastase.tracing.pennylane import describe
from diastase.tracing.quantum_errors import UnsupportedMeasurementError
from diastase.tracing.quantum_scope import CircuitScope
from diastase.tracing.wires import split_positions


def measure_process(process: Any, scope: CircuitScope) -> jax.Array:
    """The value of a measurement process on the scope's register."""
    rule = _RULES.get(type(process))
    if rule is None:
        raise _unsupported(process, "is not compiled yet")
    if process.mv is not None:
        raise _unsupported(process, "of mid-circuit outcomes comes with a later version")
    return rule(process, scope)


def _expectation(process: Any, scope: CircuitScope) -> jax.Array:
    pauli, matrix = primitives.expval_pauli_p, primitives.expval_matrix_p
    return _statistic(process, scope, pauli, matrix)


def _variance(process: Any, scope: CircuitScope) -> jax.Array:
    return _statistic(process, scope, primitives.var_pauli_p, primitives.var_matrix_p)


def _statistic(process: Any, scope: CircuitScope, pauli: Any, matrix: Any) -> jax.Array:
    if process.obs is None:
        raise _unsupported(process, "has no observable")
    form = measured_form(process.obs, scope.wires)
    if isinstance(form, PauliSum):
        wires = [wire for word in form.words for _, wire in word]
        known, operands = split_positions(wires)
        remaining = iter(known)
        words = tuple(tuple((name, next(remaining)) for name, _ in word) for word in form.words)
        return pauli.bind(scope.register, form.coefficients, *operands, words=words)
    known, operands = split_positions(form.wires)
    return matrix.bind(scope.register, form.matrix, *operands, wires=known)


def _probabilities(process: Any, scope: CircuitScope) -> jax.Array:
    if process.obs is not None:
        return _probabilities_of(process.obs, scope)
    labels = process.wires if len(process.wires) > 0 else range(scope.wires.number)
    if len(process.wires) == 0:
        positions: tuple[Any, ...] = tuple(labels)
    else:
        positions = scope.wires.positions(labels, "probs")
    known, operands = split_positions(positions)
    return primitives.probs_p.bind(scope.register, *operands, wires=known)


def _probabilities_of(observable: Any, scope: CircuitScope) -> jax.Array:
    """Of an observable's eigenvalues: in its eigenbasis, on a register that nobody else sees."""
    try:
        with qml.QueuingManager.stop_recording():
            gates = observable.diagonalizing_gates()
            back = [qml.adjoint(gate) for gate in reversed(gates)]
    except Exception as error:
        reason = f"of {describe(observable)}: its eigenbasis is not known at compile time"
        raise UnsupportedMeasurementError(measurement="probs", reason=reason) from error
    for gate in gates:
        record(gate, scope)
    known, operands = split_positions(scope.wires.positions(observable.wires, "probs"))
    result = primitives.probs_p.bind(scope.register, *operands, wires=known)
    for gate in back:
        record(gate, scope)
    return result


def _state(process: Any, scope: CircuitScope) -> jax.Array:
    if len(process.wires) > 0:
        raise _unsupported(process, "on some wires only is not compiled yet")
    return primitives.state_p.bind(scope.register, num_wires=scope.wires.number)


def process_name(process: Any) -> str:
    """What a measurement process is called in a message: `expval`, or its class."""
    return _NAMES.get(type(process), type(process).__name__)


def _unsupported(process: Any, reason: str) -> UnsupportedMeasurementError:
    return UnsupportedMeasurementError(measurement=process_name(process), reason=reason)


_RULES: dict[type, Callable[[Any, CircuitScope], jax.Array]] = {
    measurements.ExpectationMP: _expectation,
    measurements.VarianceMP: _variance,
    measurements.ProbabilityMP: _probabilities,
    measurements.StateMP: _state,
}
"""By exact class: a subclass (DensityMatrixMP is a StateMP) means something else."""

_NAMES: dict[type, str] = {
    measurements.ExpectationMP: "expval",
    measurements.VarianceMP: "var",
    measurements.ProbabilityMP: "probs",
    measurements.StateMP: "state",
    measurements.SampleMP: "sample",
    measurements.CountsMP: "counts",
    measurements.DensityMatrixMP: "density_matrix",
}
