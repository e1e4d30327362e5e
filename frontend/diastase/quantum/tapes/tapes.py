"""A quantum function recorded into a tape, PennyLane's transforms of it, and a tape replayed.

    quantum function -> one tape -> transforms -> several tapes -> a circuit of each -> results
                                                -> post-processing ----------------------^

A tape is a flat list of operators whose parameters may be tracers. `record_tape` enters no scope of
ours: PennyLane's queue records, so all of PennyLane's functions do what they do without a compiler.
`transformed` gives the tapes to run, and the function from their results to that of the first tape.
`replay` applies the operators once more, and measures as the tape says: on the engine PennyLane's
mid-circuit measurements become ours, and what they decide about branches of ours; a device that
runs in Python gets the tape as it is.

The traps: operators applied inside a function that JAX or we trace would be in the tape once,
whatever that function is called for: refused. A transform that has to know a traced number fails in
the middle of JAX; here the error gets the transform's name. And one that compares wires takes two
tracers for different wires, though they may have the same value when the program runs: refused,
unless there is nothing to compare or the transform is known to look at no wire twice.
"""

import copy
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
from pennylane import ops
from pennylane.measurements import MeasurementProcess, ProbabilityMP
from pennylane.tape import QuantumScript

from diastase.capture.device_errors import (
    TapeRecordingError,
    UnmeasuredError,
    UnsupportedTransformError,
)
from diastase.capture.jax_errors import user_line
from diastase.capture.pennylane_compat import (
    CircuitQueue,
    apply_transform,
    describe,
    is_inside_pennylane,
    is_native_outcome,
    is_quantum_object,
    is_traced_wire,
    making_operators,
    tape_of,
    transform_name,
)
from diastase.capture.regions import quantum_scope
from diastase.quantum.operators.decompositions import DATA_DEPENDENT
from diastase.quantum.settings.diff_method import TRANSFORMS
from diastase.quantum.settings.noise_models import compares_wires
from diastase.quantum.settings.qnode_settings import QNodeSettings
from diastase_mlir import at, span_of, user_span
from diastase_mlir.jax_compat import current_trace


@dataclass(frozen=True)
class Recorded:
    """A quantum function that was recorded."""

    tape: QuantumScript
    returned: Sequence[Any]
    """The leaves of what the function returned, measurement processes among them."""
    tree: Any


def record_tape(
    qnode: qml.QNode, settings: QNodeSettings, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Recorded:
    """Run the quantum function once, recorded by PennyLane."""
    queue, trace = CircuitQueue(lambda _: None), current_trace()
    with quantum_scope(None), queue, _refusing_decisions():
        returned = qnode.func(*args, **kwargs)
    for obj, place in queue.recorded():
        if place.trace is not trace:
            with at(span_of(place.source_info)):
                what = f"{describe(obj)} inside of a function that is traced"
                raise TapeRecordingError(what=what)
    leaves, tree = jax.tree_util.tree_flatten(returned, is_leaf=is_quantum_object)
    tape = tape_of(queue, settings.shots)
    _check_measurements(settings.qnode, leaves, tape)
    return Recorded(tape, leaves, tree)


def _check_measurements(name: str, leaves: Sequence[Any], tape: Any) -> None:
    """Each measurement is returned, and nothing else; in any order, unlike in PennyLane."""
    measured = {id(leaf) for leaf in leaves if isinstance(leaf, MeasurementProcess)}
    if not measured or measured != set(map(id, tape.measurements)):
        raise UnmeasuredError(qnode=name, span=user_span())


@contextmanager
def _refusing_decisions() -> Generator[None]:
    """What PennyLane has to know while it records, and is traced, is refused as ours."""
    try:
        yield
    except DATA_DEPENDENT as error:
        function = is_inside_pennylane(error.__traceback__)
        if function is None:
            raise
        what = f"{_FUNCTIONS.get(function, function)} of a traced value"
        raise TapeRecordingError(what=what, span=user_line(error.__traceback__)) from error


_FUNCTIONS: Mapping[str, str] = {
    "ForLoopCallable.__call__": "a for_loop",
    "WhileLoopCallable.__call__": "a while_loop",
    "CondCallable.__call__": "a cond",
}
"""What users call them."""


# --- transforms ----------------------------------------------------------------------------------


PostProcessing = Callable[[Sequence[Any]], Any]

LOCAL = frozenset(
    "add_noise batch_input batch_params broadcast_expand combine_global_phases decompose "
    "fold_global fold_global_tape mitigate_with_zne remove_barrier "
    "split_to_single_terms unitary_to_rot".split()
)
"""Transforms that treat each operator for itself, so that they need not compare wires."""


@dataclass(frozen=True)
class Transformed:
    """What becomes of a tape."""

    tapes: Sequence[QuantumScript]
    postprocess: PostProcessing
    is_information: bool
    """Whether the tapes are not run: what is asked for is made of them themselves."""


def transformed(qnode: str, tape: Any, transforms: Sequence[Any]) -> Transformed:
    """Apply transforms in their order."""
    tapes: Sequence[Any] = (tape,)
    steps: list[tuple[str, PostProcessing]] = []
    names = [transform_name(transform) for transform in transforms]
    for name, transform in zip(names, transforms, strict=True):
        _refuse(qnode, name, transform, tapes)
        tapes, step = _named(qnode, name, lambda: apply_transform(transform, tapes))  # noqa: B023
        steps.append((name, step))

    def postprocess(results: Sequence[Any]) -> Any:
        for name, step in reversed(steps):
            results = _named(qnode, name, lambda: step(tuple(results)))  # noqa: B023
        return results[0]

    informs = any(transform.is_informative for transform in transforms)
    return Transformed(tapes, postprocess, informs)


def _named(qnode: str, name: str, function: Callable[[], Any]) -> Any:
    """Call a part of a transform; where it has to know a traced number, say whose fault it is."""
    try:
        with making_operators(), quantum_scope(None):
            return function()
    except DATA_DEPENDENT as error:
        reason = "decides by values that are traced"
        raise UnsupportedTransformError(qnode=qnode, transform=name, reason=reason) from error


def _refuse(qnode: str, name: str, transform: Any, tapes: Sequence[Any]) -> None:
    reason, always = None, True
    if transform.classical_cotransform is not None:
        reason = _instead_of_gradient(name)
    elif not _is_local(name, transform) and any(map(_compares_traced_wires, tapes)):
        reason, always = "compares wires, and some are traced", False
    if reason is not None:
        raise UnsupportedTransformError(
            qnode=qnode, transform=name, reason=reason, always=always, span=user_span()
        )


def _is_local(name: str, transform: Any) -> bool:
    model = transform.kwargs.get("noise_model", transform.args[0] if transform.args else None)
    conditions = getattr(model, "model_map", ())
    return name in LOCAL and not any(map(compares_wires, conditions))


def _instead_of_gradient(name: str) -> str:
    """What to do in the place of a transform that gives derivatives by the arguments."""
    methods = {transform: method for method, transform in TRANSFORMS.items()}
    if name in methods:
        method = f"diff_method={methods[name]!r}"
        return f"gives a Jacobian: use jax.jacobian of the QNode, with {method}"
    return "gives derivatives by the arguments: use jax.jacobian or jax.hessian of the QNode"


def _compares_traced_wires(tape: Any) -> bool:
    """Whether a tape has a traced wire and another one, which may be the same."""
    return len(tape.wires) > 1 and any(map(is_traced_wire, tape.wires))


# --- replay --------------------------------------------------------------------------------------


Outcomes = Mapping[Any, Any]
"""What was found by each mid-circuit measurement of a tape, by its identity: traced booleans."""


def replay(tape: Any, natively: bool) -> Callable[[], Any]:
    """The tape as a quantum function; `natively` if its mid-circuit measurements stay as they are.

    Called where PennyLane's functions are ours (`qml.measure`, `qml.cond`).
    """

    def circuit() -> Any:
        outcomes: dict[Any, Any] = {}
        for operator in tape.operations:
            if natively:
                qml.apply(operator)
            else:
                _apply(operator, outcomes)
        apply = qml.apply if natively else partial(_measured, outcomes=outcomes)
        measured = tuple(apply(process) for process in tape.measurements)
        return measured if len(measured) != 1 else measured[0]

    return circuit


def _apply(operator: Any, outcomes: dict[Any, Any]) -> None:
    match operator:
        case ops.MidMeasure():
            outcomes[_identity(operator)] = qml.measure(
                operator.wires[0], reset=operator.reset, postselect=operator.postselect
            )
        case ops.PauliMeasure():
            outcomes[_identity(operator)] = qml.pauli_measure(
                operator.pauli_word, operator.wires, operator.postselect
            )
        case ops.Conditional():
            predicate = _value(operator.meas_val, outcomes).astype(bool)

            def branch() -> None:
                qml.apply(operator.base)

            conditional: Any = qml.cond(predicate, branch)
            conditional()
        case qml.Projector():  # PennyLane's deferred measurements postselect by it
            for wire, bit in zip(operator.wires, np.asarray(operator.data[0]), strict=True):
                qml.measure(wire, postselect=int(bit))
        case _:
            qml.apply(operator)


def _measured(process: Any, outcomes: Outcomes) -> Any:
    """A measurement process; of outcomes of ours, if it is of PennyLane's."""
    if process.mv is None:
        return qml.apply(process)
    single = is_native_outcome(process.mv)
    values = [process.mv] if single else list(process.mv)
    measurements = [measured for value in values for measured in value.measurements]
    if not all(_identity(measured) in outcomes for measured in measurements):
        return _deferred(process, single)
    found = [_value(value, outcomes) for value in values]
    process = copy.copy(process)
    process.mv = found[0] if single else found
    return qml.apply(process)


def _deferred(process: Any, single: bool) -> Any:
    """A measurement of outcomes that `defer_measurements` has left on wires of their own."""
    options = {"all_outcomes": process.all_outcomes} if hasattr(process, "all_outcomes") else {}
    if not single or isinstance(process, ProbabilityMP):
        return type(process)(wires=process.wires, **options)
    values = qml.Hermitian(np.diag(process.eigvals()), process.wires)
    return type(process)(obs=values, **options)


def _identity(measured: Any) -> Any:
    """What names a measurement, whichever wire a transform has moved it to.

    PennyLane's hash of it contains the wire; an expression of its outcome holds the one before.
    """
    return measured if measured.meas_uid is None else measured.meas_uid


def _value(expression: Any, outcomes: Outcomes) -> Any:
    """What an expression of outcomes is: looked up among its values for all outcomes."""
    found = [outcomes[_identity(measured)] for measured in expression.measurements]
    if not expression.has_processing:
        return found[0]
    index = jnp.asarray(0)
    for outcome in found:
        index = 2 * index + outcome
    values = np.asarray([np.asarray(value)[()] for value in expression.branches.values()])
    return jnp.asarray(values)[index]
