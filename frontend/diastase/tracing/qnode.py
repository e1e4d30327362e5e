"""A QNode called while a program is being traced: one `qnode` equation.

The quantum function runs once, with its arguments as they are (tracers, or plain Python values,
which stay plain); what it closes over becomes the operands of the equation. The body allocates a
register of its own, so every call starts from |0…0>.

The trap: the size of the register may be known only at the end (a device without wires), so the
`allocate_qubits` equation is completed after the body has been traced.
"""

from collections.abc import Sequence
from typing import Any

import jax
import pennylane as qml
from jax.extend.core import ClosedJaxpr
from pennylane.measurements import MeasurementProcess
from pennylane.queuing import AnnotatedQueue

from diastase.primitives.quantum import allocate_p, qnode_p, release_p
from diastase.tracing.devices.capture import call_on_device
from diastase.tracing.devices.outcomes import refuse_number
from diastase.tracing.measurements import measure_process, process_name
from diastase.tracing.pennylane import (
    intercept_qnodes,
    is_quantum_object,
    label_traced_wires,
    refuse_outcomes_as_numbers,
    refuse_unrecorded,
)
from diastase.tracing.qnode_results import classical_result
from diastase.tracing.qnode_settings import QNodeSettings, resolve_settings
from diastase.tracing.quantum_errors import (
    UnsupportedQNodeError,
)
from diastase.tracing.quantum_scope import Circuit, CircuitScope
from diastase.tracing.taken_back import without_taken_back
from diastase.tracing.trace import is_tracing
from diastase.tracing.wires import WireMap
from diastase_mlir import user_span
from diastase_mlir.jax_internals import (
    current_source_info,
    source_context,
    trace_to_jaxpr,
    tracer_variable,
)
from diastase_runtime.errors import TooManyQubitsError

DEVICES = frozenset({"lightning.qubit", "default.qubit"})
"""Devices that the state-vector engine stands for."""

LARGEST_REGISTER = 59
"""Wires beyond which the size of a state does not even fit into 64 bits; the engine refuses far
fewer, when the program runs."""


def call_qnode(qnode: qml.QNode, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Trace the QNode's body and record its call; the results have the structure returned."""
    settings, kwargs = resolve_settings(qnode, kwargs)
    name = settings.qnode
    if settings.device.name not in DEVICES:
        return call_on_device(qnode, settings, args, kwargs)
    _refuse_unsupported(settings)
    wires: Any = qnode.device.wires
    labels = None if wires is None else tuple(wires)
    circuit = Circuit(name, WireMap(name, labels))
    structure: list[Any] = []
    call = current_source_info()

    def body() -> Sequence[Any]:
        with source_context(call):
            scope = CircuitScope(circuit, allocate_p.bind(num_wires=0, qnode=name), True)
        with scope.recording():
            returned = qnode.func(*args, **kwargs)
            scope.finish()
        leaves, tree = jax.tree_util.tree_flatten(returned, is_leaf=is_quantum_object)
        structure.append(tree)
        _name_wires(leaves, scope)
        # PennyLane's queue serves all threads: while it makes operators for us, no other records.
        with AnnotatedQueue():
            results = [_result(leaf, scope) for leaf in leaves]
        with source_context(call):
            release_p.bind(scope.register)
        return results

    jaxpr, captured = trace_to_jaxpr(body, [], name)
    number = circuit.wires.number
    if number > LARGEST_REGISTER:
        raise TooManyQubitsError(construct=f"QNode {name}", number=number, span=user_span())
    extents = [
        (tracer_variable(before), tracer_variable(after)) for before, after in circuit.taken_back
    ]
    jaxpr = _with_size(without_taken_back(jaxpr, extents), number)
    results = qnode_p.bind(
        *captured, jaxpr=jaxpr, name=name, num_wires=number,
        device=qnode.device.name,
    )  # fmt: skip
    return jax.tree_util.tree_unflatten(structure[0], results)


def _refuse_unsupported(settings: QNodeSettings) -> None:
    name = settings.qnode
    for transform in settings.transforms:
        hint = "apply it outside of compiled programs for now"
        raise UnsupportedQNodeError(
            qnode=name, setting=f"the transform {transform}", hint=hint, span=user_span()
        )
    if not settings.is_analytic:
        hint = "remove the shots; sampling comes with a later version"
        raise UnsupportedQNodeError(qnode=name, setting="shots", hint=hint, span=user_span())
    if settings.mcm_method != "single-branch-statistics":
        setting = f"mcm_method={settings.mcm_method!r}"
        hint = "only single-branch-statistics is compiled"
        raise UnsupportedQNodeError(qnode=name, setting=setting, hint=hint, span=user_span())


def _name_wires(leaves: Sequence[Any], scope: CircuitScope) -> None:
    """Let all measurements name their wires before any asks how many there are."""
    for leaf in leaves:
        if isinstance(leaf, MeasurementProcess) and leaf.mv is None:
            with scope.as_from(leaf):
                scope.wires.positions(leaf.wires, process_name(leaf))


def _result(leaf: Any, scope: CircuitScope) -> Any:
    """One result: a measurement of the final state, or a classical value."""
    if isinstance(leaf, MeasurementProcess):
        with scope.as_from(leaf):
            return measure_process(leaf, scope)
    return classical_result(leaf, scope.circuit.name)


def _with_size(jaxpr: ClosedJaxpr, num_wires: int) -> ClosedJaxpr:
    """Give the body's own `allocate_qubits`, its first one, the size of its register."""
    equations = list(jaxpr.jaxpr.eqns)
    position = next(
        index for index, equation in enumerate(equations) if equation.primitive is allocate_p
    )
    allocate = equations[position]
    equations[position] = allocate.replace(params={**allocate.params, "num_wires": num_wires})
    return jaxpr.replace(jaxpr=jaxpr.jaxpr.replace(eqns=equations))


def take_over_qnodes() -> None:
    """From now on calls of QNodes come here, while this thread is tracing; called once."""
    intercept_qnodes(is_tracing, call_qnode)
    refuse_unrecorded(is_tracing)
    refuse_outcomes_as_numbers(is_tracing, refuse_number)
    label_traced_wires(is_tracing)
