"""A register as NumPy has it: amplitudes with an axis for each wire; a density matrix with two.

States are not normalised: what a measurement has found is a projection, and the squared norm the
probability of all that was found. Nothing here is the product's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, reduce

import numpy as np
import pennylane as qml

PAULIS = {
    "X": np.array([[0, 1], [1, 0]], complex),
    "Y": np.array([[0, -1j], [1j, 0]]),
    "Z": np.array([[1, 0], [0, -1]], complex),
}
LETTERS = [np.eye(2, dtype=complex), *PAULIS.values()]
"""In the order of the digits of transfer matrices."""


class WireError(Exception):
    """An operation on wires that do not exist, or not each once."""


@cache
def _fixed_gate(name: str) -> np.ndarray:
    if name.startswith("Adjoint("):
        return _fixed_gate(name[len("Adjoint(") : -1]).conj().T
    return np.asarray(getattr(qml, name).compute_matrix(), complex)


def gate_matrix(name: str, parameters: Sequence[float], targets: int) -> np.ndarray:
    """The matrix of a gate, as PennyLane documents it."""
    if name.startswith("PauliRot["):
        word = reduce(np.kron, [PAULIS[letter] for letter in name[len("PauliRot[") : -1]])
        half = parameters[0] / 2
        return np.cos(half) * np.eye(len(word)) - 1j * np.sin(half) * word
    if not parameters:
        return _fixed_gate(name)
    if name == "MultiRZ":
        return np.asarray(qml.MultiRZ.compute_matrix(parameters[0], targets), complex)
    return np.asarray(getattr(qml, name).compute_matrix(*parameters), complex)


@dataclass(frozen=True)
class Register:
    """A state of so many wires."""

    state: np.ndarray
    mixed: bool = False

    @property
    def wires(self) -> int:
        return self.state.ndim // (2 if self.mixed else 1)

    @property
    def weight(self) -> float:
        """The probability of all that has been found."""
        if not self.mixed:
            return float(np.vdot(self.state, self.state).real)
        size = 2**self.wires
        return float(np.trace(self.state.reshape(size, size)).real)

    def checked(self, wires: Sequence[int]) -> None:
        if len(set(wires)) != len(wires) or not all(0 <= wire < self.wires for wire in wires):
            raise WireError(wires)

    def apply(
        self, matrix: np.ndarray, wires: Sequence[int], controls: Sequence[bool] = ()
    ) -> "Register":
        """A matrix, unitary or not, on targets; the last wires are controls."""
        self.checked(wires)
        values = [int(value) for value in controls]
        state = _applied(self.state, matrix, wires, values)
        if self.mixed:
            bra = [wire + self.wires for wire in wires]
            state = _applied(state, matrix.conj(), bra, values)
        return Register(state, self.mixed)

    def scaled(self, factor: complex) -> "Register":
        """A factor on the state."""
        return Register(self.state * (abs(factor) ** 2 if self.mixed else factor), self.mixed)

    def projected(self, word: str, wires: Sequence[int], outcome: int) -> "Register":
        """What is left when a Pauli word was found to be (-1)^outcome."""
        matrix = reduce(np.kron, [PAULIS[letter] for letter in word])
        half = (np.eye(len(matrix)) + (-1) ** outcome * matrix) / 2
        return self.apply(half, wires)

    def channel(self, transfer: np.ndarray, wires: Sequence[int]) -> "Register":
        """A transfer matrix in the basis of Pauli words, on a density matrix."""
        self.checked(wires)
        words = _words(len(wires))
        axes = [*wires, *(wire + self.wires for wire in wires)]
        rest = np.moveaxis(self.state, axes, range(len(axes)))
        shape = rest.shape
        size = 2 ** len(wires)
        rest = rest.reshape(size, size, -1)
        coefficients = np.einsum("aij,jir->ar", words, rest)  # Tr(P rho)
        changed = np.einsum("ar,aij->ijr", transfer @ coefficients, words) / size
        return Register(np.moveaxis(changed.reshape(shape), range(len(axes)), axes), True)

    def replaced(self, matrix: np.ndarray, wires: Sequence[int]) -> "Register":
        """Trace wires out, and put a density matrix there."""
        self.checked(wires)
        rest = [wire for wire in range(self.wires) if wire not in wires]
        left = self.reduced(rest).reshape((2,) * (2 * len(rest)))
        both = np.multiply.outer(matrix.reshape((2,) * (2 * len(wires))), left)
        k, m = len(wires), len(rest)
        axes = [*wires, *(w + self.wires for w in wires), *rest, *(w + self.wires for w in rest)]
        return Register(np.moveaxis(both, range(2 * (k + m)), axes), True)

    def reduced(self, wires: Sequence[int]) -> np.ndarray:
        """The density matrix of some wires, not normalised."""
        self.checked(wires)
        rest = [wire for wire in range(self.wires) if wire not in wires]
        size, others = 2 ** len(wires), 2 ** len(rest)
        if not self.mixed:
            amplitudes = self.state.transpose([*wires, *rest]).reshape(size, others)
            return amplitudes @ amplitudes.conj().T
        order = [*wires, *rest, *(w + self.wires for w in (*wires, *rest))]
        whole = self.state.transpose(order).reshape(size, others, size, others)
        return np.einsum("abcb->ac", whole)

    def density(self) -> np.ndarray:
        """The whole density matrix."""
        return self.reduced(range(self.wires))

    def probabilities(self, wires: Sequence[int]) -> np.ndarray:
        """Of the outcomes on some wires, normalised."""
        self.checked(wires)
        size = 2**self.wires
        diagonal = (
            np.diagonal(self.state.reshape(size, size)).real
            if self.mixed
            else np.abs(self.state.reshape(-1)) ** 2
        )
        rest = tuple(wire for wire in range(self.wires) if wire not in wires)
        left = diagonal.reshape((2,) * self.wires).sum(rest) if rest else diagonal
        left = left.reshape((2,) * len(wires))
        kept = sorted(wires)
        return left.transpose([kept.index(wire) for wire in wires]).reshape(-1) / self.weight

    def expectation(self, apply: "Applied") -> float:
        """Of what maps the state to O psi, or rho to O rho; normalised."""
        after = apply(Register(self.state) if self.mixed else self)
        if self.mixed:
            size = 2**self.wires
            found = np.trace(after.reshape(size, size))
        else:
            found = np.vdot(self.state, after)
        return float(found.real / np.float64(self.weight))  # of nothing left: not a number


class Applied:
    """An observable: a sum of factors on wires, each times a number."""

    def __init__(self, terms: Sequence[tuple[complex, Sequence[tuple[np.ndarray, list[int]]]]]):
        self.terms = terms

    def __call__(self, register: Register) -> np.ndarray:
        total = np.zeros_like(register.state)
        for coefficient, factors in self.terms:
            state = register.state
            for matrix, wires in factors:
                state = _applied(state, matrix, wires, [])
            total = total + coefficient * state
        return total

    def squared(self) -> "Applied":
        """The same twice."""
        return Applied(
            [(a * b, [*one, *other]) for a, one in self.terms for b, other in self.terms]
        )


def random_state(random: np.random.Generator, wires: int, mixed: bool) -> Register:
    """A state of a distribution that no set of measure zero catches."""
    if not mixed:
        state = random.normal(size=(2,) * wires) + 1j * random.normal(size=(2,) * wires)
        return Register(state / np.linalg.norm(state))
    size = 2**wires
    root = random.normal(size=(size, size)) + 1j * random.normal(size=(size, size))
    density = root @ root.conj().T
    return Register((density / np.trace(density)).reshape((2,) * (2 * wires)), True)


def ground_state(wires: int, mixed: bool) -> Register:
    state = np.zeros((2,) * (wires * (2 if mixed else 1)), complex)
    state[(0,) * state.ndim] = 1
    return Register(state, mixed)


def with_more_wires(register: Register, added: int) -> Register:
    """The same, with wires in |0> after its own."""
    if not added:
        return register
    more = ground_state(added, register.mixed).state
    both = np.multiply.outer(register.state, more)
    if not register.mixed:
        return Register(both)
    n, m = register.wires, added
    order = [*range(n), *range(2 * n, 2 * n + m), *range(n, 2 * n), *range(2 * n + m, 2 * (n + m))]
    return Register(both.transpose(order), True)


def of_first_wires(register: Register, wires: int) -> Register:
    """What a register is on its first wires where all others are in |0>; less, if they are not."""
    n = register.wires
    own: tuple[slice | int, ...] = (slice(None),) * wires + (0,) * (n - wires)
    return Register(register.state[own * (2 if register.mixed else 1)], register.mixed)


@cache
def _words(count: int) -> np.ndarray:
    words = [np.ones((1, 1), complex)]
    for _ in range(count):
        words = [np.kron(word, letter) for word in words for letter in LETTERS]
    return np.array(words)


def _applied(
    state: np.ndarray, matrix: np.ndarray, axes: Sequence[int], values: Sequence[int]
) -> np.ndarray:
    targets = list(axes[: len(axes) - len(values)])
    controls = axes[len(targets) :]
    if not controls:
        return _on_axes(state, matrix, targets)
    chosen: list[slice | int] = [slice(None)] * state.ndim
    for axis, value in zip(controls, values, strict=True):
        chosen[axis] = value
    shifted = [axis - sum(control < axis for control in controls) for axis in targets]
    result = state.copy()
    result[tuple(chosen)] = _on_axes(state[tuple(chosen)], matrix, shifted)
    return result


def _on_axes(state: np.ndarray, matrix: np.ndarray, axes: list[int]) -> np.ndarray:
    count = len(axes)
    shaped = matrix.reshape((2,) * (2 * count))
    product = np.tensordot(shaped, state, (list(range(count, 2 * count)), axes))
    return np.moveaxis(product, range(count), axes)
