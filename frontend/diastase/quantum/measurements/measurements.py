"""Density matrices of some wires, and what is computed from them.

The entropy of some wires of a pure state is that of the others, so it is taken of the smaller part
where wires and their number are known.

From the measurement processes that a QNode returns to equations on its final register.

Expectation values and variances of an observable's measured form, on a register.

`qml.Snapshot` in a compiled circuit: its QNode returns `(snapshots, results)`, as in Catalyst.

In: a snapshot where the circuit has it, at the top level of the QNode, and the register as it is
there. Out: what it sees, a classical value beside what the quantum function returns.

The trap: the size of a state is needed in the middle of the circuit, where a device without wires
does not know it; then the circuit is traced again (`wires.wire_discovery`).
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from pennylane import measurements
from pennylane.measurements import StateMP
from pennylane.queuing import AnnotatedQueue

from diastase.capture.quantum_errors import UnsupportedMeasurementError, UnsupportedOperationError
from diastase.primitives import measurement, statevector
from diastase.primitives import measurement as primitives
from diastase.primitives.matrix_functions import logarithm_of_positive
from diastase.primitives.measurement import PauliWord, density_matrix_p
from diastase.quantum.circuit_scope import CircuitScope
from diastase.quantum.observables.factors import Matrix, Scratch, applied_sum
from diastase.quantum.observables.measured_forms import (
    Mixed,
    measured_form,
    measured_wires,
    rotate_to_eigenbasis,
)
from diastase.quantum.observables.terms import PauliSum
from diastase.quantum.settings.qnode_settings import QNodeSettings
from diastase.quantum.wires import Position, WireMap, split_positions
from diastase_mlir.jax_compat import as_constant


def density_matrix(positions: Sequence[Position], register: Any) -> jax.Array:
    """The state of some wires, the others traced out."""
    known, operands = split_positions(positions)
    return density_matrix_p.bind(register, *operands, wires=known)


def purity(positions: Sequence[Position], wires: WireMap, register: Any) -> jax.Array:
    """The trace of the squared density matrix."""
    return purity_of(density_matrix(_smaller(positions, wires), register))


def purity_of(matrix: jax.Array) -> jax.Array:
    """The same of a density matrix."""
    return jnp.sum(matrix.real**2 + matrix.imag**2)


def entropy(
    positions: Sequence[Position], log_base: Any, wires: WireMap, register: Any
) -> jax.Array:
    """The entropy of some wires' state, in nats or in a base."""
    part = _smaller(positions, wires)
    if not part:
        return jnp.zeros(())
    return entropy_of(density_matrix(part, register), log_base)


def entropy_of(matrix: jax.Array, log_base: Any) -> jax.Array:
    """The same of a density matrix."""
    nats = _nats(matrix)
    return nats if log_base is None else nats / jnp.log(log_base)


@jax.custom_jvp
def _nats(matrix: jax.Array) -> jax.Array:
    weights = jnp.linalg.eigvalsh(matrix)
    positive = jnp.where(weights > 0, weights, 1.0)
    return -jnp.sum(positive * jnp.log(positive))


@_nats.defjvp
def _(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
    """By the matrix, not by its eigenvalues, which have no second derivatives where they meet."""
    (matrix,), (change,) = primals, tangents
    logarithm = logarithm_of_positive(matrix)
    moved = jnp.sum(logarithm.T * change) + jnp.trace(change)
    value = _nats(matrix)
    return value, -moved.real.astype(value.dtype)


def _smaller(positions: Sequence[Position], wires: WireMap) -> Sequence[Position]:
    """These wires or all others, whichever are fewer."""
    if wires.traced is not None or not all(isinstance(wire, int) for wire in positions):
        return positions
    others = [wire for wire in range(wires.number) if wire not in positions]
    return others if len(others) < len(positions) else positions


def measure_process(process: Any, scope: CircuitScope) -> jax.Array:
    """The value of a measurement process on the scope's register."""
    rule = _RULES.get(type(process))
    if type(process) in _NEED_SHOTS:
        raise _unsupported(process, "needs shots, and the QNode has none")
    if rule is None:
        raise _unsupported(process, "is not compiled yet")
    return rule(process, scope)


def _expectation(process: Any, scope: CircuitScope) -> jax.Array:
    return expectation(_observable(process), scope.wires, scope.register)


def _variance(process: Any, scope: CircuitScope) -> jax.Array:
    return variance(_observable(process), scope.wires, scope.register)


def _observable(process: Any) -> Any:
    if process.obs is None:
        raise _unsupported(process, "has no observable")
    return process.obs


def _probabilities(process: Any, scope: CircuitScope) -> jax.Array:
    if process.obs is not None:
        return _probabilities_of(process.obs, scope)
    if len(process.wires) == 0:
        return primitives.probs_p.bind(scope.register, wires=(), size=scope.wires.states)
    return _probabilities_on(_positions(process, scope), scope.register)


def _probabilities_on(positions: Sequence[Position], register: Any) -> jax.Array:
    known, operands = split_positions(positions)
    return primitives.probs_p.bind(register, *operands, wires=known, size=2 ** len(known))


def _probabilities_of(observable: Any, scope: CircuitScope) -> jax.Array:
    """Of an observable's eigenvalues: in its eigenbasis, on a copy of the register."""
    scratch = Scratch(scope.wires, scope.register)
    rotate_to_eigenbasis(observable, scratch)
    positions = measured_wires(observable, scope.wires)
    result = _probabilities_on(positions, scratch.register)
    scratch.release()
    return result


def _state(process: Any, scope: CircuitScope) -> jax.Array:
    if len(process.wires) > 0:
        raise _unsupported(process, "on some wires only is not compiled yet")
    return primitives.state_p.bind(scope.register, size=scope.wires.states)


def _density_matrix(process: Any, scope: CircuitScope) -> jax.Array:
    return density_matrix(_positions(process, scope), scope.register)


def _purity(process: Any, scope: CircuitScope) -> jax.Array:
    return purity(_positions(process, scope), scope.wires, scope.register)


def _entropy(process: Any, scope: CircuitScope) -> jax.Array:
    positions = _positions(process, scope)
    return entropy(positions, process.log_base, scope.wires, scope.register)


def _mutual_information(process: Any, scope: CircuitScope) -> jax.Array:
    """Of two parts: the entropy of each, less that of both."""
    parts = [scope.wires.positions(wires, "mutual_info") for wires in process.raw_wires]
    base, register = process.log_base, scope.register
    first, second = (entropy(part, base, scope.wires, register) for part in parts)
    return first + second - entropy([*parts[0], *parts[1]], base, scope.wires, register)


def _positions(process: Any, scope: CircuitScope) -> tuple[Position, ...]:
    return scope.wires.positions(process.wires, process_name(process))


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
    measurements.DensityMatrixMP: _density_matrix,
    measurements.PurityMP: _purity,
    measurements.VnEntropyMP: _entropy,
    measurements.MutualInfoMP: _mutual_information,
}
"""By exact class: a subclass (DensityMatrixMP is a StateMP) means something else."""

_NEED_SHOTS = (
    measurements.SampleMP,
    measurements.CountsMP,
    measurements.ClassicalShadowMP,
    measurements.ShadowExpvalMP,
)
"""What is made of shots; see `quantum.sampling`."""

_NAMES: dict[type, str] = {
    measurements.ExpectationMP: "expval",
    measurements.VarianceMP: "var",
    measurements.ProbabilityMP: "probs",
    measurements.StateMP: "state",
    measurements.SampleMP: "sample",
    measurements.CountsMP: "counts",
    measurements.DensityMatrixMP: "density_matrix",
    measurements.PurityMP: "purity",
    measurements.VnEntropyMP: "vn_entropy",
    measurements.MutualInfoMP: "mutual_info",
    measurements.ClassicalShadowMP: "classical_shadow",
    measurements.ShadowExpvalMP: "shadow_expval",
}


def expectation(observable: Any, wires: WireMap, register: Any) -> jax.Array:
    """Return <O>."""
    form = measured_form(observable, wires)
    if not isinstance(form, Mixed):
        pauli, matrix = measurement.expval_pauli_p, measurement.expval_matrix_p
        return _statistic(form, register, pauli, matrix)
    total: Any = 0.0
    if form.words.words:
        total = _words_statistic(form.words, register, measurement.expval_pauli_p)
    for term in form.terms:
        product = term.applied(wires, register)
        overlap = statevector.inner_product_p.bind(register, product.register)
        product.release()
        total = total + jnp.real(term.scale * overlap)
    return total


def variance(observable: Any, wires: WireMap, register: Any) -> jax.Array:
    """Return <O O> - <O>^2."""
    form = measured_form(observable, wires)
    if not isinstance(form, Mixed):
        pauli, matrix = measurement.var_pauli_p, measurement.var_matrix_p
        return _statistic(form, register, pauli, matrix)
    product = _applied(form, wires, register)
    mean = jnp.real(statevector.inner_product_p.bind(register, product.register))
    square = jnp.real(statevector.inner_product_p.bind(product.register, product.register))
    product.release()
    return square - mean * mean


def _applied(form: Mixed, wires: WireMap, register: Any) -> Scratch:
    """The observable times the register."""
    result = applied_sum(form.terms, wires, register)
    if form.words.words:
        words, operands = word_parameters(form.words)
        coefficients = form.words.coefficients
        result.advance(statevector.add_pauli_sum_p, register, coefficients, *operands, words=words)
    return result


def _statistic(form: PauliSum | Matrix, register: Any, pauli: Any, matrix: Any) -> jax.Array:
    if isinstance(form, PauliSum):
        return _words_statistic(form, register, pauli)
    known, operands = split_positions(form.wires)
    return matrix.bind(register, form.matrix, *operands, wires=known)


def _words_statistic(words: PauliSum, register: Any, primitive: Any) -> jax.Array:
    parameters, operands = word_parameters(words)
    coefficients = words.coefficients
    if isinstance(coefficients, np.ndarray):
        settings = jax.dtypes.canonicalize_dtype(np.float64)
        coefficients = _constant(coefficients.tobytes(), settings)
    return primitive.bind(register, coefficients, *operands, words=parameters)


@lru_cache(maxsize=256)
def _constant(numbers: bytes, settings: Any) -> Any:
    """Known coefficients: equal ones are one object, and so one constant of a program.

    `settings`: what JAX makes of such numbers now.
    """
    return as_constant(np.frombuffer(numbers, dtype=np.float64))


def word_parameters(words: PauliSum) -> tuple[tuple[PauliWord, ...], Sequence[Any]]:
    """Words as primitives take them, and their traced wires."""
    wires = [wire for word in words.words for _, wire in word]
    known, operands = split_positions(wires)
    remaining = iter(known)
    parameters = tuple(
        tuple((letter, next(remaining)) for letter, _ in word) for word in words.words
    )
    return parameters, operands


class WithSnapshots(NamedTuple):
    """What a QNode with snapshots returns."""

    snapshots: list[Any]
    results: Any


def measure_snapshot(settings: QNodeSettings, operator: Any, scope: CircuitScope) -> Any:
    """What a snapshot sees: exact, of the register as it is."""
    if not scope.is_outermost or scope.unitary_in is not None:
        raise _refusal(
            "is taken once, so it cannot stand in a loop, a branch, an adjoint or a ctrl"
        )
    if scope.has_measured and settings.mcm_method != "single-branch-statistics":
        raise _refusal(
            "after a mid-circuit measurement sees one run only, and there are many of them: "
            "move it, or use mcm_method='single-branch-statistics'"
        )
    process = operator.hyperparameters["measurement"]
    if not settings.is_analytic and not isinstance(process, StateMP):
        reason = "in a Snapshot is exact, and the QNode has shots"
        raise UnsupportedMeasurementError(measurement=process_name(process), reason=reason)
    if scope.wires.must_be_found_first():
        return jnp.zeros(())
    with AnnotatedQueue():
        return measure_process(process, scope)


def _refusal(reason: str) -> UnsupportedOperationError:
    return UnsupportedOperationError(operation="Snapshot", reason=reason)
