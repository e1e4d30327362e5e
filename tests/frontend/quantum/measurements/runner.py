"""Many measurements in one compiled program, each compared with the same one by PennyLane.

A `Case` is a measurement with its coefficients and wires static or traced. `outcomes` compiles the
cases of a chunk together; where that fails, one by one, so that each has its value or its error.
The reference is `default.qubit`; where PennyLane measures an observable there only with a matrix
(or not at all), it is linear algebra with the dense matrix.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pennylane as qml

from diastase import qjit
from diastase_runtime.errors import DiastaseError
from frontend.quantum.measurements.tables import (
    NO_EIGENBASIS,
    NUMBERS,
    OBSERVABLES,
    OF_OBSERVABLES,
    ON_WIRES,
    PLACES,
    WIRES,
    prepare,
)

ANGLES = np.random.default_rng(5).uniform(-3, 3, 2 * WIRES)
DEVICE = qml.device("default.qubit", wires=WIRES)
CHUNK = 24
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Case:
    """One measurement in one form."""

    measurement: str
    observable: str | None
    traced_numbers: bool
    traced_wires: bool

    @property
    def name(self) -> str:
        """For reports: `var(Sum)`."""
        if self.observable is None:
            return self.measurement
        return f"{self.measurement}({self.observable})"

    def process(self, numbers: Any, places: Any) -> Any:
        """The measurement process, on traced values where the case says so."""
        if self.observable is None:
            return ON_WIRES[self.measurement](*self._given(numbers, places))
        return OF_OBSERVABLES[self.measurement](self.observable_on(numbers, places))

    def observable_on(self, numbers: Any, places: Any) -> Any:
        """Its observable, likewise."""
        assert self.observable is not None
        return OBSERVABLES[self.observable](*self._given(numbers, places))

    def _given(self, numbers: Any, places: Any) -> tuple[Any, Any]:
        values = numbers if self.traced_numbers else NUMBERS
        return values, places if self.traced_wires else [int(wire) for wire in PLACES]

    def known(self) -> Any:
        """The measurement process on values that are known."""
        return self.process(NUMBERS, [int(wire) for wire in PLACES])


def cases() -> list[Case]:
    """Every measurement in four forms."""
    of_observables = [
        (kind, name)
        for kind in OF_OBSERVABLES
        for name in OBSERVABLES
        if kind != "probs" or name not in NO_EIGENBASIS
    ]
    on_wires: list[tuple[str, str | None]] = [(kind, None) for kind in ON_WIRES]
    return [
        Case(kind, name, numbers, wires)
        for numbers in (False, True)
        for wires in (False, True)
        for kind, name in [*of_observables, *on_wires]
    ]


def outcomes(chunk: Sequence[Case]) -> list[Any]:
    """The value of each case, or the error that compiling it raises."""
    try:
        return list(compiled(chunk))
    except DiastaseError as error:
        if len(chunk) == 1:
            return [error]
    middle = len(chunk) // 2
    return [*outcomes(chunk[:middle]), *outcomes(chunk[middle:])]


def compiled(chunk: Sequence[Case]) -> Sequence[Any]:
    """The values of the cases, from one program."""

    @qjit
    @qml.qnode(DEVICE)
    def circuit(angles: Any, numbers: Any, places: Any) -> Any:
        prepare(angles)
        return tuple(case.process(numbers, places) for case in chunk)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PennyLane on what it thinks is not Hermitian
        return circuit(ANGLES, NUMBERS, PLACES)


@cache
def references(measurement: str, observable: str | None) -> tuple[np.ndarray, ...]:
    """What a measurement is: by PennyLane where it can, and by its matrix.

    Of products on overlapping wires, which PennyLane does not know to be Hermitian, it takes
    eigenvectors that are not orthogonal, and gives something else: only their matrix counts.
    """
    case = Case(measurement, observable, False, False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [_by_its_matrix(case), _by_pennylane(case)]
        if found[0] is not None and not case.known().obs.is_verified_hermitian:
            del found[1]
    return tuple(value for value in found if value is not None)


def _by_pennylane(case: Case) -> np.ndarray | None:
    try:
        process = case.known()  # not inside: PennyLane would apply a Hamiltonian that is scaled
        return np.asarray(run_eagerly(lambda: qml.apply(process)))
    except Exception:  # whatever: PennyLane refuses in many words
        return None


def run_eagerly(process: Callable[[], Any]) -> Any:
    """A measurement of the prepared state, by PennyLane."""

    @qml.qnode(DEVICE)
    def circuit() -> Any:
        prepare(ANGLES)
        return process()

    return circuit()


def _by_its_matrix(case: Case) -> np.ndarray | None:
    if case.measurement not in ("expval", "var"):
        return None
    try:
        matrix = dense_matrix(case.known().obs)
    except Exception:  # as above
        return None
    state = run_eagerly(qml.state)
    product = matrix @ state
    mean = np.vdot(state, product).real
    return np.asarray(mean if case.measurement == "expval" else np.vdot(product, product) - mean**2)


def dense_matrix(observable: Any) -> Any:
    """The dense matrix of an observable on all wires."""
    if isinstance(observable, qml.ops.Sum):
        return sum(dense_matrix(inner) for inner in observable.operands)
    if isinstance(observable, qml.ops.SProd):
        return observable.scalar * dense_matrix(observable.base)
    if isinstance(observable, qml.SparseHamiltonian):
        return observable.sparse_matrix(wire_order=range(WIRES)).toarray()
    if observable.has_matrix:
        return qml.matrix(observable, wire_order=range(WIRES))
    gates = qml.tape.QuantumScript(observable.diagonalizing_gates())
    there = qml.matrix(gates, wire_order=range(WIRES))
    values = qml.matrix(
        qml.Hermitian(np.diag(observable.eigvals()), observable.wires), wire_order=range(WIRES)
    )
    return there.conj().T @ values @ there


def difference(case: Case, value: Any) -> str | None:
    """What is wrong with a value, if anything."""
    expected = references(case.measurement, case.observable)
    if not expected:
        return "there is no reference"
    for reference in expected:
        if value.shape != reference.shape:
            return f"shape {value.shape}, not {reference.shape}"
        real = np.isrealobj(value)
        if real and np.max(np.abs(np.imag(reference))) > TOLERANCE:
            return f"{value} is real, {reference} is not"
        if not real and np.isrealobj(reference):
            return f"dtype {value.dtype}, not {reference.dtype}"
        if not _is_close(value, reference) and not _is_same_in_eigenspaces(case, value, reference):
            return f"{value}, not {reference}"
    return None


def _is_close(value: Any, reference: Any) -> bool:
    return np.allclose(value, reference, atol=TOLERANCE, rtol=TOLERANCE)


def _is_same_in_eigenspaces(case: Case, value: Any, reference: Any) -> bool:
    """Whether probabilities of eigenvalues agree, where the eigenvectors are computed.

    Those of one eigenvalue may be any basis of its space.
    """
    if case.measurement != "probs" or not (case.traced_numbers or case.traced_wires):
        return False
    eigenvalues = np.real(case.known().obs.eigvals())
    _, space = np.unique(np.round(eigenvalues, 9), return_inverse=True)
    return _is_close(np.bincount(space, value), np.bincount(space, reference))
