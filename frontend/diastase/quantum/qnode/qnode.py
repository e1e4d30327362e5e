"""A QNode called while a program is being traced: which way its settings ask for it to be run.

Each way gets a `QNodeCall`, traces the body (`circuits`), and gives results of the
structure that the quantum function returned.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import jax
import pennylane as qml
from pennylane.measurements import MeasurementProcess

from diastase.capture.device_errors import (
    TapeRecordingError,
    UnknownOutcomeError,
    UnsupportedMethodError,
    UnsupportedTransformError,
)
from diastase.capture.pennylane_compat import intercept_qnodes, refuse_outcomes_as_numbers
from diastase.capture.pennylane_compat.devices import ENGINE_DEVICES
from diastase.quantum.measurements.measurements import measure_process
from diastase.quantum.operators.broadcasting import broadcast
from diastase.quantum.operators.circuit_scope import CircuitScope
from diastase.quantum.qnode.circuits import QNodeCall, trace_circuit
from diastase.quantum.settings.diff_method import needs_averages
from diastase.quantum.settings.methods import Method
from diastase.quantum.settings.noise_models import noise_of_entries
from diastase.quantum.settings.qnode_settings import (
    QNodeSettings,
    classical_result,
    in_precision_of,
    resolve_settings,
)
from diastase_mlir import user_span
from diastase_mlir.jax_compat.x64 import in_64_bits, narrowed
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    from diastase.quantum.host_devices import capture
    from diastase.quantum.qnode import (
        automatic,
        averages,
        measured_parts,
        shot_qnode,
        statistics,
        trajectories,
    )
    from diastase.quantum.tapes import call as tape_calls
    from diastase.quantum.tapes import metric_tensor
else:
    capture = LazyModule("diastase.quantum.host_devices.capture")
    automatic = LazyModule("diastase.quantum.qnode.automatic")
    averages = LazyModule("diastase.quantum.qnode.averages")
    measured_parts = LazyModule("diastase.quantum.qnode.measured_parts")
    statistics = LazyModule("diastase.quantum.qnode.statistics")
    trajectories = LazyModule("diastase.quantum.qnode.trajectories")
    shot_qnode = LazyModule("diastase.quantum.qnode.shot_qnode")
    tape_calls = LazyModule("diastase.quantum.tapes.call")
    metric_tensor = LazyModule("diastase.quantum.tapes.metric_tensor")


def call_qnode(qnode: qml.QNode, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record the call of a QNode."""
    with in_64_bits():
        return narrowed(_call_qnode(qnode, args, kwargs))


def _call_qnode(qnode: qml.QNode, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    settings, kwargs = resolve_settings(qnode, kwargs)
    if settings.steps.transforms:
        return _call_transformed(qnode, settings, args, kwargs)
    return _call_plain(qnode, settings, args, kwargs)


def _call_plain(
    qnode: qml.QNode, settings: QNodeSettings, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Record a call without transforms of the tape."""
    call = QNodeCall(qnode.func, settings, args, kwargs)
    by_stabilizers = settings.automatic or settings.method.name == "clifford"
    if by_stabilizers and settings.noise is not None:
        found = automatic.call_by_stabilizers(call)
        if not isinstance(found, QNodeSettings):
            return found.value
        settings = found
        call = QNodeCall(qnode.func, settings, args, kwargs)
    if _runs_in_python(settings):
        return capture.call_on_device(qnode, settings, args, kwargs)
    run = _way_to_run(settings)
    if settings.steps.of("measurements"):
        return broadcast(lambda: measured_parts.call_in_parts(call, run))
    return broadcast(lambda: run(call))


_NATIVE = ("statevector", "density", "trajectories")
"""Methods of our engine."""


def _runs_in_python(settings: QNodeSettings) -> bool:
    """Whether PennyLane's device runs the circuit; refuses a method that nobody has."""
    name, why = settings.method
    if settings.noise is None:
        return True
    if name in _NATIVE:
        return False
    if settings.device.name in ENGINE_DEVICES:
        raise UnsupportedMethodError(
            qnode=settings.qnode, method=name, why=why, device=settings.device.name,
            span=user_span(),
        )  # fmt: skip
    return True


def _way_to_run(settings: QNodeSettings) -> Callable[[QNodeCall], Any]:
    if settings.method.name == "trajectories" and settings.is_analytic:
        return trajectories.call_by_trajectories
    if not settings.is_analytic:
        return shot_qnode.call_with_shots
    if settings.mcm_method != "single-branch-statistics":
        return averages.call_averaged
    if needs_averages(settings.differentiation):
        return lambda call: averages.call_by_moments(call, _result)
    return _call_analytic


def _call_transformed(
    qnode: qml.QNode, settings: QNodeSettings, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Transforms are applied while tracing; a device in Python may need to do it when it runs."""
    if metric_tensor.asks_for_metric(settings.steps.transforms):
        return metric_tensor.call_metric(qnode, settings, args, kwargs)
    natively = _runs_in_python(settings)
    try:
        call = tape_calls.prepare(qnode, settings, args, kwargs)
    except (TapeRecordingError, UnsupportedTransformError) as error:
        noise = noise_of_entries(settings.steps.transforms)
        if noise is not None and settings.noise is not None and not natively:
            added = replace(
                settings, steps=settings.steps.of_tapes, noise=(*noise, *settings.noise)
            )
            return _call_plain(qnode, added, args, kwargs)
        if not (natively or settings.device.name in _IN_PYTHON_TOO) or error.always:
            raise
        return capture.call_on_device(qnode, replace(settings, method=_BY_DEVICE), args, kwargs)
    return call.run(lambda made: call_qnode(made, (), {}), natively)


_IN_PYTHON_TOO = frozenset({"default.mixed"})
"""Devices of ours whose original runs what tapes made while tracing cannot be."""
_BY_DEVICE = Method("device", "a transform of its tape looks at values")


def _call_analytic(call: QNodeCall) -> Any:
    """One run, and the exact results of its final state."""

    def finish(leaves: Sequence[Any], scope: CircuitScope) -> Sequence[Any]:
        return [narrowed(_result(leaf, scope)) for leaf in leaves]

    traced = trace_circuit(call, finish)
    return jax.tree_util.tree_unflatten(traced.tree, traced.beside(traced.run()))


def _result(leaf: Any, scope: CircuitScope) -> Any:
    """One result: a measurement of the final state, or a classical value."""
    if isinstance(leaf, MeasurementProcess):
        with scope.as_from(leaf):
            return (
                statistics.outcome_statistic(leaf, scope)
                if leaf.mv is not None
                else in_precision_of(scope.register, leaf, measure_process(leaf, scope))
            )
    return classical_result(leaf, scope.circuit.name)


def _refuse_number() -> NoReturn:
    """Refuse an outcome that only the device will know where JAX needs a number."""
    what = "a mid-circuit outcome used as a number"
    raise UnknownOutcomeError(what=what, span=user_span())


def patch_qnodes() -> None:
    """From now on calls of QNodes come here, while this thread is tracing; called once."""
    intercept_qnodes(call_qnode)
    refuse_outcomes_as_numbers(_refuse_number)
