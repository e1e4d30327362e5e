"""From an observable to its value in each shot.

Two forms. A sum of Pauli words (`Factors`): the value of a word is the parity of its wires'
outcomes. An eigenbasis (`Eigenbasis`): the outcomes on all wires, after a rotation, number an
eigenvalue. The rotation and the eigenvalues are PennyLane's where it knows them now, else those of
the matrix, which is then diagonalised by the compiled program.

An expectation value is a sum of those of the words, each from the shots of its own group; the
value of a single shot (`sample`, `var`, `counts`) is one only where all words share their shots.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from pennylane import ops

from diastase.capture.pennylane_compat import describe, is_traced_wire
from diastase.capture.quantum_errors import UnsupportedObservableError
from diastase.primitives.matrix_functions import eigenvectors
from diastase.primitives.quantum import unitary_p
from diastase.quantum.measurements.pauli_basis import Rotation
from diastase.quantum.observables.factors import distinct
from diastase.quantum.observables.measured_forms import is_unitary, measured_form, measured_wires
from diastase.quantum.observables.observables import terms_of
from diastase.quantum.observables.terms import PauliSum, dense
from diastase.quantum.operators.circuit_scope import CircuitScope
from diastase.quantum.operators.gate_operands import complex_array
from diastase.quantum.operators.gates import record
from diastase.quantum.qnode.samples import Constant, Outcomes, Shots
from diastase.quantum.qnode.sampling_plan import Group, Requests

_ROUNDING = 1e-9
LARGEST_EIGENBASIS = 12
"""Wires up to which an observable that is no sum of words is diagonalised."""


# --- sums of Pauli words -------------------------------------------------------------------------


@dataclass(frozen=True)
class Factors:
    """A sum of Pauli words: where the outcomes of each are, and its coefficient."""

    coefficients: Constant
    words: tuple[Outcomes, ...]

    def mean(self, shots: Shots) -> Any:
        """The sum of the words' means, each over the shots of its group."""
        total: Any = jnp.zeros(())
        coefficients = shots.constant(self.coefficients)
        for group in dict.fromkeys(word.group for word in self.words):
            numbers = [number for number, word in enumerate(self.words) if word.group == group]
            places = [self.words[number].places for number in numbers]
            means = shots.packed[group].mean_signs(places)
            total = total + jnp.dot(coefficients[np.array(numbers)], means)
        return total

    def is_odd(self, shots: Shots) -> Any:
        """For each shot, of a single word: 1 where its eigenvalue is -1, else 0."""
        (word,) = self.words
        return shots.packed[word.group].parity(word.places)

    def values(self, shots: Shots) -> Any:
        """The value of the sum in each shot; the words share a group."""
        group, coefficients = shots.packed[self.words[0].group], shots.constant(self.coefficients)
        return group.sum_of_signs(coefficients, [word.places for word in self.words])


def as_factors(observable: Any, requests: Requests, joint: bool = False) -> Factors | None:
    """An observable as a sum of words; None if it is none, or not one in shared shots."""
    try:
        form = measured_form(observable, requests.scope.wires)
    except UnsupportedObservableError:
        return None
    if not isinstance(form, PauliSum) or form.number_turned:
        return None
    if any(len(distinct([wire for _, wire in word])) < len(word) for word in form.words):
        return None  # two letters on a traced wire: a product of matrices, no word
    words = [([letter for letter, _ in word], [wire for _, wire in word]) for word in form.words]
    if not joint:
        coefficients = requests.constant(form.coefficients, observable)
        return Factors(coefficients, tuple(requests.word(*word) for word in words))
    group, found = Group(), list[tuple[int, ...]]()
    for letters, wires in words:
        if not group.takes(letters, wires):
            return None  # they do not commute on every wire
        found.append(group.add(letters, wires))
    coefficients = requests.constant(form.coefficients, observable)
    all_letters = [group.letters[place] for place in range(len(group.wires))]
    outcomes = requests.word(all_letters, group.wires)
    places = [tuple(outcomes.places[place] for place in word) for word in found]
    return Factors(coefficients, tuple(Outcomes(outcomes.group, word) for word in places))


# --- eigenbases ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Eigenbasis:
    """Outcomes that number the eigenvalues."""

    outcomes: Outcomes
    eigenvalues: Constant

    def values(self, shots: Shots) -> Any:
        """The eigenvalue found in each shot."""
        return jnp.asarray(shots.constant(self.eigenvalues))[shots.index(self.outcomes)]

    def mean(self, shots: Shots) -> Any:
        """Their average."""
        return shots.packed[self.outcomes.group].mean(self.values(shots))


def eigenbasis(observable: Any, requests: Requests) -> Eigenbasis:
    """Ask for the outcomes of an observable in its eigenbasis."""
    if len(observable.wires) > LARGEST_EIGENBASIS:
        reason = f"on {len(observable.wires)} wires is too large to be diagonalised"
        raise UnsupportedObservableError(observable=describe(observable), reason=reason)
    known = _known_eigenbasis(observable)
    if known is None:
        return _eigenbasis_of_matrix(observable, requests)
    wires = requests.scope.wires.positions(observable.wires, observable.name)
    gates, eigenvalues = known
    letters, constant = _pauli_letters(observable), Constant(eigenvalues)
    if letters is not None:
        return Eigenbasis(requests.word(letters, wires), constant)
    return Eigenbasis(requests.rotated(_by_gates(gates), wires), constant)


def real_vector(eigenvalues: Any) -> Any:
    """Eigenvalues as real numbers: an array known now, or a traced one."""
    if isinstance(eigenvalues, Tracer):
        return jnp.real(eigenvalues).astype(jnp.float64)
    return np.real(np.asarray(eigenvalues)).astype(np.float64)


def _known_eigenbasis(observable: Any) -> tuple[list[Any], Any] | None:
    """PennyLane's gates and eigenvalues; None where it cannot tell, or must not be believed.

    In a composite operator it does not know which traced wires are equal. Where it does not know
    that an operator is Hermitian, it takes eigenvectors that need not be orthogonal.
    """
    composite = isinstance(observable, ops.CompositeOp | ops.SymbolicOp)
    if composite and any(map(is_traced_wire, observable.wires)):
        return None
    try:
        eigenvalues, gates = np.asarray(observable.eigvals()), observable.diagonalizing_gates()
    except Exception:  # whatever PennyLane stumbles over: the matrix is asked instead
        return None
    if np.abs(np.imag(eigenvalues)).max(initial=0) > _ROUNDING:
        reason = "is not Hermitian: an eigenvalue is complex"
        raise UnsupportedObservableError(observable=describe(observable), reason=reason)
    if not all(map(is_unitary, gates)):
        return None
    return gates, np.real(eigenvalues).astype(np.float64)


def _pauli_letters(observable: Any) -> str | None:
    """One letter for each wire of a Pauli word without identities."""
    names = {"PauliX": "X", "PauliY": "Y", "PauliZ": "Z"}
    factors = observable.operands if isinstance(observable, ops.Prod) else [observable]
    letters = "".join(names.get(factor.name, "?") for factor in factors)
    if "?" in letters or len(letters) != len(observable.wires):
        return None
    return letters


def _by_gates(gates: Sequence[Any]) -> Rotation:
    back = [ops.Adjoint(gate) for gate in reversed(gates)]

    def apply(operators: Sequence[Any], scope: CircuitScope) -> None:
        for operator in operators:
            record(operator, scope)

    return Rotation(lambda scope: apply(gates, scope), lambda scope: apply(back, scope))


def _eigenbasis_of_matrix(observable: Any, requests: Requests) -> Eigenbasis:
    scope = requests.scope
    wires = measured_wires(observable, scope.wires)
    matrix = complex_array(dense(terms_of(observable, scope.wires), wires))
    if isinstance(matrix, np.ndarray) and np.abs(matrix - matrix.conj().T).max() > _ROUNDING:
        reason = "is not Hermitian"
        raise UnsupportedObservableError(observable=describe(observable), reason=reason)
    eigenvalues, vectors = eigenvectors(jnp.asarray(matrix))

    def rotate(scope: CircuitScope, unitary: Any) -> None:
        scope.advance_on(wires, unitary_p, unitary, control_values=())

    rotation = Rotation(
        lambda scope: rotate(scope, jnp.conj(vectors).T), lambda scope: rotate(scope, vectors)
    )
    return Eigenbasis(requests.rotated(rotation, wires), requests.constant(eigenvalues, observable))
