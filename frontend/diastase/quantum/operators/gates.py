"""From a PennyLane operator to gate equations.

In this order: a gate of the gate table by its name (with any number of controls), a matrix gate,
the operator's decomposition (`decompositions`), recursively; its matrix. Anything else is refused,
with the operator's name. `controls` are pairs of a wire label and the value that activates it.

Of a state preparation PennyLane looks at the norm of known amplitudes when the operator is made, if
it was told to (`validate_norm`), and again, less strictly, when a preparation in the middle of a
circuit is decomposed. The norm of traced amplitudes is checked when the program runs, in the same
cases and as strictly.

The trap: a global phase under controls is a phase gate, so it can never be dropped.
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pennylane as qml
from jax.core import Tracer
from pennylane import ops
from pennylane.allocation import Allocate, Deallocate

from diastase.capture.noise_errors import NotUnitaryError
from diastase.capture.pennylane_compat import describe
from diastase.capture.pennylane_compat.operators import AppliedFunction
from diastase.capture.quantum_errors import ParameterTypeError
from diastase.primitives.checks import require
from diastase.primitives.quantum import (
    check_wires_p,
    diagonal_p,
    gate_p,
    global_phase_p,
    prepare_p,
    unitary_p,
)
from diastase.quantum.operators.broadcasting import element_of
from diastase.quantum.operators.channels import record_channel, record_density_matrix
from diastase.quantum.operators.decompositions import decomposition_of
from diastase.quantum.operators.gate_operands import (
    LOOKS_AT_TRACED_VALUES,
    Controls,
    Recorder,
    complex_array,
    real_scalar,
    silently,
    unsupported,
    wires_of,
)
from diastase_mlir import GATES, rotation_about

_OBSERVABLES = (qml.Hermitian, qml.Projector, qml.SparseHamiltonian, ops.Sum, ops.SProd)
"""Operators that PennyLane has a matrix for, but that are no gates."""


def is_no_gate(operator: Any) -> bool:
    """Whether an operator can be an observable only."""
    if isinstance(operator, ops.Prod):
        return any(is_no_gate(factor) for factor in operator.operands)
    return isinstance(operator, _OBSERVABLES)


def record(operator: Any, recorder: Recorder, controls: Controls = ()) -> None:
    """Record an operator, under these controls."""
    _refuse_other_than_gates(operator)
    operator = element_of(operator)
    if operator.has_matrix or isinstance(operator, qml.operation.StatePrepBase):
        recorder.wires.take_note(operator.wires, operator.name)
    if isinstance(operator, qml.Identity):
        _check_wires(operator, recorder, controls)
    elif _is_named(operator):
        _record_named(operator, recorder, controls)
    elif type(operator) is qml.PauliRot:
        _record_pauli_rotation(operator, recorder, controls)
    else:
        _rule(operator)(operator, recorder, controls)


def _rule(operator: Any) -> Callable[[Any, Recorder, Controls], None]:
    """How to record what the engine has not by name."""
    found = (rule for kinds, rule in _RULES if isinstance(operator, kinds))
    return next(found, _record_decomposition)


def _is_named(operator: Any) -> bool:
    """Whether the engine has the gate by name."""
    return operator.name in GATES and _is_pennylanes(operator)


def _is_pennylanes(operator: Any) -> bool:
    """Whether a name means PennyLane's gate; a class of the user's may have the same one."""
    base = operator.base if isinstance(operator, ops.Adjoint) else operator
    return type(base) is getattr(qml, base.name, None)


def _refuse_other_than_gates(operator: Any) -> None:
    if isinstance(operator, _OBSERVABLES):
        raise unsupported(operator, "is an observable, not a gate")
    if isinstance(operator, ops.MidMeasure):
        raise unsupported(operator, "of PennyLane: use diastase.measure in compiled programs")
    if isinstance(operator, ops.Conditional):
        raise unsupported(operator, "of PennyLane: use diastase.cond in compiled programs")


def _record_named(operator: Any, recorder: Recorder, controls: Controls) -> None:
    """A row of the gate table."""
    parameters = [real_scalar(parameter, operator) for parameter in operator.data]
    wires, control_values = wires_of(operator, recorder, controls)
    recorder.advance_on(
        wires, gate_p, *parameters, name=operator.name, num_parameters=len(parameters),
        control_values=control_values,
    )  # fmt: skip


def _record_pauli_rotation(operator: Any, recorder: Recorder, controls: Controls) -> None:
    """A gate named for its word, without identities; of these alone it is a global phase."""
    letters = operator.hyperparameters["pauli_word"]
    kept = {w: letter for w, letter in zip(operator.wires, letters, strict=True) if letter != "I"}
    angle = real_scalar(operator.data[0], operator)
    if len(kept) < len(letters):
        _check_wires(operator, recorder, controls)
    if not kept:
        phase = silently(operator, lambda: qml.GlobalPhase(angle / 2))
        return _record_global_phase(phase, recorder, controls)
    labels, values = [*kept, *(wire for wire, _ in controls)], tuple(value for _, value in controls)
    wires = recorder.wires.positions(labels, operator.name)
    name = rotation_about("".join(kept.values()))
    return recorder.advance_on(
        wires, gate_p, angle, name=name, num_parameters=1, control_values=values
    )


def _record_controlled(operator: Any, recorder: Recorder, controls: Controls) -> None:
    """Its controls come first; `CNOT`, `CRX`, … have rows of their own and never come here."""
    own = zip(operator.control_wires, map(bool, operator.control_values), strict=True)
    record(operator.base, recorder, (*controls, *own))


def _record_adjoint(operator: Any, recorder: Recorder, controls: Controls) -> None:
    """The adjoint of the base: known to PennyLane, or of its decomposition in reverse order."""
    base = operator.base
    if isinstance(base, qml.operation.Channel | qml.QubitDensityMatrix):
        raise NotUnitaryError(operation=describe(base), construct="adjoint")
    if isinstance(base, ops.Adjoint):
        return record(base.base, recorder, controls)
    if isinstance(base, Deallocate):  # of wires that are restored: they are in |0> before, too
        return recorder.wires.pool.allocate(base.wires, "zero", True, not recorder.is_outermost)
    if isinstance(base, Allocate):
        return recorder.wires.pool.deallocate(base.wires)
    if isinstance(base, ops.Controlled):
        own = zip(base.control_wires, map(bool, base.control_values), strict=True)
        inner = silently(operator, lambda: ops.Adjoint(base.base))
        return record(inner, recorder, (*controls, *own))
    if base.has_adjoint:
        return record(silently(operator, base.adjoint), recorder, controls)
    decomposition = decomposition_of(base)
    if decomposition.factors is None:
        return _record_matrix(operator, recorder, controls, decomposition.failure)
    for factor in reversed(decomposition.factors):
        record(silently(operator, lambda factor=factor: ops.Adjoint(factor)), recorder, controls)
    return None


def _record_allocation(operator: Any, recorder: Recorder, controls: Controls) -> None:
    """Choose wires; nothing happens to them, under controls or not."""
    in_region = not recorder.is_outermost
    recorder.wires.pool.allocate(operator.wires, operator.state, operator.restored, in_region)


def _record_deallocation(operator: Any, recorder: Recorder, controls: Controls) -> None:
    recorder.wires.pool.deallocate(operator.wires)


def _record_applied(operator: Any, recorder: Recorder, controls: Controls) -> None:
    """What a tape has put off, done now."""

    def run() -> None:
        operator.run()

    recorder.run_decomposition(run, controls)


def _record_snapshot(operator: Any, recorder: Recorder, controls: Controls) -> None:
    recorder.take_snapshot(operator)


def _record_global_phase(operator: Any, recorder: Recorder, controls: Controls) -> None:
    """exp(-i phi); under controls, a phase gate on the last one of them."""
    _check_wires(operator, recorder, controls)
    phi = real_scalar(operator.data[0], operator)
    if not controls:
        return recorder.advance(global_phase_p, phi)
    *others, (wire, value) = controls
    flip = () if value else (silently(operator, lambda: qml.PauliX(wire)),)
    for gate in flip:
        record(gate, recorder)
    phase = silently(operator, lambda: qml.PhaseShift(-phi, wire))
    record(phase, recorder, tuple(others))
    for gate in flip:
        record(gate, recorder)
    return None


def _check_wires(operator: Any, recorder: Recorder, controls: Controls) -> None:
    """Check the wires; traced ones when the program runs."""
    wires, _ = wires_of(operator, recorder, controls)
    if not all(isinstance(wire, int) for wire in wires):
        recorder.advance_on(wires, check_wires_p, construct=operator.name)


def _is_made_of_operators(operator: Any) -> bool:
    """Whether its wires are those of other operators, of which two may be one wire."""
    parts = [
        part
        for value in operator.hyperparameters.values()
        for part in (value if isinstance(value, list | tuple) else [value])
    ]
    symbolic = isinstance(operator, ops.CompositeOp | ops.SymbolicOp)
    return symbolic or any(isinstance(part, qml.operation.Operator) for part in parts)


def _record_decomposition(operator: Any, recorder: Recorder, controls: Controls) -> None:
    """The factors of an operator; its matrix, where it has none."""
    if recorder.wires.are_the_devices and not _is_made_of_operators(operator):
        _check_wires(operator, recorder, controls)
    decomposition = decomposition_of(
        operator, lambda function: recorder.run_decomposition(function, controls) or ()
    )
    if decomposition.factors is None:
        return _record_matrix(operator, recorder, controls, decomposition.failure)
    for factor in decomposition.factors:
        record(factor, recorder, controls)
    return None


# --- gates given by arrays ------------------------------------------------------------------------


LARGEST_MATRIX = 8
"""Wires up to which an operator with neither name nor decomposition is applied as a matrix."""


def _record_diagonal(operator: Any, recorder: Recorder, controls: Controls) -> None:
    """A gate given by its diagonal, which may be traced."""
    _record_array(operator, operator.data[0], 1, recorder, controls)


def _record_unitary(operator: Any, recorder: Recorder, controls: Controls) -> None:
    """A gate given by its matrix, which may be traced."""
    _record_array(operator, operator.data[0], 2, recorder, controls)


def _record_matrix(
    operator: Any, recorder: Recorder, controls: Controls, failure: Exception | None = None
) -> None:
    """The matrix of a small operator; `failure` is why it has no decomposition."""
    if not operator.has_matrix and failure is not None:
        raise unsupported(operator, LOOKS_AT_TRACED_VALUES) from failure
    if not operator.has_matrix:
        raise unsupported(operator, "has neither a decomposition nor a matrix")
    if len(operator.wires) > LARGEST_MATRIX:
        raise unsupported(operator, f"has no decomposition, and {len(operator.wires)} wires")
    matrix = silently(operator, lambda: operator.matrix(wire_order=operator.wires))
    _record_array(operator, matrix, 2, recorder, controls)


def _record_array(
    operator: Any, array: Any, rank: int, recorder: Recorder, controls: Controls
) -> None:
    """A diagonal (rank 1) or a matrix (rank 2), which must fit the operator's wires."""
    what, primitive = ("diagonal", diagonal_p) if rank == 1 else ("matrix", unitary_p)
    shape, size = tuple(np.shape(array)), 2 ** len(operator.wires)
    if shape != (size,) * rank:
        reason = f"a {what} of shape {shape} on {len(operator.wires)} wires"
        raise ParameterTypeError(operation=describe(operator), reason=reason)
    wires, control_values = wires_of(operator, recorder, controls)
    recorder.advance_on(wires, primitive, complex_array(array), control_values=control_values)


# --- state preparations ---------------------------------------------------------------------------


TOLERANCE = 1e-10
"""PennyLane's for the norm of a state that is asked to be validated; relative: 1e-5."""
TOLERANCE_OF_CIRCUITS = 1e-3
"""PennyLane's for the norm of a state that gates prepare."""


def _amplitudes(operator: Any) -> Any:
    """The state that a preparation makes of |0...0>, in the order of its wires."""
    vector = operator.state_vector(wire_order=operator.wires)
    if hasattr(vector, "toarray"):  # given as a sparse matrix
        vector = vector.toarray()
    if isinstance(vector, Tracer):
        return vector.reshape(2 ** len(operator.wires))
    return np.asarray(vector).reshape(2 ** len(operator.wires))


def _check_state(operator: Any, first: bool) -> None:
    """Check a state that is traced; `first`: it is not prepared by gates."""
    if isinstance(operator, qml.BasisState) and isinstance(operator.data[0], Tracer):
        bits = operator.data[0]
        what = f"{describe(operator)}: a basis state consists of zeros and ones"
        return require(jnp.all((bits == 0) | (bits == 1)), what)
    return _check_norm(operator, first)


def _check_norm(operator: Any, first: bool) -> None:
    if not isinstance(operator, qml.StatePrep) or not isinstance(operator.data[0], Tracer):
        return
    settings = operator.hyperparameters
    validated = settings["validate_norm"] and not settings["normalize"]
    if (not validated and first) or settings["pad_with"] is not None:
        return
    tolerance = TOLERANCE if validated else TOLERANCE_OF_CIRCUITS
    norm = jnp.linalg.norm(operator.data[0].astype(jnp.complex128))
    what = f"{describe(operator)}: the state does not have norm 1; see normalize=True"
    require(jnp.isclose(norm, 1.0, atol=tolerance), what)


def _record_preparation(operator: Any, recorder: Recorder, controls: Controls) -> None:
    """A state prepared first is written into the register; later, PennyLane's circuit makes it."""
    first = recorder.is_untouched and not controls
    _check_state(operator, first)
    if not first or isinstance(operator, qml.BasisState):
        return _record_decomposition(operator, recorder, controls)
    wires, _ = wires_of(operator, recorder, ())
    return recorder.advance_on(wires, prepare_p, complex_array(_amplitudes(operator)))


_RULES: tuple[tuple[Any, Callable[[Any, Recorder, Controls], None]], ...] = (
    (qml.operation.Channel, record_channel),
    (qml.QubitDensityMatrix, record_density_matrix),
    (Allocate, _record_allocation),
    (Deallocate, _record_deallocation),
    (qml.GlobalPhase, _record_global_phase),
    (qml.Snapshot, _record_snapshot),
    (AppliedFunction, _record_applied),
    (qml.operation.StatePrepBase, _record_preparation),
    (ops.Adjoint, _record_adjoint),
    (ops.ControlledQubitUnitary, _record_controlled),
    (ops.Controlled, _record_controlled),
    (qml.QubitUnitary, _record_unitary),
    (qml.DiagonalQubitUnitary, _record_diagonal),
    (qml.SpecialUnitary, _record_matrix),  # its decomposition looks at the values of its angles
)
"""By class, for what is not in the gate table under its own name; the first that fits."""
