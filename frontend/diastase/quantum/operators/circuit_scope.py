"""The capture of quantum operations in one region of a circuit.

A region is a QNode's body, a loop's body or a branch. Each has its own queue, into which PennyLane
puts what the user applies, and its own register tracer; `flush` turns what is in the queue into
equations on the register. `circuit` is what the regions of one QNode share.

The rule that keeps results right: an operation counts only if it was recorded while the region's
own JAX trace was the current one, and in the region's own queue. Inside `jax.grad` and the like
(another trace; `jax_overlays.control_flow`), or a function that PennyLane puts into a tape (another
queue), it would be applied a wrong number of times or out of order: refused.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pennylane as qml
from pennylane.measurements import MeasurementProcess
from pennylane.queuing import QueuingManager

from diastase.capture.pennylane_compat import CircuitQueue, Place, describe
from diastase.capture.quantum_errors import (
    AlreadyAppliedError,
    ForeignRegion,
    MeasurementInsideError,
    UnsupportedOperationError,
    UnsupportedReturnError,
)
from diastase.capture.regions import quantum_scope
from diastase.quantum.operators.gate_operands import Controls, Recorder
from diastase.quantum.operators.gates import is_no_gate, record
from diastase.quantum.wires import WireMap
from diastase_mlir import at, span_of, user_span
from diastase_mlir.jax_compat import current_trace, recording_trace, source_context
from diastase_mlir.jax_compat.x64 import runs_in_64_bits

JAX_FUNCTION = ForeignRegion(
    "a function that JAX traces (jax.grad, jax.jvp, jax.custom_root, …)",
    "apply it outside of that function; loops and branches of jax.lax, and jax.vmap, may contain "
    "operators where they are called as jax.lax.scan(…), not imported by their own names",
)
RECORDED_FUNCTION = ForeignRegion(
    "a quantum function recorded by PennyLane (qml.prod, qml.matrix, a tape, …)",
    "apply it in the circuit itself; adjoint and ctrl take functions with loops and branches",
)


@dataclass
class Circuit:
    """What all regions of one QNode's circuit have in common."""

    name: str
    wires: WireMap
    applied: dict[int, "Applied"] = field(default_factory=dict)
    """Operators recorded so far, by identity."""
    taken_back: list[tuple[Any, Any]] = field(default_factory=list)
    """Registers before and after operators that are deleted again at the end (`circuits`)."""
    record: Callable[..., None] = record
    """Records an operator in a scope: as gates, or for a device that runs elsewhere."""
    measures: bool = False
    """Whether a wire is measured in the middle of the circuit."""
    postselects: bool = False
    """Whether an outcome of such a measurement is asked for."""
    measure_snapshot: Callable[[Any, "CircuitScope"], Any] | None = None
    """None where snapshots show nothing."""
    snapshots: list[Any] = field(default_factory=list)
    """What they saw so far."""
    readout: Any = 0.0
    """The probability that a wire is read as the other outcome, when the QNode measures."""
    measured_elsewhere: Sequence[Any] = ()
    """Measurements of which another circuit makes the results; their wires are this one's, too."""

    @contextmanager
    def reading_exactly(self) -> Generator[None]:
        """Measure without readout errors, inside."""
        flip, self.readout = self.readout, 0.0
        try:
            yield
        finally:
            self.readout = flip

    def check_wires(self, labels: Sequence[Any], construct: str) -> None:
        """Refuse wires that there are not, or that are the same."""
        self.wires.positions(labels, construct)


@dataclass(frozen=True)
class Applied:
    """An operator that has been recorded."""

    operator: Any
    """Kept alive, so that its identity stays its own."""
    scope: "CircuitScope | None"
    """None where it can no longer be taken back."""
    before: Any
    after: Any


class CircuitScope(Recorder):
    """One region, while it is being traced; the `QuantumScope` that control flow sees."""

    def __init__(
        self,
        circuit: Circuit,
        register: Any,
        outermost: bool = False,
        controls: Controls = (),
        unitary_in: str | None = None,
        is_undone: bool = False,
        applied_outside: frozenset[int] = frozenset(),
    ):
        self.circuit = circuit
        self.is_outermost = outermost
        self.controls = controls
        """Of all operators recorded now: of the `ctrl`s that we are inside of."""
        self.unitary_in = unitary_in
        """`adjoint` or `ctrl`, where only what is unitary can be recorded."""
        self.is_undone = is_undone
        self.applied_outside = applied_outside
        """Operators, by identity, that were applied before the function given to these. Taken back
        inside, PennyLane applies them or not, depending on what they become part of: refused."""
        self.wires = circuit.wires
        self.register = register
        self.queue = CircuitQueue(self._take_back)
        self._places: dict[int, Place] = {}
        self._known_arrays: dict[Any, Any] = {}
        self._trace = current_trace()
        self._initial_register = register

    @contextmanager
    def recording(self) -> Generator["CircuitScope"]:
        """Record what is applied inside."""
        with quantum_scope(self), self.queue:
            yield self

    # --- for whoever records equations ---------------------------------------------------------

    @property
    def known_arrays(self) -> dict[Any, Any]:
        """What has been computed in this region."""
        return self._known_arrays

    @property
    def is_untouched(self) -> bool:
        """Whether the register is |0...0>: nothing of the QNode has been recorded yet."""
        return self.is_outermost and self.register is self._initial_register

    def run_decomposition(
        self, function: Callable[[], Sequence[Any] | None], controls: Controls
    ) -> Sequence[Any] | None:
        """Call a user's function that gives an operator's factors, and may have control flow in it.

        Its loops and branches are recorded as it runs, under these controls, with what it applied
        before and between; then nothing is left for the caller, nor of a function that gives None.
        Else the result is the factors, unrecorded.
        """
        if self._foreign_region() is not None:
            return function()
        pending, before = list(self.queue.take()), self.register
        outer, self.controls = self.controls, controls
        try:
            factors = function()
            if factors is None or self.register is not before:
                self._record_pending(final=False)
                factors = ()
        finally:
            self.controls = outer
            for _ in self.queue.take():
                pass
            for obj, place in pending:
                self.queue.put_back(obj, place)
        return factors

    def take_snapshot(self, operator: Any) -> None:
        """Measure the register as it is now, for the results of the QNode."""
        if self.circuit.measure_snapshot is not None:
            self.circuit.snapshots.append(self.circuit.measure_snapshot(operator, self))

    def note_recorded(self, operator: Any) -> None:
        """An operator stands for what has been recorded: it cannot be applied again."""
        self.circuit.applied[id(operator)] = Applied(operator, None, self.register, self.register)

    def require_own_region(self, operation: str) -> None:
        """Refuse what happens now, unless it happens in this region and nothing inside it."""
        region = self._foreign_region()
        if region is not None:
            with at(user_span()):
                raise region.refusal(operation)

    def _foreign_region(self) -> ForeignRegion | None:
        if current_trace() is not self._trace:
            return JAX_FUNCTION
        return None if self.queue.is_active else RECORDED_FUNCTION

    @contextmanager
    def unitary(self, construct: str, controls: Controls = ()) -> Generator[None]:
        """Inside, nothing is measured, and all that is recorded has these controls, too."""
        outer = self.controls, self.unitary_in, self.applied_outside, self.is_undone
        self.controls, self.unitary_in = (*self.controls, *controls), construct
        self.is_undone ^= construct == "adjoint"
        self.applied_outside = frozenset(self.circuit.applied)
        try:
            yield
            self._record_pending(final=True)
        finally:
            self.controls, self.unitary_in, self.applied_outside, self.is_undone = outer

    def require_measurable(self, construct: str) -> None:
        """Refuse a measurement of `construct` where all has to be unitary."""
        if self.unitary_in is not None:
            raise MeasurementInsideError(
                construct=construct, outer=self.unitary_in, span=user_span()
            )

    # --- for control flow (`regions.QuantumScope`) ---------------------------------------------

    @property
    def is_recording(self) -> bool:
        """Whether the queue is the active one: nobody builds a tape, a decomposition, a matrix."""
        return self.queue.is_active

    @property
    def records_here(self) -> bool:
        """Whether what is applied now belongs to this region."""
        return self._foreign_region() is None

    @property
    def has_measured(self) -> bool:
        """Whether the circuit has measured a wire so far."""
        return self.circuit.measures

    def refuse_foreign_trace(self, obj: Any) -> None:
        """Refuse an operator in a tape; one in a queue of ours is refused where it is recorded."""
        tape = not isinstance(QueuingManager.active_context(), CircuitQueue)
        if tape and isinstance(obj, qml.operation.Operator):
            if recording_trace() not in (None, self._trace):
                raise JAX_FUNCTION.refusal(describe(obj), user_span())

    @contextmanager
    def trial(self, *, if_it_fails: bool = False) -> Generator[None]:
        """Forget operators that were applied inside: they were not."""
        circuit = self.circuit
        applied, taken_back = dict(circuit.applied), list(circuit.taken_back)
        is_kept = False
        try:
            yield
            is_kept = if_it_fails
        finally:
            if not is_kept:
                circuit.applied, circuit.taken_back = applied, taken_back

    def flush(self) -> None:
        """Record everything pending; inside a foreign region nothing of ours can be pending."""
        if self._foreign_region() is None:
            self._record_pending(final=False)

    def replace_register(self, register: Any) -> None:
        """Go on with the result of a control-flow equation."""
        self.require_own_region("control flow with quantum operations")
        self.register = register

    @contextmanager
    def enter_region(self, register: Any) -> Generator["CircuitScope"]:
        """Record into the trace that is current now."""
        inner = CircuitScope(
            self.circuit,
            register,
            controls=self.controls,
            unitary_in=self.unitary_in,
            is_undone=self.is_undone,
            applied_outside=self.applied_outside,
        )
        with inner.recording():
            yield inner

    @property
    def used(self) -> bool:
        """Whether any quantum operation was recorded in the region."""
        return not self.queue.is_empty or self.register is not self._initial_register

    def final_register(self) -> Any:
        """The register that the region returns; a measurement process has no meaning in it."""
        for obj in self.queue.queue:
            if isinstance(obj, MeasurementProcess):
                hint = "return measurement processes from the QNode itself, at its end"
                value = f"the measurement {obj}"
                raise UnsupportedReturnError(
                    function="a loop body or branch", value=value, hint=hint, span=user_span()
                )
        return self.finish()

    def finish(self) -> Any:
        """Record everything: the register that the region ends with."""
        self._record_pending(final=True)
        return self.register

    @contextmanager
    def as_from(self, process: Any) -> Generator[None]:
        """Record as from the line where a measurement process was made; errors name it."""
        place = self._places.get(id(process))
        if place is None:
            yield
            return
        with at(span_of(place.source_info)), source_context(place.source_info):
            yield

    @runs_in_64_bits
    def _record_pending(self, final: bool) -> None:
        """Record what is in the queue; an observable may yet become part of a measurement."""
        for obj, place in self.queue.take():
            if not final and is_no_gate(obj):
                self.queue.put_back(obj, place)
            elif isinstance(obj, qml.operation.Operator):
                self._record(obj, place)
            elif isinstance(obj, MeasurementProcess):
                self._places[id(obj)] = place
            else:
                span, kind = span_of(place.source_info), type(obj).__name__
                raise UnsupportedOperationError(
                    operation=kind, reason="cannot be part of a compiled circuit", span=span
                )

    def _record(self, operator: Any, place: Place) -> None:
        """Record an operator as from the line where it was applied."""
        with at(span_of(place.source_info)), source_context(place.source_info):
            if place.trace is not self._trace:
                raise JAX_FUNCTION.refusal(describe(operator))
            if id(operator) in self.circuit.applied:
                raise AlreadyAppliedError(operation=describe(operator))
            before = self.register
            self.circuit.record(operator, self, self.controls)
        self.circuit.applied[id(operator)] = Applied(operator, self, before, self.register)

    def _take_back(self, operator: Any) -> None:
        """PennyLane takes an operator out of the circuit; it may have been recorded already."""
        applied = self.circuit.applied.get(id(operator))
        if applied is None:
            return
        reachable = applied.scope is self and self.is_outermost and self._foreign_region() is None
        if not reachable or id(operator) in self.applied_outside:
            raise AlreadyAppliedError(operation=describe(operator), span=user_span())
        del self.circuit.applied[id(operator)]
        if applied.after is not applied.before:
            self.circuit.taken_back.append((applied.before, applied.after))
