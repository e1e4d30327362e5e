"""A circuit while it is traced to be read, until it is known to be no Clifford circuit.

`method="automatic"` traces a quantum function for stabilizers first, and again for another method
if they do not take it. So that few circuits are recorded twice, an `Attempt` looks at each operator
when it has been recorded: a gate with an angle that an argument of the program determines, or one
that is known and no Clifford gate, ends the attempt. From then on nothing is recorded. What the
choice of another method depends on (`Seen`) is seen of the rest, or the trace ends there and then
where it depends on nothing.

The trap: what is in a loop or branch may never happen, and passes may take it away; so only gates
of the body itself, without passes, are looked at here. `reading` decides about all others.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pennylane as qml
from jax.core import Tracer
from pennylane import measurements
from pennylane.measurements import MeasurementProcess

from diastase.capture.device_errors import NotCliffordError
from diastase.capture.pennylane_compat import describe
from diastase.primitives.quantum import is_register
from diastase.quantum.clifford.channels import Noise
from diastase.quantum.clifford.reading import refuse_gate
from diastase.quantum.operators.circuit_scope import CircuitScope
from diastase.quantum.operators.gate_operands import Controls, Recorder
from diastase_mlir.jax_compat import is_recorded, tracer_equation, tracer_trace, unwrap_tracer

Record = Callable[..., None]


@dataclass
class Seen:
    """What was seen of a circuit, for the choice of another method."""

    noise: bool = False
    prepares_mixtures: bool = False
    varies: bool = False
    """Whether parameters, or observables, are traced: it may be differentiated by them."""
    num_wires: int | None = None
    measures: bool = False
    postselects: bool = False
    returns_state: bool = False
    only_samples: bool = False
    """Whether results are samples, or how often each was found, which have no derivatives."""


class Attempt:
    """Records one circuit for stabilizers."""

    def __init__(
        self, seen: Seen, refusal: NotCliffordError | None, sees_all: bool, reads_gates: bool
    ) -> None:
        """`refusal`: what stabilizers have against the circuit, whatever it is.

        `sees_all`: of a circuit that is refused, the rest is seen.
        """
        self._seen = seen
        self._refusal: NotCliffordError | None = None
        self._sees_all = sees_all
        self._reads_gates = reads_gates
        if refusal is not None:
            self._refuse(refusal)

    def recording(self, record: Record) -> Record:
        """Record operators; noise as mixtures of Pauli words."""
        noise = Noise(record)

        def recorded(operator: Any, recorder: Recorder, controls: Controls = ()) -> None:
            self._see(operator)
            if self._refusal is not None:
                recorder.wires.take_note(operator.wires, operator.name)
                return
            before = recorder.register
            try:
                if isinstance(operator, qml.QubitDensityMatrix):
                    raise NotCliffordError(construct=describe(operator), reason="is a mixed state")
                noise.record(operator, recorder, controls)
                if self._reads_gates and recorder.is_outermost and recorder.unitary_in is None:
                    _read_gates(before, recorder.register)
            except NotCliffordError as error:
                self._refuse(error)

        return recorded

    def finish(self, leaves: Sequence[Any], scope: CircuitScope) -> None:
        """The circuit ends; refuse it if it is no Clifford circuit."""
        seen = self._seen
        processes = [leaf for leaf in leaves if isinstance(leaf, MeasurementProcess)]
        seen.num_wires = scope.wires.number if scope.wires.traced is None else None
        seen.measures, seen.postselects = scope.circuit.measures, scope.circuit.postselects
        seen.returns_state = any(isinstance(leaf, measurements.StateMP) for leaf in leaves)
        seen.only_samples = len(processes) == len(leaves) and all(
            isinstance(process, _SAMPLES) for process in processes
        )
        observables = [process.obs for process in processes if process.obs is not None]
        seen.varies |= any(map(_has_traced_data, observables))
        if self._refusal is not None:
            raise self._refusal

    def _see(self, operator: Any) -> None:
        seen = self._seen
        seen.noise |= isinstance(operator, qml.operation.Channel)
        seen.prepares_mixtures |= isinstance(operator, qml.QubitDensityMatrix)
        seen.varies |= _has_traced_data(operator)

    def _refuse(self, error: NotCliffordError) -> None:
        if not self._sees_all:
            raise error
        self._refusal = error


_SAMPLES = (measurements.SampleMP, measurements.CountsMP, measurements.ClassicalShadowMP)


def _has_traced_data(operator: Any) -> bool:
    return any(isinstance(value, Tracer) for value in getattr(operator, "data", ()))


def _read_gates(before: Any, after: Any) -> None:
    """Refuse gates between two registers that are surely no Clifford gates."""
    while after is not before:
        equation = tracer_equation(after)
        operands = [_operand(value, tracer_trace(after)) for value in equation.in_tracers[1:]]
        if not any(operand is None for operand in operands):
            refuse_gate(equation, operands)
        after = equation.in_tracers[0]


def _operand(value: Any, trace: Any) -> Any:
    """A value that is known, or a tracer that is not; None for what the reader may know."""
    found = unwrap_tracer(value)
    return found if not isinstance(found, Tracer) or _is_from_outside(found, trace) else None


def _is_from_outside(value: Any, trace: Any) -> bool:
    """Whether a tracer is computed of one that is not recorded in this trace."""
    todo, visited = [value], set[int]()
    while todo:
        tracer = unwrap_tracer(todo.pop())
        if id(tracer) in visited or not isinstance(tracer, Tracer):
            continue
        visited.add(id(tracer))
        if not is_recorded(tracer) or tracer_trace(tracer) is not trace:
            return True
        equation = tracer_equation(tracer)
        if equation is not None and not any(map(is_register, equation.in_tracers)):
            todo += equation.in_tracers
    return False
