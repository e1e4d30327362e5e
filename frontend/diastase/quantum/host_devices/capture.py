"""A QNode on a device that runs in Python: its circuit becomes steps of a list of operators.

In: a QNode and its settings. The quantum function runs in a `CircuitScope` as on the engine, as the
body of a `qnode` equation, so its classical code and its control flow are compiled. The circuit's
register is the number of a list, which only this process knows, and the recorder makes a step of
each operator, whatever it is: the device decides what it can run. The last step makes the
measurements, and runs everything as a QNode of PennyLane on the device: with its preprocessing, its
sampling, its errors. Mid-circuit outcomes are PennyLane's `MeasurementValue`s, known to the device
only: they may decide about operators and be measured; whoever wants a number is refused.

The traps: an operator that PennyLane takes back after it was recorded is not run. Its step has been
recorded; the last step knows its number. And a program that is left in the middle (an error, a size
that it was not compiled for) never runs its list, so each thread keeps the latest ones only.
"""

import itertools
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
import pennylane as qml
from jax.core import ShapedArray, Tracer
from pennylane.measurements import MeasurementProcess
from pennylane.queuing import QueuingManager

from diastase.capture.device_errors import UnknownOutcomeError, UnsupportedDeviceError
from diastase.capture.dynamic_carry import dimension_table
from diastase.capture.pennylane_compat import (
    describe,
    is_native_outcome,
    is_quantum_object,
    is_traced_wire,
    making_operators,
    run_as_qnode,
)
from diastase.capture.quantum_errors import BatchSizeError, UnknownWiresError
from diastase.primitives.host import DeviceStep, device_step_p
from diastase.primitives.quantum import qnode_p
from diastase.quantum.host_devices.opaque import opaque
from diastase.quantum.host_devices.resources import depends_on_circuits, track_resources
from diastase.quantum.host_devices.results import Promise, as_promised, promised
from diastase.quantum.operators.circuit_scope import Circuit, CircuitScope
from diastase.quantum.operators.gate_operands import Controls
from diastase.quantum.settings.circuit_passes import has_own_passes
from diastase.quantum.settings.methods import note_method
from diastase.quantum.settings.qnode_settings import QNodeSettings, classical_result
from diastase.quantum.wires import WireMap
from diastase_mlir import at, user_span
from diastase_mlir.jax_compat import current_source_info, eager, source_context, trace_to_jaxpr
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    from diastase.quantum import folding
else:
    folding = LazyModule("diastase.quantum.folding")

_NUMBER = ShapedArray((), np.dtype(np.int64))
_QUTRITS = "whose wires have three levels: PennyLane gives sizes of results for qubits only"
_REFUSED: Mapping[str, str] = {
    "default.qutrit": _QUTRITS,
    "default.qutrit.mixed": _QUTRITS,
    "default.gaussian": "whose wires are modes of light, not qubits",
}
_steps = itertools.count(1)
_numbers = itertools.count(1)

MOST_KEPT = 256
"""Lists of a thread that are kept: far more than calls can be nested."""

Entry = tuple[int, Any]
"""The number of the equation that appended an operator, and the operator."""


class _Lists(threading.local):
    """The lists of operators that running programs fill, by number; the oldest one first."""

    def __init__(self) -> None:
        self.by_number: dict[int, list[Entry]] = {}


_lists = _Lists()


@dataclass
class DeviceCircuit(Circuit):
    """A circuit whose operators are kept for a device."""

    device: Any = None
    labels: set[Any] = field(default_factory=set)
    """Wires that are known, of all operators and measurements."""
    traced_wire: str | None = None
    """What acts on a traced wire."""
    batch_size: int | None = None
    """Of the operators with broadcast parameters."""
    numbers: dict[int, int] = field(default_factory=dict)
    """The step that gave a register, by the identity of the register."""

    def note(self, obj: Any) -> None:
        """Take note of an operator's or measurement's wires, and of broadcasting."""
        for label in obj.wires:
            if is_traced_wire(label):
                self.traced_wire = self.traced_wire or describe(obj)
            else:
                self.labels.add(label)
        size = getattr(obj, "batch_size", None)
        if size is not None and self.batch_size not in (None, size):
            raise BatchSizeError(operation=describe(obj), size=size, others=self.batch_size)
        self.batch_size = self.batch_size if size is None else size

    def check_wires(self, labels: Sequence[Any], construct: str) -> None:
        """The device will."""

    def number_of_wires(self) -> int:
        """How many wires a measurement without wires is about."""
        if self.device.wires is not None:
            return len(self.device.wires)
        if self.traced_wire is not None:
            reason = f"{self.traced_wire} acts on a traced wire"
            raise UnknownWiresError(qnode=self.name, reason=reason)
        return len(self.labels)


def call_on_device(
    qnode: qml.QNode, settings: QNodeSettings, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Record a QNode's call; the results have the structure that PennyLane gives them."""
    refuse_device(qnode, settings)
    note_method(settings.qnode, settings.method)
    trees: list[Any] = []
    call = current_source_info()

    def body() -> Sequence[Any]:
        results = _record(qnode, settings, call, lambda: qnode.func(*args, **kwargs))
        leaves, tree = jax.tree_util.tree_flatten(results)
        trees.append(tree)
        return leaves

    name, device = settings.qnode, settings.device.name
    jaxpr, captured = trace_to_jaxpr(body, [], name)
    results = qnode_p.bind(*captured, jaxpr=jaxpr, name=name, num_wires=0, device=device)
    return jax.tree_util.tree_unflatten(trees[0], results)


def _record(
    qnode: qml.QNode, settings: QNodeSettings, call: Any, function: Callable[[], Any]
) -> Any:
    """Record the body; its results. `call`: the source information of the QNode's call."""
    wires, device = WireMap(settings.qnode, ()), settings.device
    circuit = DeviceCircuit(settings.qnode, wires, record=record_step, device=device)
    with source_context(call):
        scope = CircuitScope(circuit, _start(settings.qnode), True)
    with scope.recording():
        returned = function()
        scope.finish()
    leaves, tree = jax.tree_util.tree_flatten(returned, is_leaf=is_quantum_object)
    processes = [leaf for leaf in leaves if isinstance(leaf, MeasurementProcess)]
    for process in processes:
        if process.mv is None:
            circuit.note(process)
    with making_operators(), source_context(call):
        results = _run(qnode, settings, scope, processes)
    return _structured(results, leaves, tree, settings)


def refuse_device(qnode: qml.QNode, settings: QNodeSettings) -> None:
    """Refuse devices that the sizes of results are not known of, and passes that see no gates."""
    name = settings.device.name
    reason, hint = _REFUSED.get(name), "call this QNode outside of qjit"
    if reason is None and has_own_passes(qnode) and depends_on_circuits(settings.device):
        reason = "which runs in Python: the compiler's passes never see its circuits"
        hint = "remove the passes, or use PennyLane's transforms of the same names"
    if reason is not None:
        raise UnsupportedDeviceError(
            qnode=settings.qnode, device=name, reason=reason, hint=hint, span=user_span()
        )


def record_step(operator: Any, scope: CircuitScope, controls: Controls = ()) -> None:
    """Record that an operator is appended to the list, with these controls around it."""
    circuit = scope.circuit
    assert isinstance(circuit, DeviceCircuit)
    circuit.note(operator)
    if any(map(is_native_outcome, operator.data)):
        raise UnknownOutcomeError(what=f"{operator.name} of a mid-circuit outcome")
    with QueuingManager.stop_recording():
        if controls:
            labels = [label for label, _ in controls]
            operator = qml.ctrl(operator, labels, control_values=[value for _, value in controls])
        make, values = opaque(operator)
    number = next(_steps)

    def append(register: np.ndarray, *values: np.ndarray) -> list[np.ndarray]:
        with _undisturbed():
            _lists.by_number[int(register)].append((number, make(values)))
        return [register]

    step = DeviceStep(describe(operator), append)
    (scope.register,) = device_step_p.bind(
        scope.register, *values, step=step, result_avals=(_NUMBER,)
    )
    circuit.numbers[id(scope.register)] = number


def record_adjoint(scope: CircuitScope) -> Callable[[], None]:
    """Record that what is appended from now on is to be undone, once the result is called."""
    mark = next(_steps)

    def begin(register: np.ndarray) -> list[np.ndarray]:
        _lists.by_number[int(register)].append((mark, None))
        return [register]

    def end(register: np.ndarray) -> list[np.ndarray]:
        entries = _lists.by_number[int(register)]
        first = max(place for place, entry in enumerate(entries) if entry == (mark, None))
        undone = entries[first + 1 :]
        with _undisturbed():
            entries[first:] = [(number, qml.adjoint(entry)) for number, entry in reversed(undone)]
        return [register]

    def step(description: str, function: Callable[..., list[np.ndarray]]) -> None:
        step = DeviceStep(description, function)
        (scope.register,) = device_step_p.bind(scope.register, step=step, result_avals=(_NUMBER,))

    step("adjoint of what follows", begin)
    return lambda: step("end of adjoint", end)


def _start(name: str) -> Any:
    """The number of a new list."""

    def start() -> list[np.ndarray]:
        number = next(_numbers)
        _lists.by_number[number] = []
        while len(_lists.by_number) > MOST_KEPT:
            del _lists.by_number[next(iter(_lists.by_number))]
        return [np.asarray(number)]

    step = DeviceStep(f"circuit of {name}", start)
    (number,) = device_step_p.bind(step=step, result_avals=(_NUMBER,))
    return number


def _run(
    qnode: qml.QNode, settings: QNodeSettings, scope: CircuitScope, processes: Sequence[Any]
) -> list[Any]:
    """Record the last step; all results of all measurements, one number of shots after another."""
    circuit = scope.circuit
    assert isinstance(circuit, DeviceCircuit)
    shots = list(settings.shots) if settings.shots else [None]
    table = dimension_table()
    sizes = [table.size(count) if isinstance(count, Tracer) else count for count in shots]
    of_all = any(process.mv is None and len(process.wires) == 0 for process in processes)
    wires = circuit.number_of_wires() if of_all else 0  # which matters for such processes only
    promises: list[Promise] = []
    for size, process in itertools.product(sizes, processes):
        with scope.as_from(process):
            promises.append(promised(process, circuit.device, size, wires, circuit.batch_size))
    make_all, values = opaque((shots, list(processes)))
    taken_back = frozenset(circuit.numbers[id(after)] for _, after in circuit.taken_back)
    device, span = circuit.device.name, user_span()

    def run(register: np.ndarray, *values: np.ndarray) -> list[np.ndarray]:
        entries = _lists.by_number.pop(int(register))
        operators = [operator for number, operator in entries if number not in taken_back]
        with at(span), _undisturbed():
            refuse_device(qnode, settings)  # a tracker may have been put around this call
            if settings.folding is not None:
                operators = folding.folded_operators(operators, settings.folding)
            counts, made = make_all(values)
            track_resources(circuit.device, operators, made)
            found = run_as_qnode(qnode, _as_given(counts), operators, made)
        with at(span):
            return as_promised(found, promises, device)

    draws = circuit.measures or not settings.is_analytic
    step = DeviceStep(f"{device} runs {circuit.name}", run, draws)
    avals = tuple(aval for promise in promises for aval in promise.avals)
    arrays = iter(device_step_p.bind(scope.register, *values, step=step, result_avals=avals))
    return [promise.build([next(arrays) for _ in promise.avals]) for promise in promises]


def _as_given(counts: Sequence[Any]) -> Any:
    """Numbers of shots as PennyLane takes them."""
    numbers = [None if count is None else int(count) for count in counts]
    return numbers[0] if len(numbers) == 1 else numbers


def _structured(
    results: Sequence[Any], leaves: Sequence[Any], tree: Any, settings: QNodeSettings
) -> Any:
    """Results in the places of their measurements; a tuple of all that where shots are several."""
    remaining = iter(results)

    def one() -> Any:
        filled = [
            next(remaining)
            if isinstance(leaf, MeasurementProcess)
            else classical_result(leaf, name)
            for leaf in leaves
        ]
        return jax.tree_util.tree_unflatten(tree, filled)

    name = settings.qnode
    if not settings.shots.has_partitioned_shots:
        return one()
    return tuple(one() for _ in range(settings.shots.num_copies))


@contextmanager
def _undisturbed() -> Generator[None]:
    """PennyLane's queue serves all threads: what is made and run here, no other thread records.

    Nor does a trace of JAX's that may be under way in this thread.
    """
    with eager(), jax.enable_x64(True), making_operators():
        yield
