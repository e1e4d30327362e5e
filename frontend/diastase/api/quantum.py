"""Quantum operations that PennyLane does not have, or not for compiled programs."""

from functools import partial
from typing import TYPE_CHECKING, Any

from diastase.capture.context import is_tracing
from diastase.capture.device_errors import UnknownOutcomeError
from diastase.capture.pennylane_compat import (
    is_recording,
    is_traced_wire,
    native_measure,
    native_pauli_measure,
    patch_pauli_measure,
    register_compiler,
)
from diastase.capture.quantum_errors import (
    OutsideProgramError,
    OutsideQNodeError,
    ParameterTypeError,
)
from diastase.capture.regions import current_scope
from diastase.quantum.operators.circuit_scope import CircuitScope
from diastase.quantum.qnode.qnode import patch_qnodes
from diastase.quantum.wires import as_list
from diastase_mlir import at, user_span
from diastase_mlir.jax_compat.x64 import runs_in_64_bits
from diastase_runtime.errors import Span
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    from diastase.quantum.host_devices import capture
    from diastase.quantum.measurements import pauli_basis
else:
    capture = LazyModule("diastase.quantum.host_devices.capture")
    pauli_basis = LazyModule("diastase.quantum.measurements.pauli_basis")

patch_qnodes()
register_compiler()


@runs_in_64_bits
def measure(wires: Any, reset: bool = False, postselect: int | None = None) -> Any:
    """Measure one wire in the middle of a circuit; the outcome is a traced boolean.

    The state collapses. What a QNode without shots then returns is what it is *for the outcome
    found in this run*; with `mcm_method="deferred"` or `"tree-traversal"` it is the average over
    all outcomes, and with shots each shot has outcomes of its own. `reset=True` puts the qubit back
    to |0> afterwards; `postselect=0` or `1` keeps only runs with that outcome (in a single run, it
    is forced).
    In circuits that PennyLane runs (uncompiled, or on other devices) it is `qml.measure` itself.

        >>> @qjit
        ... @qml.qnode(device)
        ... def circuit():
        ...     qml.Hadamard(0)
        ...     outcome = measure(0)
        ...     cond(outcome, lambda: qml.X(1))()
        ...     return outcome, qml.expval(qml.Z(1))

    `wires` is one wire, which may be traced; the outcome has the shape `()`. `TypeError`
    (`ParameterTypeError`) for several wires or another `postselect`; `OutsideQNodeError` outside of
    a QNode, `ImpossiblePostselectionError` when an outcome of probability zero is asked for.
    """
    span = user_span()
    scope = current_scope()
    if not isinstance(scope, CircuitScope) and not is_recording():
        raise _outside("measure", span)
    labels, invalid = as_list(wires), partial(ParameterTypeError, operation="measure", span=span)
    if postselect not in (None, 0, 1):
        raise invalid(reason=f"postselect is 0, 1 or None, not {postselect!r}")
    if len(labels) != 1:
        raise invalid(reason=f"one wire at a time, not {len(labels)}")
    if not isinstance(scope, CircuitScope):
        return native_measure(labels[0], bool(reset), postselect)
    scope.require_measurable("measure")
    scope.require_own_region("measure")
    if isinstance(scope.circuit, capture.DeviceCircuit):
        with at(span):
            return _measure_on_device(scope, labels[0], bool(reset), postselect)
    scope.flush()
    with at(span):
        positions = scope.wires.positions(labels, "measure")
    return pauli_basis.measure_word(scope, "Z", positions, reset=bool(reset), postselect=postselect)


@runs_in_64_bits
def pauli_measure(pauli_word: str, wires: Any, postselect: int | None = None) -> Any:
    """Measure a product of Pauli matrices, as `qml.pauli_measure`; the outcome is a traced boolean.

    `pauli_word` is a string of `X`, `Y` and `Z`, a letter for each of `wires`, which may be traced.
    The outcome, of shape `()`, is False where the product has the eigenvalue 1, and True where it
    has -1. The state collapses onto that eigenspace; nothing more is learnt of the wires.
    `postselect=0` or `1` keeps only runs with that outcome.

    `TypeError` (`ParameterTypeError`) for a word that does not fit the wires, or another
    `postselect`; `OutsideQNodeError` outside of a QNode.
    """
    span = user_span()
    scope = current_scope()
    if not isinstance(scope, CircuitScope):
        if is_recording():
            return native_pauli_measure(wires, pauli_word, postselect)
        raise _outside("pauli_measure", span)
    scope.require_measurable("pauli_measure")
    if isinstance(scope.circuit, capture.DeviceCircuit):
        return native_pauli_measure(wires, pauli_word, postselect)
    labels = as_list(wires)
    invalid = partial(ParameterTypeError, operation="pauli_measure", span=span)
    if not pauli_word or set(pauli_word) - set("XYZ"):
        reason = f"the Pauli word {pauli_word!r} is not made of the letters X, Y and Z"
        raise invalid(reason=reason)
    if len(pauli_word) != len(labels):
        raise invalid(reason=f"the Pauli word {pauli_word!r} is measured on {len(labels)} wires")
    if postselect not in (None, 0, 1):
        raise invalid(reason=f"postselect is 0, 1 or None, not {postselect!r}")
    scope.require_own_region("pauli_measure")
    scope.flush()
    with at(span):
        positions = scope.wires.positions(labels, "pauli_measure")
        return pauli_basis.measure_word(scope, pauli_word, positions, postselect=postselect)


def _measure_on_device(scope: CircuitScope, wire: Any, reset: bool, postselect: int | None) -> Any:
    """PennyLane's outcome, which stands for a number that only the device will know."""
    if not scope.is_outermost:
        raise UnknownOutcomeError(what="measure inside a loop or branch")
    if is_traced_wire(wire):
        raise UnknownOutcomeError(what="measure of a traced wire")
    return native_measure(wire, reset, postselect)


def _outside(construct: str, span: Span | None) -> OutsideQNodeError | OutsideProgramError:
    """What is wrong with a measurement on no device: a QNode is missing, or `qjit` is."""
    if is_tracing():
        return OutsideQNodeError(operation=construct, span=span)
    return OutsideProgramError(construct=construct, span=span)


patch_pauli_measure(pauli_measure)
