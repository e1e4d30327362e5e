"""QNodes by stabilizers, and which method it is where they cannot: `method="automatic"`.

In: the call of a QNode that is to be simulated by stabilizers, or by whatever fits. Out: its
results, or the settings by which it is run instead, with the reason. The order is: stabilizers for
a Clifford circuit with Pauli noise; what the device says, as long as that fits: a state vector
without noise, a density matrix of up to `LARGEST_DENSITY` wires. Nothing is estimated that was
asked for exactly, so trajectories are never chosen here.

The trap: the attempt traces the quantum function, and what it has recorded is thrown away if it
fails; the function is then traced once more.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pennylane import measurements
from pennylane.measurements import MeasurementProcess

from diastase.capture.context import new_caches
from diastase.capture.device_errors import NoExactMethodError, NotCliffordError
from diastase.primitives.quantum import qnode_p
from diastase.quantum.clifford.averages import averaged
from diastase.quantum.clifford.channels import Noise
from diastase.quantum.clifford.gates import require_stim
from diastase.quantum.clifford.sampling import sampled
from diastase.quantum.measurements.measurements import process_name, refuse_samples
from diastase.quantum.operators.broadcasting import broadcast
from diastase.quantum.operators.circuit_scope import CircuitScope
from diastase.quantum.qnode.averages import averaged_by
from diastase.quantum.qnode.circuits import (
    Finish,
    QNodeCall,
    Record,
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
from diastase_mlir.jax_compat import evaluate_jaxpr, trace_to_jaxpr

LARGEST_DENSITY = 12
"""Wires of the largest density matrix that is chosen without being asked for."""


@dataclass(frozen=True)
class Found:
    """What a QNode returns."""

    value: Any


@dataclass
class _Seen:
    """What the attempt has seen of the circuit, for the choice of another method."""

    noise: Noise | None = None
    num_wires: int | None = None
    measures: bool = False
    returns_state: bool = False


def call_by_stabilizers(call: QNodeCall) -> Found | QNodeSettings:
    """Record the call; or the settings that it is to be run by instead."""
    seen, settings = _Seen(), call.settings
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


def _recorded(call: QNodeCall, seen: _Seen) -> Any:
    settings = call.settings
    if settings.steps.of("measurements"):
        raise NotCliffordError(construct="the QNode", reason="has passes of its measurements")
    return _averages(call, seen) if settings.is_analytic else _shots(call, seen)


def _trace(seen: _Seen, call: QNodeCall, finish: Finish) -> TracedCircuit:
    """Trace the body, with its noise; refuse what is seen at once to be no Clifford circuit."""

    def recording(record: Record) -> Record:
        seen.noise = Noise(record)
        return seen.noise.record

    def finishing(leaves: Sequence[Any], scope: CircuitScope) -> Sequence[Any]:
        seen.num_wires = scope.wires.number if scope.wires.traced is None else None
        seen.measures = scope.circuit.measures
        seen.returns_state = any(isinstance(leaf, measurements.StateMP) for leaf in leaves)
        for leaf in leaves:
            if call.settings.is_analytic and isinstance(leaf, MeasurementProcess):
                _require_average(leaf, scope)
        return finish(leaves, scope)

    traced = trace_circuit(call, finishing, recording=recording)
    _require_plain(traced)
    return traced


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


def _require_plain(traced: TracedCircuit) -> None:
    """Refuse settings that stabilizers do not have, and a missing library."""
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
    if traced.num_wires is None:
        raise NotCliffordError(construct="the device", reason="has a traced number of wires")
    if settings.noise:
        raise NotCliffordError(construct="the device", reason="adds noise to circuits")
    if _reads_wrongly(settings):
        raise NotCliffordError(construct="the device", reason="has readout errors")
    require_stim()


_JUMPS = (
    "its shots are drawn by stabilizers, and outcomes jump: without shots there is a derivative; "
    "or keep it out by jax.lax.stop_gradient on its arguments"
)


# --- with shots, and without ----------------------------------------------------------------------


def _shots(call: QNodeCall, seen: _Seen) -> Any:
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


def _averages(call: QNodeCall, seen: _Seen) -> Any:
    def find(traced: TracedCircuit, count: int) -> Sequence[Any]:
        jaxpr, captured = trace_to_jaxpr(lambda: averaged(traced, count), [], "averages")
        return evaluate_jaxpr(jaxpr, captured)

    return averaged_by(call, partial(_trace, seen), find)


# --- another method -----------------------------------------------------------------------------


def _reads_wrongly(settings: QNodeSettings) -> bool:
    return getattr(settings.device, "readout_err", None) is not None


def _instead(settings: QNodeSettings, seen: _Seen, error: NotCliffordError) -> Method:
    """The exact method that fits a circuit which is no Clifford circuit."""
    noisy = bool(settings.noise) or (seen.noise is not None and seen.noise.found)
    why = f"{settings.automatic}, and not clifford, as {_reason(error)}"
    if not noisy and settings.method.name == "statevector":
        return settings.method._replace(why=why)
    wires = settings.device.wires
    number = seen.num_wires if wires is None else len(wires)
    if number is None or number <= LARGEST_DENSITY:
        return Method("density", why) if noisy else settings.method._replace(why=why)
    averages = settings.is_analytic and seen.measures
    noisy = noisy or _reads_wrongly(settings)
    if noisy or averages or seen.returns_state or settings.method.name != "density":
        raise NoExactMethodError(
            qnode=settings.qnode, wires=number, reason=_reason(error), span=user_span()
        )
    return Method("statevector", why)


def _reason(error: NotCliffordError) -> str:
    return f"{error.construct} {error.reason}"
