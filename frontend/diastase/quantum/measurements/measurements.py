"""From measurement processes of a QNode to equations on a register, the final one or a snapshot's.

Expectation values and variances are of an observable's measured form; probabilities of one are
found in its eigenbasis, on a copy of the register. Entropies are computed of density matrices: that
of some wires of a pure state is that of the others, so the smaller part is taken where both are
known.

A QNode with a `qml.Snapshot` returns `(snapshots, results)`, as in Catalyst. The trap: the size of
a state is then needed in the middle of the circuit, where a device without wires does not know it;
such a circuit is traced again (`wires`).
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from pennylane import measurements
from pennylane.measurements import StateMP
from pennylane.queuing import AnnotatedQueue

from diastase.capture.quantum_errors import UnsupportedMeasurementError, UnsupportedOperationError
from diastase.primitives import measurement as primitives
from diastase.primitives import statevector
from diastase.primitives.matrix_functions import logarithm_of_positive
from diastase.quantum.measurements import mixed_statistics, readout
from diastase.quantum.measurements.pauli_operands import bind_words, word_parameters
from diastase.quantum.observables.factors import Matrix, Scratch, applied_sum
from diastase.quantum.observables.measured_forms import (
    Mixed,
    measured_form,
    measured_wires,
    rotate_to_eigenbasis,
)
from diastase.quantum.observables.terms import PauliSum
from diastase.quantum.operators.circuit_scope import CircuitScope
from diastase.quantum.operators.gate_operands import is_density_matrix
from diastase.quantum.settings.qnode_settings import QNodeSettings
from diastase.quantum.wires import Position, bind_on


def measure_process(process: Any, scope: CircuitScope) -> jax.Array:
    """The value of a measurement process on the scope's register."""
    refuse_samples(process)
    rule = _RULES.get(type(process))
    if rule is None:
        raise _unsupported(process, "is not compiled yet")
    return rule(process, scope)


def refuse_samples(process: Any) -> None:
    """Refuse what is made of shots, in a QNode that has none."""
    if needs_shots(process):
        raise UnsupportedMeasurementError(
            measurement=process_name(process), reason=NO_SHOTS, hint=SET_SHOTS
        )


def needs_shots(process: Any) -> bool:
    """Whether a measurement is made of shots; see `quantum.qnode.statistics`."""
    return type(process) in _NEED_SHOTS


NO_SHOTS = "needs shots, and the QNode has none"
SET_SHOTS = "set them: @qml.set_shots(1000) above @qml.qnode"


def process_name(process: Any) -> str:
    """What a measurement process is called in a message: `expval`, or its class."""
    return _NAMES.get(type(process), type(process).__name__)


def _unsupported(process: Any, reason: str) -> UnsupportedMeasurementError:
    return UnsupportedMeasurementError(measurement=process_name(process), reason=reason)


def _positions(process: Any, scope: CircuitScope) -> tuple[Position, ...]:
    return scope.wires.positions(process.wires, process_name(process))


def _state(process: Any, scope: CircuitScope) -> jax.Array:
    if len(process.wires) > 0:
        raise _unsupported(process, "on some wires only is not compiled yet")
    return primitives.state_p.bind(scope.register, size=scope.wires.states)


def _probabilities(process: Any, scope: CircuitScope) -> jax.Array:
    if process.obs is None and len(process.wires) == 0:
        found = primitives.probs_p.bind(scope.register, wires=(), size=scope.wires.states)
        traced = scope.wires.traced
        if traced is None:
            return _as_read(found, scope, scope.wires.number)
        return _as_read(found, scope, None, traced.number)
    if process.obs is None:
        return _probabilities_on(_positions(process, scope), scope.register, scope)
    scratch = Scratch(scope.wires, scope.register)
    rotate_to_eigenbasis(process.obs, scratch)
    positions = measured_wires(process.obs, scope.wires)
    result = _probabilities_on(positions, scratch.register, scope)
    scratch.release()
    return result


def _probabilities_on(
    positions: Sequence[Position], register: Any, scope: CircuitScope
) -> jax.Array:
    found = bind_on(primitives.probs_p, register, positions, size=2 ** len(positions))
    return _as_read(found, scope, len(positions))


def _as_read(found: Any, scope: CircuitScope, wires: int | None, traced: Any = None) -> jax.Array:
    """Probabilities with the readout errors of the device, if it has any."""
    flip = scope.circuit.readout
    return found if flip == 0 else readout.flipped(found, flip, wires, traced)


# --- statistics of an observable -----------------------------------------------------------------


def _given_eigenvalues(process: Any, scope: CircuitScope) -> tuple[jax.Array, jax.Array]:
    """Probabilities of wires, and the values that a process without an observable gives them."""
    values = process.eigvals()
    if values is None:
        raise _unsupported(process, "has no observable")
    found = _probabilities_on(_positions(process, scope), scope.register, scope)
    return found, jnp.asarray(values).real


def _form(process: Any, scope: CircuitScope) -> PauliSum | Matrix | Mixed:
    return measured_form(process.obs, scope.wires)


def _expectation(process: Any, scope: CircuitScope) -> jax.Array:
    """Of an observable O, <O>."""
    if process.obs is None:
        probabilities, values = _given_eigenvalues(process, scope)
        return probabilities @ values
    if scope.circuit.readout != 0:
        return readout.expectation(process.obs, scope)
    form, register = _form(process, scope), scope.register
    if is_density_matrix(register):
        return mixed_statistics.expectation(form, register)
    if not isinstance(form, Mixed):
        return _statistic(form, register, primitives.expval_pauli_p, primitives.expval_matrix_p)
    total: Any = 0.0
    if form.words.words:
        total = bind_words(primitives.expval_pauli_p, register, form.words)
    for term in form.terms:
        product = term.applied(scope.wires, register)
        overlap = statevector.inner_product_p.bind(register, product.register)
        product.release()
        total = total + jnp.real(term.scale * overlap)
    return total


def _variance(process: Any, scope: CircuitScope) -> jax.Array:
    """Of an observable O, <O O> - <O>^2."""
    if process.obs is None:
        probabilities, values = _given_eigenvalues(process, scope)
        return probabilities @ values**2 - (probabilities @ values) ** 2
    if scope.circuit.readout != 0:
        return readout.variance(process.obs, scope)
    form, register = _form(process, scope), scope.register
    if is_density_matrix(register):
        return mixed_statistics.variance(form, register)
    if not isinstance(form, Mixed):
        return _statistic(form, register, primitives.var_pauli_p, primitives.var_matrix_p)
    product = applied_sum(form.terms, scope.wires, register)
    if form.words.words:
        words, operands = word_parameters(form.words)
        coefficients = form.words.coefficients
        product.advance(statevector.add_pauli_sum_p, register, coefficients, *operands, words=words)
    mean = jnp.real(statevector.inner_product_p.bind(register, product.register))
    square = jnp.real(statevector.inner_product_p.bind(product.register, product.register))
    product.release()
    return square - mean * mean


def _statistic(form: PauliSum | Matrix, register: Any, pauli: Any, matrix: Any) -> jax.Array:
    if isinstance(form, PauliSum):
        return bind_words(pauli, register, form)
    return bind_on(matrix, register, form.wires, form.matrix)


# --- reduced states ------------------------------------------------------------------------------


def density_matrix(positions: Sequence[Position], register: Any) -> jax.Array:
    """The state of some wires, the others traced out."""
    return bind_on(primitives.density_matrix_p, register, positions)


def _density_matrix(process: Any, scope: CircuitScope) -> jax.Array:
    return density_matrix(_positions(process, scope), scope.register)


def _purity(process: Any, scope: CircuitScope) -> jax.Array:
    part = _smaller(_positions(process, scope), scope)
    return purity_of(density_matrix(part, scope.register))


def _entropy(process: Any, scope: CircuitScope) -> jax.Array:
    return _entropy_on(_positions(process, scope), process.log_base, scope)


def _mutual_information(process: Any, scope: CircuitScope) -> jax.Array:
    """Of two parts: the entropy of each, less that of both."""
    parts = [scope.wires.positions(wires, "mutual_info") for wires in process.raw_wires]
    first, second = (_entropy_on(part, process.log_base, scope) for part in parts)
    return first + second - _entropy_on([*parts[0], *parts[1]], process.log_base, scope)


def _entropy_on(positions: Sequence[Position], log_base: Any, scope: CircuitScope) -> jax.Array:
    part = _smaller(positions, scope)
    return entropy_of(density_matrix(part, scope.register), log_base) if part else jnp.zeros(())


def _smaller(positions: Sequence[Position], scope: CircuitScope) -> Sequence[Position]:
    """These wires or all others, whichever are fewer: of a pure state these have one entropy."""
    wires = scope.wires
    if is_density_matrix(scope.register):
        return positions
    if wires.traced is not None or not all(isinstance(wire, int) for wire in positions):
        return positions
    others = [wire for wire in range(wires.number) if wire not in positions]
    return others if len(others) < len(positions) else positions


def purity_of(matrix: jax.Array) -> jax.Array:
    """The trace of a density matrix squared."""
    return jnp.sum(matrix.real**2 + matrix.imag**2)


def entropy_of(matrix: jax.Array, log_base: Any) -> jax.Array:
    """The entropy of a density matrix, in nats or in a base."""
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


# --- snapshots -----------------------------------------------------------------------------------


class WithSnapshots(NamedTuple):
    """What a QNode with snapshots returns."""

    snapshots: list[Any]
    results: Any


def measure_snapshot(settings: QNodeSettings, operator: Any, scope: CircuitScope) -> Any:
    """What a snapshot sees: exact, of the register as it is."""
    require_taken_once(scope)
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
    with AnnotatedQueue(), scope.circuit.reading_exactly():
        return measure_process(process, scope)


def require_taken_once(scope: CircuitScope) -> None:
    """Refuse a snapshot where it would be taken several times, or never."""
    if not scope.is_outermost or scope.unitary_in is not None:
        raise _refusal(
            "is taken once, so it cannot stand in a loop, a branch, an adjoint or a ctrl"
        )


def _refusal(reason: str) -> UnsupportedOperationError:
    return UnsupportedOperationError(operation="Snapshot", reason=reason)
