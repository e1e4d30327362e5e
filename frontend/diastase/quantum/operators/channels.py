"""From a channel, or a density matrix that is put somewhere, to equations on a density matrix.

A channel becomes its transfer matrix (`quantum.noise`). A Pauli word on many wires, whose matrix
would be large, is turned into Z on one of them, and back. The trap: nothing here is unitary, so
inside of `adjoint` or `ctrl`, which undo or control what was recorded, it is refused now.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pennylane as qml
from jax.core import Tracer

from diastase.capture.control_flow.loops import trace_for_loop
from diastase.capture.noise_errors import ChannelError, NoiseOnPureStateError, NotUnitaryError
from diastase.capture.pennylane_compat import describe
from diastase.capture.regions import current_scope
from diastase.primitives.mixed import replace_p, superoperator_p
from diastase.primitives.quantum import gate_p
from diastase.quantum.noise.strengths import check
from diastase.quantum.noise.transfer import LARGEST_CHANNEL, Transfer, as_operand, transfer_of
from diastase.quantum.operators.gate_operands import (
    Controls,
    Recorder,
    complex_array,
    is_density_matrix,
    shared,
    silently,
    unsupported,
    wires_of,
)
from diastase_mlir import into_z

_LARGEST_WORD = 2
"""Letters up to which a Pauli word is applied by its transfer matrix."""


def record_channel(operator: Any, recorder: Recorder, controls: Controls) -> None:
    """Record a channel."""
    refuse_noise(operator, recorder, controls, "is noise")
    if type(operator) is qml.PauliError:
        return _record_pauli_error(operator, recorder)
    if len(operator.wires) > LARGEST_CHANNEL:
        raise unsupported(
            operator, f"is a channel on more than {LARGEST_CHANNEL} wires: its matrix is too large"
        )
    wires, _ = wires_of(operator, recorder, ())
    return apply_transfer(_transfer_in(recorder, operator), wires, operator.name, recorder)


def _transfer_in(recorder: Recorder, operator: Any) -> Transfer:
    """The transfer matrix of a channel."""
    return shared(transfer_of, operator, recorder)


def record_density_matrix(operator: Any, recorder: Recorder, controls: Controls) -> None:
    """Record a density matrix in the place of what some wires were."""
    refuse_noise(operator, recorder, controls, "is a density matrix")
    matrix, size = complex_array(operator.data[0]), 2 ** len(operator.wires)
    if tuple(np.shape(matrix)) != (size, size):
        reason = f"a matrix of shape {tuple(np.shape(matrix))} on {len(operator.wires)} wires"
        raise ChannelError(operation=describe(operator), reason=reason)
    library: Any = jnp if isinstance(matrix, Tracer) else np
    is_hermitian = library.allclose(matrix, library.conj(matrix).T, atol=_TOLERANCE)
    check(operator, is_hermitian, "the matrix is not Hermitian")
    has_trace = library.isclose(library.trace(matrix).real, 1.0, atol=_TOLERANCE)
    check(operator, has_trace, "the trace of the matrix is not 1")
    wires, _ = wires_of(operator, recorder, ())
    return recorder.advance_on(wires, replace_p, matrix)


_TOLERANCE = 1e-3
"""As PennyLane's for states that circuits prepare."""


def refuse_noise(operator: Any, recorder: Recorder, controls: Controls, what: str) -> None:
    """Refuse what is not unitary where it would be undone or controlled, or cannot be held."""
    construct = recorder.unitary_in or ("ctrl" if controls else None)
    if construct is not None:
        raise NotUnitaryError(operation=describe(operator), construct=construct)
    if not is_density_matrix(recorder.register):
        raise NoiseOnPureStateError(operation=describe(operator), what=what)


def apply_transfer(transfer: Transfer, wires: Any, construct: str, recorder: Recorder) -> None:
    """Record a transfer matrix."""
    matrix = as_operand(transfer.matrix)
    recorder.advance_on(
        wires, superoperator_p, matrix, construct=construct, checked=transfer.checked
    )


def read_wrongly(flip: Any, scope: Any) -> None:
    """Flip every wire of a circuit with this probability."""
    with qml.QueuingManager.stop_recording():
        transfer = transfer_of(qml.BitFlip(flip, wires=0))
    traced = scope.wires.traced
    if traced is None:
        for wire in range(scope.wires.number):
            apply_transfer(transfer, [wire], "a readout error", scope)
        return

    def turn(wire: Any) -> tuple[()]:
        inner: Any = current_scope()
        apply_transfer(transfer, [wire], "a readout error", inner)
        return ()

    with scope.recording():
        trace_for_loop((0, traced.number, 1), turn, ())


def _record_pauli_error(operator: Any, recorder: Recorder) -> None:
    letters = operator.hyperparameters["operators"]
    kept = {w: letter for w, letter in zip(operator.wires, letters, strict=True) if letter != "I"}
    recorder.wires.positions(operator.wires, operator.name)
    probability = operator.data[0]

    def on(word: str, labels: Any) -> Transfer:
        made = silently(operator, lambda: qml.PauliError(word, probability, wires=labels))
        return _transfer_in(recorder, made)

    word, labels = "".join(kept.values()), list(kept)
    if not kept:
        on("I", operator.wires[:1])  # to check the probability
        return
    wires = recorder.wires.positions(labels, operator.name)
    if len(word) <= _LARGEST_WORD:
        return apply_transfer(on(word, labels), wires, operator.name, recorder)
    forth, back = into_z(word, wires)
    _apply_gates(forth, recorder)
    apply_transfer(on("Z", labels[-1:]), wires[-1:], operator.name, recorder)
    _apply_gates(back, recorder)


def _apply_gates(gates: Any, recorder: Recorder) -> None:
    for name, wires in gates:
        recorder.advance_on(wires, gate_p, name=name, num_parameters=0, control_values=())
