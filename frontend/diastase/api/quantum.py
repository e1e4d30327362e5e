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
    """Measure one wire in the middle of a circuit, in the computational basis; the state collapses.

    What a QNode without shots then returns is what it is *for the outcome found in this run*; with
    `mcm_method="deferred"` or `"tree-traversal"` it is the average over all outcomes, and with
    shots each shot has outcomes of its own. In circuits that PennyLane runs (uncompiled, or on
    other devices) it is `qml.measure` itself.

    Args:
        wires: one wire; an integer of shape `()` if it is traced.
        reset: puts the qubit back to |0> afterwards.
        postselect: 0 or 1 keeps only runs with that outcome; in a single run, it is forced.

    Returns:
        The outcome, a traced boolean of shape `()`.

    Raises:
        ParameterTypeError: a `TypeError`, for several wires, or another `postselect`.
        OutsideQNodeError: a `RuntimeError`, in a program and outside of any QNode.
        OutsideProgramError: a `RuntimeError`, called by plain Python.
        ImpossiblePostselectionError: a `ValueError`, for an outcome of probability zero.

    Example:
        >>> import pennylane as qml
        >>> from diastase import cond, measure, qjit
        >>> @qjit
        ... @qml.qnode(qml.device("lightning.qubit", wires=1))
        ... def circuit():
        ...     qml.Hadamard(0)
        ...     outcome = measure(0)
        ...     cond(outcome)(lambda: qml.X(0))()
        ...     return qml.probs(wires=0)
        >>> circuit().round(6)
        Array([1., 0.], dtype=float64)

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
    """Measure a product of Pauli matrices in the middle of a circuit, as `qml.pauli_measure`.

    The state collapses onto an eigenspace of the product; nothing more is learnt of the wires.

    Args:
        pauli_word: a string of `X`, `Y` and `Z`, a letter for each wire.
        wires: one or several, traced or not.
        postselect: 0 or 1 keeps only runs with that outcome.

    Returns:
        The outcome, a traced boolean of shape `()`: False where the product has the eigenvalue 1,
        True where it has -1.

    Raises:
        ParameterTypeError: a `TypeError`, for a word that does not fit the wires, or another
            `postselect`.
        OutsideQNodeError: a `RuntimeError`, in a program and outside of any QNode.
        OutsideProgramError: a `RuntimeError`, called by plain Python.
        ImpossiblePostselectionError: a `ValueError`, for an outcome of probability zero.

    Example:
        >>> import pennylane as qml
        >>> from diastase import pauli_measure, qjit
        >>> @qjit
        ... @qml.qnode(qml.device("lightning.qubit", wires=2))
        ... def bell():
        ...     qml.Hadamard(0)
        ...     qml.CNOT([0, 1])
        ...     return pauli_measure("ZZ", [0, 1]), pauli_measure("YY", [0, 1])
        >>> [int(outcome) for outcome in bell()]
        [0, 1]

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
