"""From the measurement processes that a QNode returns to equations on its final register."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
from pennylane import measurements

from diastase.primitives import measurement as primitives
from diastase.tracing.eigenbases import measured_wires, rotate_to_eigenbasis
from diastase.tracing.expectations import expectation, variance
from diastase.tracing.quantum_errors import UnsupportedMeasurementError
from diastase.tracing.quantum_scope import CircuitScope
from diastase.tracing.reduced_states import density_matrix, entropy, purity
from diastase.tracing.scratch import Scratch
from diastase.tracing.wires import Position, split_positions


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
"""What is made of shots; see `sampling`."""

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
