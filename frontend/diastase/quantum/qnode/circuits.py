"""A QNode's body, traced: a jaxpr that allocates its register, runs the circuit and measures.

The quantum function runs once, with its arguments as they are (tracers, or plain Python values,
which stay plain); what it closes over becomes operands. The body allocates a register of its own,
so every run starts from |0…0>. How often it is run, and what is made of the results, is up to who
asked for it (`TracedCircuit.run`).

The traps: the size of the register may be known only at the end (a device without wires), so the
`allocate_qubits` equation is completed after the body has been traced. And an operator that becomes
part of another one (`qml.adjoint(op)`, `qml.expval(op)`) leaves the circuit, as late as PennyLane
likes; everything pending is recorded before a measurement or control flow, so the equations of such
an operator are deleted from the finished jaxpr.
"""

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr, Var
from pennylane.measurements import MeasurementProcess
from pennylane.queuing import AnnotatedQueue

from diastase.capture.pennylane_compat import is_quantum_object, traced_number_of_wires
from diastase.capture.pennylane_compat.compilers import warn_unlike_catalyst
from diastase.capture.quantum_errors import CollectiveInQNodeError
from diastase.capture.regions import quantum_scope
from diastase.primitives.quantum import (
    allocate_p,
    measure_p,
    qnode_p,
    release_p,
    touches_register,
)
from diastase.primitives.sampling import follow_script_p
from diastase.quantum.measurements.measurements import WithSnapshots, measure_snapshot, process_name
from diastase.quantum.measurements.readout import readout_of
from diastase.quantum.operators.broadcasting import note_classical
from diastase.quantum.operators.circuit_scope import Circuit, CircuitScope
from diastase.quantum.operators.gates import record
from diastase.quantum.settings.circuit_passes import transformed
from diastase.quantum.settings.diff_method import OUTCOMES, parameter_of
from diastase.quantum.settings.methods import note_method
from diastase.quantum.settings.noise_models import noise_of_device
from diastase.quantum.settings.qnode_settings import QNodeSettings
from diastase.quantum.wires import WireMap, traced_again
from diastase_mlir import span_of, user_span
from diastase_mlir.jax_compat import (
    current_source_info,
    equations_in,
    is_batching,
    named_axes,
    source_context,
    trace_to_jaxpr,
    tracer_variable,
)
from diastase_mlir.jax_compat.x64 import as_set_by_user
from diastase_runtime.errors import TooManyQubitsError
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    from diastase.quantum import folding, inserted_noise, run_dependence, unread_outcomes
    from diastase.quantum.operators import decomposing, device_gates, drawn_channels
else:
    decomposing = LazyModule("diastase.quantum.operators.decomposing")
    run_dependence = LazyModule("diastase.quantum.run_dependence")
    folding = LazyModule("diastase.quantum.folding")
    inserted_noise = LazyModule("diastase.quantum.inserted_noise")
    unread_outcomes = LazyModule("diastase.quantum.unread_outcomes")
    device_gates = LazyModule("diastase.quantum.operators.device_gates")
    drawn_channels = LazyModule("diastase.quantum.operators.drawn_channels")

LARGEST_REGISTER = 59
"""Wires beyond which the size of a state does not even fit into 64 bits; the engine refuses far
fewer, when the program runs."""

Finish = Callable[[Sequence[Any], CircuitScope], Sequence[Any]]
"""From the leaves of what the quantum function returned, and its circuit, to the body's results."""
Record = Callable[..., None]
"""Records an operator, in a scope, under controls."""

MeasureSnapshot = Callable[[QNodeSettings, Any, CircuitScope], Any]
"""What a snapshot sees of a circuit."""

NO_SCRIPT = np.int64(0)
_LEFT_OUT = (
    "a device without wires has those that the circuit names",
    "all numbers up to the largest one, too",
    "give the device its wires",
)

_SCRIPT = ShapedArray((), np.dtype(np.int64))


@dataclass(frozen=True)
class QNodeCall:
    """One call of a QNode."""

    function: Callable[..., Any]
    settings: QNodeSettings
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@dataclass(frozen=True)
class TracedCircuit:
    """The body of a QNode's call."""

    settings: QNodeSettings
    jaxpr: ClosedJaxpr
    captured: tuple[Any, ...]
    num_wires: int | None
    """Of the register, with those that passes have added; None where the number is traced."""
    tree: Any
    """The structure of what the quantum function returned."""
    circuit: Circuit
    takes_script: bool
    processes: tuple[MeasurementProcess, ...] = ()
    """The measurements that it returns."""
    forgets_outcomes: bool = False
    """Whether it measured in its middle, and nothing reads what was found."""

    def run(self, script: Any = NO_SCRIPT) -> list[Any]:
        """Record one run; the body's results."""
        operands = [script] if self.takes_script else []
        return qnode_p.bind(
            *self.captured, *operands, jaxpr=self.jaxpr, name=self.settings.qnode,
            num_wires=self.num_wires, device=self.settings.device.name,
            **parameter_of(OUTCOMES if self.circuit.measures else self.settings.differentiation),
        )  # fmt: skip

    def beside(self, found: Sequence[Any]) -> list[Any]:
        """What was found of all runs; in a batch, results without the circuit computed without it.

        So they are of no element of the batch if what they are computed of is of none.
        """
        if not is_batching():
            return list(found)
        operands = [*self.captured, *[NO_SCRIPT] * self.takes_script]
        classical = run_dependence.classical_results(self.jaxpr, operands)
        note_classical(classical.values())
        return [classical.get(place, result) for place, result in enumerate(found)]


def trace_circuit(
    call: QNodeCall,
    finish: Finish,
    takes_script: bool = False,
    recording: Callable[[Record], Record] | None = None,
    measure_snapshot: MeasureSnapshot = measure_snapshot,
) -> TracedCircuit:
    """Trace the body of a call; `finish` measures, `measure_snapshot` does in between.

    `takes_script`: measurements in the middle find their outcomes in a script, an operand of the
    body (`primitives.sampling`). `recording` changes how operators are recorded, of a circuit that
    no state vector runs: of any number of wires.
    """
    how = (takes_script, recording, measure_snapshot)
    traced = _traced(call, finish, *how, forgets_outcomes=False)
    if traced.forgets_outcomes and not call.settings.is_analytic:  # all shots are of one state
        traced = _traced(call, finish, *how, forgets_outcomes=True)
    note_method(call.settings.qnode, call.settings.method)
    if _watched.seen is not None:
        _watched.seen.append(SeenCircuit(traced, traced.processes))
    return traced


@traced_again
def _traced(
    call: QNodeCall,
    finish: Finish,
    takes_script: bool,
    recording: Callable[[Record], Record] | None,
    measure_snapshot: MeasureSnapshot,
    forgets_outcomes: bool,
) -> TracedCircuit:
    """`forgets_outcomes`: no outcome is read, so `finish` is told that there are none."""
    name, labels = call.settings.qnode, call.settings.device.wires
    size = traced_number_of_wires(call.settings.device)
    wires = WireMap(name, None if labels is None else tuple(labels), size)
    circuit = Circuit(
        name, wires, record=_recording(call.settings, recording),
        measure_snapshot=partial(measure_snapshot, call.settings),
        readout=readout_of(call.settings.device), measures=_draws_noise(call.settings),
    )  # fmt: skip
    trees: list[Any] = []
    processes: list[MeasurementProcess] = []
    measured: list[bool] = []
    source = current_source_info()

    def body(*operands: Any) -> Sequence[Any]:
        with source_context(source):
            register = _allocate(circuit, call.settings)
            for script in operands:
                register = follow_script_p.bind(register, script)
            scope = CircuitScope(circuit, register, True)
        with scope.recording():
            with as_set_by_user():
                returned = call.function(*call.args, **call.kwargs)
            scope.finish()
        if circuit.snapshots:
            returned = WithSnapshots(circuit.snapshots, returned)
        leaves, tree = jax.tree_util.tree_flatten(returned, is_leaf=is_quantum_object)
        trees.append(tree)
        processes[:] = [leaf for leaf in leaves if isinstance(leaf, MeasurementProcess)]
        circuit.wires.end_of_operators()
        _name_wires([*leaves, *circuit.measured_elsewhere], scope)
        # PennyLane's queue serves all threads: while it makes operators for us, no other records.
        with quantum_scope(scope), AnnotatedQueue():
            measured[:] = [circuit.measures]
            circuit.measures &= not forgets_outcomes
            results = finish(leaves, scope)
        with source_context(source):
            release_p.bind(scope.register)
        return results

    names = ["script"] * takes_script
    jaxpr, captured = trace_to_jaxpr(body, [_SCRIPT] * takes_script, name, names)
    _refuse_collectives(jaxpr)
    number = None if size is not None else circuit.wires.number
    taken_back = circuit.taken_back
    jaxpr = _without(
        jaxpr, [(tracer_variable(one), tracer_variable(two)) for one, two in taken_back]
    )
    if number is not None:
        largest = LARGEST_REGISTER // 2 if call.settings.is_mixed else LARGEST_REGISTER
        if number > largest and recording is None:
            raise TooManyQubitsError(construct=f"QNode {name}", number=number, span=user_span())
        jaxpr = _with_size(jaxpr, number)
    if call.settings.steps.passes:  # which may measure, and add wires
        jaxpr, captured = transformed(jaxpr, captured, call.settings.steps.passes, name)
        number = _size_of(jaxpr)
        circuit.measures |= any(map(_is_measured, equations_in(jaxpr, touches_register)))
    measures = circuit.measures or any(measured)
    jaxpr, captured = _changed(call.settings, circuit, measures, jaxpr, captured)
    return TracedCircuit(
        call.settings, jaxpr, tuple(captured), number, trees[0], circuit, takes_script,
        tuple(processes), measures and not circuit.measures,
    )  # fmt: skip


def _changed(
    settings: QNodeSettings,
    circuit: Circuit,
    measures: bool,
    jaxpr: ClosedJaxpr,
    captured: Sequence[Any],
) -> tuple[ClosedJaxpr, Sequence[Any]]:
    """The circuit as it is run: without outcomes that nobody reads, folded, with noise."""
    averages = settings.mcm_method != "single-branch-statistics"
    if settings.is_mixed and averages and measures:
        jaxpr = unread_outcomes.without_unread_outcomes(jaxpr)
        circuit.measures = any(map(_is_measured, equations_in(jaxpr, touches_register)))
    if settings.folding is not None:
        jaxpr, captured = folding.folded(jaxpr, captured, settings.folding)
    if settings.noise:
        jaxpr, captured = inserted_noise.with_noise(jaxpr, captured, settings.noise, circuit)
    if not circuit.measures:
        jaxpr = _without(jaxpr, _followed(jaxpr))
    return jaxpr, captured


def _draws_noise(settings: QNodeSettings) -> bool:
    """Whether noise that is added to the circuit later is drawn, run by run, as outcomes are."""
    return bool(settings.noise) and settings.method.name == "trajectories"


def _recording(settings: QNodeSettings, changed: Callable[[Record], Record] | None) -> Record:
    """How operators become gates; where several gate sets are given, by one after the other."""
    how: Record = record
    if settings.noise:
        how = device_gates.for_noise(how, bool(noise_of_device(settings.device)))
    if settings.method.name == "trajectories":
        how = drawn_channels.with_channels(how)
    for target in reversed(settings.steps.of("operators")):
        how = decomposing.Decomposer(target, how).record
    return how if changed is None else changed(how)


@dataclass(frozen=True)
class SeenCircuit:
    """A circuit that was traced while somebody watched."""

    traced: TracedCircuit
    processes: tuple[MeasurementProcess, ...]
    """The measurements that it returns, or is sampled for."""


class _Watched(threading.local):
    seen: list[SeenCircuit] | None = None


_watched = _Watched()


@contextmanager
def watching_circuits() -> Generator[list[SeenCircuit]]:
    """The circuits that this thread traces inside, in order, each as its passes have left it."""
    outer, _watched.seen = _watched.seen, []
    try:
        yield _watched.seen
    finally:
        _watched.seen = outer


@contextmanager
def unseen_if_it_fails() -> Generator[None]:
    """Circuits that are traced inside have not been seen if an error is raised."""
    seen = _watched.seen
    count = 0 if seen is None else len(seen)
    try:
        yield
    except BaseException:
        if seen is not None:
            del seen[count:]
        raise


def _is_measured(equation: Any) -> bool:
    return equation.primitive is measure_p


def _followed(jaxpr: ClosedJaxpr) -> list[tuple[Var, Var]]:
    """Where a script of outcomes is followed, which a circuit without outcomes need not."""
    equations = [one for one in jaxpr.jaxpr.eqns if one.primitive is follow_script_p]
    return [(one.invars[0], one.outvars[0]) for one in equations]


def _refuse_collectives(jaxpr: ClosedJaxpr) -> None:
    """Refuse a quantum function that uses a named axis, whose elements are other runs."""
    for equation in jaxpr.jaxpr.eqns:
        for axis in named_axes(equation.effects):
            raise CollectiveInQNodeError(axis=axis, span=span_of(equation.source_info))


def _allocate(circuit: Circuit, settings: QNodeSettings) -> Any:
    """A register of a traced number of wires, or of one that is filled in at the end."""
    kind = {"single": settings.single, "mixed": settings.is_mixed}
    params: dict[str, Any] = {name: True for name, asked in kind.items() if asked}
    params["qnode"] = circuit.name
    if circuit.wires.traced is None:
        return allocate_p.bind(num_wires=0, **params)
    return allocate_p.bind(circuit.wires.traced.number, num_wires=None, **params)


def _name_wires(leaves: Sequence[Any], scope: CircuitScope) -> None:
    """Let all measurements name their wires before any asks how many there are."""
    for leaf in leaves:
        if isinstance(leaf, MeasurementProcess) and leaf.mv is None:
            with scope.as_from(leaf):
                scope.wires.positions(leaf.wires, process_name(leaf))
    if scope.wires.leaves_out and any(map(_is_of_all_wires, leaves)):
        warn_unlike_catalyst(*_LEFT_OUT)


def _is_of_all_wires(leaf: Any) -> bool:
    is_process = isinstance(leaf, MeasurementProcess) and leaf.mv is None
    return is_process and leaf.obs is None and len(leaf.wires) == 0


def _size_of(jaxpr: ClosedJaxpr) -> int | None:
    """The number of wires of the body's register, with those that passes have added."""
    (size,) = [e.params["num_wires"] for e in jaxpr.jaxpr.eqns if e.primitive is allocate_p]
    return size


def _with_size(jaxpr: ClosedJaxpr, num_wires: int) -> ClosedJaxpr:
    """Give the body's own `allocate_qubits`, its first one, the size of its register."""
    equations = list(jaxpr.jaxpr.eqns)
    position = next(
        index for index, equation in enumerate(equations) if equation.primitive is allocate_p
    )
    allocate = equations[position]
    equations[position] = allocate.replace(params={**allocate.params, "num_wires": num_wires})
    return jaxpr.replace(jaxpr=jaxpr.jaxpr.replace(eqns=equations))


# --- operators that PennyLane takes back ---------------------------------------------------------


def _without(jaxpr: ClosedJaxpr, extents: Sequence[Sequence[Var]]) -> ClosedJaxpr:
    """Delete the equations between these registers, which stand before and after an operator.

        r1 = gate[PauliZ] r0     (taken back: r0 -> r1)
        r2 m = measure r1                                ->    r2 m = measure r0

    The trap: deleted operators may follow each other, so the register before one may be deleted.
    """
    if not extents:
        return jaxpr
    replacements: dict[Var, Var] = {}
    deleted: set[int] = set()
    for before, after in extents:
        deleted |= _chain(jaxpr, before, after)
        replacements[after] = before
    equations = [
        equation.replace(invars=[_resolved(atom, replacements) for atom in equation.invars])
        for position, equation in enumerate(jaxpr.jaxpr.eqns)
        if position not in deleted
    ]
    return jaxpr.replace(jaxpr=jaxpr.jaxpr.replace(eqns=equations))


def _chain(jaxpr: ClosedJaxpr, before: Var, after: Var) -> set[int]:
    """Positions of the equations that lead from one register to another, linearly."""
    positions: set[int] = set()
    register = before
    for position, equation in enumerate(jaxpr.jaxpr.eqns):
        if register is after:
            break
        if equation.invars and equation.invars[0] is register:
            positions.add(position)
            (register,) = equation.outvars
    assert register is after, "an operator's registers are not linked by its equations"
    return positions


def _resolved(atom: Any, replacements: dict[Var, Var]) -> Any:
    """What to use instead of a value, after all deletions."""
    while isinstance(atom, Var) and atom in replacements:
        atom = replacements[atom]
    return atom
