"""QNodes by stabilizers, and which method it is where they cannot: `method="automatic"`.

In: the call of a QNode that is to be simulated by stabilizers, or by whatever fits. Out: its
results, or the settings by which it is run instead, with the reason. The order is: stabilizers for
a Clifford circuit with Pauli noise; what the device says, as long as that fits: a state vector
without noise, a density matrix of up to `LARGEST_DENSITY` wires. With shots, noise on more wires,
or little enough of it, takes trajectories: one for each shot, whose samples have the same
distribution. Nothing is estimated that was asked for exactly, so without shots they are not chosen.

The trap: the attempt calls the quantum function, which is called once more if it fails; what is
recorded until then is thrown away (`clifford.attempts` keeps that short).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from jax.core import Tracer
from pennylane import measurements
from pennylane.measurements import MeasurementProcess

from diastase.capture.context import new_caches
from diastase.capture.device_errors import NoExactMethodError, NotCliffordError
from diastase.capture.pennylane_compat import traced_number_of_wires
from diastase.jaxprs.evaluate import evaluated
from diastase.primitives.quantum import qnode_p
from diastase.quantum.clifford.attempts import Attempt, Seen
from diastase.quantum.clifford.averages import averaged
from diastase.quantum.clifford.gates import require_stim
from diastase.quantum.clifford.sampling import sampled
from diastase.quantum.measurements.measurements import process_name, refuse_samples
from diastase.quantum.operators.broadcasting import broadcast
from diastase.quantum.operators.circuit_scope import CircuitScope
from diastase.quantum.qnode.averages import averaged_by
from diastase.quantum.qnode.circuits import (
    Finish,
    QNodeCall,
    TracedCircuit,
    trace_circuit,
    unseen_if_it_fails,
)
from diastase.quantum.qnode.repeated_runs import bind_several_runs
from diastase.quantum.qnode.shot_qnode import Measured, checked_shots
from diastase.quantum.qnode.undifferentiated import without_derivatives
from diastase.quantum.settings.methods import Method, unnoted_if_it_fails
from diastase.quantum.settings.qnode_settings import QNodeSettings
from diastase_mlir import at, user_span
from diastase_mlir.jax_compat import trace_to_jaxpr

LARGEST_DENSITY = 12
"""Wires of the largest density matrix that is chosen without being asked for."""


@dataclass(frozen=True)
class Found:
    """What a QNode returns."""

    value: Any


def call_by_stabilizers(call: QNodeCall) -> Found | QNodeSettings:
    """Record the call; or the settings that it is to be run by instead."""
    seen, settings = Seen(), call.settings
    if settings.automatic:
        why = f"{settings.automatic}, and the circuit is Clifford"
        settings = replace(settings, method=Method("clifford", why))
    try:
        with unseen_if_it_fails(), unnoted_if_it_fails(), new_caches(), at(user_span()):
            return Found(broadcast(partial(_recorded, replace(call, settings=settings), seen)))
    except NotCliffordError as error:
        if settings.device.name == "default.clifford":
            why = f"in Python, as {_reason(error)}"
            return replace(settings, method=Method("device", why))
        if not settings.automatic:
            raise
        return replace(settings, method=_instead(call.settings, seen, error))


def _recorded(call: QNodeCall, seen: Seen) -> Any:
    return _averages(call, seen) if call.settings.is_analytic else _shots(call, seen)


def _trace(seen: Seen, call: QNodeCall, finish: Finish) -> TracedCircuit:
    """Trace the body, with its noise; refuse what is seen at once to be no Clifford circuit."""
    settings = call.settings
    sees_all = bool(settings.automatic) and not _is_decided(settings)
    attempt = Attempt(
        seen, _refusal(settings), sees_all, bool(settings.automatic) and not settings.steps.passes
    )

    def finishing(leaves: Sequence[Any], scope: CircuitScope) -> Sequence[Any]:
        attempt.finish(leaves, scope)
        for leaf in leaves:
            if settings.is_analytic and isinstance(leaf, MeasurementProcess):
                _require_average(leaf, scope)
        return finish(leaves, scope)

    traced = trace_circuit(call, finishing, recording=attempt.recording)
    _require_plain(traced)
    return traced


def _is_decided(settings: QNodeSettings) -> bool:
    """Whether a circuit that is no Clifford circuit is run by a density matrix, whatever it is."""
    wires = settings.device.wires
    if wires is None or traced_number_of_wires(settings.device) is not None:
        return False
    holds_mixtures = settings.device.name == "default.mixed"
    return holds_mixtures and settings.is_analytic and len(wires) <= LARGEST_DENSITY


def _require_average(process: MeasurementProcess, scope: CircuitScope) -> None:
    if isinstance(process, _EXACT):
        return
    reason = "is a property of the state that stabilizers do not give"
    hint = "return expectation values or variances of Pauli words, or probabilities"
    with scope.as_from(process):
        refuse_samples(process)
        raise NotCliffordError(construct=process_name(process), reason=reason, hint=hint)


_EXACT = (measurements.ExpectationMP, measurements.VarianceMP, measurements.ProbabilityMP)
_AVERAGING = ("default.clifford", "default.mixed")
"""Devices without shots whose results are averages over outcomes."""


def _refusal(settings: QNodeSettings) -> NotCliffordError | None:
    """What stabilizers have against the settings of a QNode, whatever its circuit: no library."""
    try:
        _require_plain_settings(settings)
    except NotCliffordError as error:
        return error
    return None


def _require_plain_settings(settings: QNodeSettings) -> None:
    if settings.steps.of("measurements"):
        raise NotCliffordError(construct="the QNode", reason="has passes of its measurements")
    if settings.noise:
        raise NotCliffordError(construct="the device", reason="adds noise to circuits")
    if _reads_wrongly(settings):
        raise NotCliffordError(construct="the device", reason="has readout errors")
    if traced_number_of_wires(settings.device) is not None:
        raise NotCliffordError(construct="the device", reason="has a traced number of wires")
    require_stim()


def _require_plain(traced: TracedCircuit) -> None:
    """Refuse circuits with measurements that stabilizers do not make as the QNode asks for."""
    settings, circuit = traced.settings, traced.circuit
    single = settings.mcm_method == "single-branch-statistics"
    averages = settings.is_analytic and settings.device.name in _AVERAGING
    if single and circuit.measures and not averages:
        reason = "is conditional on the outcomes of one run"
        hint = "choose mcm_method='deferred'"
        raise NotCliffordError(construct="the QNode", reason=reason, hint=hint)
    if circuit.postselects and settings.postselect_mode == "fill-shots":
        hint = "choose postselect_mode='hw-like'"
        raise NotCliffordError(construct="postselect", reason="fills up its shots", hint=hint)


_JUMPS = (
    "its shots are drawn by stabilizers, and outcomes jump: without shots there is a derivative; "
    "or keep it out by jax.lax.stop_gradient on its arguments"
)


# --- with shots, and without ----------------------------------------------------------------------


def _shots(call: QNodeCall, seen: Seen) -> Any:
    settings = call.settings
    measured = Measured(settings, checked_shots(settings), singly=True)
    traced = without_derivatives(_trace(seen, call, measured.finish), _JUMPS)
    measured.note_results(traced)
    drops = traced.circuit.postselects

    def record() -> Sequence[Any]:
        found = sampled(traced, measured.differing, measured.num_drawn, measured.number)
        return found if drops else found[:-1]

    found = bind_several_runs(lambda: _as_qnode(settings, record))
    arrays, valid = (found[:-1], found[-1]) if drops else (found, None)
    return measured.together(measured.partitions(traced, traced.beside(arrays), valid))


def _as_qnode(settings: QNodeSettings, record: Callable[[], Sequence[Any]]) -> Sequence[Any]:
    jaxpr, captured = trace_to_jaxpr(record, [], settings.qnode)
    return qnode_p.bind(
        *captured, jaxpr=jaxpr, name=settings.qnode, num_wires=0, device=settings.device.name
    )


def _averages(call: QNodeCall, seen: Seen) -> Any:
    def find(traced: TracedCircuit, count: int) -> Sequence[Any]:
        jaxpr, captured = trace_to_jaxpr(lambda: averaged(traced, count), [], "averages")
        return evaluated(jaxpr, captured)

    return averaged_by(call, partial(_trace, seen), find)


# --- another method -----------------------------------------------------------------------------


def _reads_wrongly(settings: QNodeSettings) -> bool:
    return getattr(settings.device, "readout_err", None) is not None


def _instead(settings: QNodeSettings, seen: Seen, error: NotCliffordError) -> Method:
    """The exact method that fits a circuit which is no Clifford circuit."""
    noisy = bool(settings.noise) or seen.noise or seen.prepares_mixtures
    why = f"{settings.automatic}, and not clifford, as {_reason(error)}"
    if not noisy and settings.method.name == "statevector":
        return settings.method._replace(why=why)
    wires = settings.device.wires
    number = seen.num_wires if wires is None else len(wires)
    by_shots = _reason_for_trajectories(settings, seen, number) if noisy else None
    if by_shots is not None:
        return Method("trajectories", f"{why}; {by_shots}")
    if number is None or number <= LARGEST_DENSITY:
        return Method("density", why) if noisy else settings.method._replace(why=why)
    averages = settings.is_analytic and seen.measures
    if noisy or averages or seen.returns_state or settings.method.name != "density":
        raise NoExactMethodError(
            qnode=settings.qnode, wires=number, reason=_reason(error), span=user_span()
        )
    return Method("statevector", why)


def _reason_for_trajectories(settings: QNodeSettings, seen: Seen, number: int | None) -> str | None:
    """Why each shot is to be a trajectory, if it is; None where that is not as exact, or slower.

    A gate takes 4^n steps on a density matrix, and 2^n on each trajectory. Both are as exact, but
    averages over shots have derivatives on a density matrix only.
    """
    fills = seen.postselects and settings.postselect_mode == "fill-shots"
    single = settings.mcm_method == "single-branch-statistics"
    if settings.is_analytic or number is None or fills or single or seen.prepares_mixtures:
        return None
    exact = "shots of trajectories are as exact as those of a density matrix"
    if number > LARGEST_DENSITY:
        return f"{exact}, for which there are too many wires, {number}"
    shots = settings.total_shots
    if isinstance(shots, Tracer) or 2 * shots > 2**number:
        return None
    if seen.varies and not seen.only_samples:
        return None
    return f"{exact}, and {shots} of them on {number} wires are cheaper"


def _reason(error: NotCliffordError) -> str:
    return f"{error.construct} {error.reason}"
