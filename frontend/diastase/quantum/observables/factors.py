"""Factors of an observable's terms, and how each acts on a copy of the register.

An observable is a sum of `Term`s, products of factors. `Pauli` letters alone become words of one
engine call; a term with any other factor is applied to a copy (`Scratch`), the last factor first.

The trap: wires of different factors may be equal, known or computed; factors are applied one
after the other, so that is a product of matrices.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import scipy.sparse
from jax.core import Tracer
from pennylane import ops

from diastase.capture.quantum_errors import UnsupportedObservableError
from diastase.capture.regions import current_scope
from diastase.primitives import statevector
from diastase.primitives.quantum import gate_p, release_p, unitary_p
from diastase.quantum.operators.gate_operands import Controls, Recorder, complex_array
from diastase.quantum.operators.gates import record
from diastase.quantum.wires import Position, WireMap


class Scratch(Recorder):
    """A copy of the circuit's register, to which the operators of an observable are applied."""

    is_outermost = True

    def __init__(self, wires: WireMap, source: Any, blank: bool = False):
        self.wires = wires
        self.register = statevector.copy_register_p.bind(source, blank=blank)

    def take_snapshot(self, operator: Any) -> None:
        """An observable's operators pass no state on to anybody."""

    def release(self) -> None:
        """The end of the register."""
        release_p.bind(self.register)

    def run_decomposition(
        self, function: Callable[[], Sequence[Any] | None], controls: Controls
    ) -> Sequence[Any] | None:
        """The gates that a user's function gives; loops in it would act on the circuit itself."""
        scope = current_scope()
        before = None if scope is None else scope.register
        gates = function()
        if scope is not None and scope.register is not before:
            reason = "has control flow in its decomposition, which observables cannot have"
            raise UnsupportedObservableError(observable="an operator", reason=reason)
        return gates


PAULI_MATRICES = {
    "X": np.array([[0, 1], [1, 0]], dtype=complex),
    "Y": np.array([[0, -1j], [1j, 0]]),
    "Z": np.diag([1, -1]).astype(complex),
}


@dataclass(frozen=True)
class Pauli:
    """One letter."""

    letter: str
    wire: Position

    @property
    def wires(self) -> tuple[Position, ...]:
        """Where it acts."""
        return (self.wire,)

    @property
    def matrix(self) -> Any:
        """As a matrix."""
        return PAULI_MATRICES[self.letter]

    def adjoint(self) -> "Pauli":
        """The conjugate transpose."""
        return self

    def apply(self, scratch: Scratch) -> None:
        """Multiply the register by it."""
        name = f"Pauli{self.letter}"
        scratch.advance_on(self.wires, gate_p, name=name, num_parameters=0, control_values=())


@dataclass(frozen=True)
class Matrix:
    """Any matrix on some wires; complex, whatever it was given as."""

    matrix: Any
    wires: tuple[Position, ...]
    is_hermitian: bool = False
    """Whether it is known to be."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", complex_array(self.matrix))

    def adjoint(self) -> "Matrix":
        """The conjugate transpose."""
        return replace(self, matrix=self.matrix.conj().T)

    def apply(self, scratch: Scratch) -> None:
        """Multiply the register by it."""
        scratch.advance_on(self.wires, unitary_p, self.matrix, control_values=())


@dataclass(frozen=True)
class Sparse:
    """A sparse matrix on some wires: its rows' starts, columns, and values, which may be traced."""

    row_starts: np.ndarray
    columns: np.ndarray
    values: Any
    wires: tuple[Position, ...]

    @staticmethod
    def of(matrix: scipy.sparse.csr_matrix, wires: tuple[Position, ...]) -> "Sparse":
        """From SciPy's; entries may stand in any order and several times."""
        starts, columns = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
        return Sparse(starts, columns, matrix.data.astype(np.complex128), wires)

    @staticmethod
    def diagonal(values: Any, wires: tuple[Position, ...]) -> "Sparse":
        """A diagonal matrix."""
        size = 2 ** len(wires)
        return Sparse(np.arange(size + 1), np.arange(size), complex_array(values), wires)

    @property
    def matrix(self) -> Any:
        """As a dense matrix."""
        size = len(self.row_starts) - 1
        rows = np.repeat(np.arange(size), np.diff(self.row_starts))
        return jnp.zeros((size, size), complex).at[rows, self.columns].add(self.values)

    def adjoint(self) -> "Sparse":
        """The conjugate transpose; where values are traced, they are moved by known places."""
        size = len(self.row_starts) - 1
        places = scipy.sparse.csr_matrix(
            (np.arange(1, len(self.columns) + 1), self.columns, self.row_starts), (size, size)
        )
        transposed = places.T.tocsr()
        starts, columns = transposed.indptr.astype(np.int64), transposed.indices.astype(np.int64)
        return Sparse(starts, columns, self.values.conj()[transposed.data - 1], self.wires)

    def apply(self, scratch: Scratch) -> None:
        """Multiply the register by it."""
        arrays = self.row_starts, self.columns, complex_array(self.values)
        scratch.advance_on(self.wires, statevector.apply_sparse_p, *arrays)


@dataclass(frozen=True)
class Onto:
    """|v><v| for a vector of some wires."""

    vector: Any
    wires: tuple[Position, ...]

    @property
    def matrix(self) -> Any:
        """As a matrix."""
        return self.vector[:, None] * self.vector.conj()

    def adjoint(self) -> "Onto":
        """The conjugate transpose."""
        return self

    def apply(self, scratch: Scratch) -> None:
        """Multiply the register by it."""
        scratch.advance_on(self.wires, statevector.project_on_p, complex_array(self.vector))


@dataclass(frozen=True)
class Gate:
    """An operator of PennyLane that is applied like a gate."""

    operator: Any
    wires: tuple[Position, ...]

    @property
    def matrix(self) -> Any:
        """As a matrix."""
        with qml.QueuingManager.stop_recording():
            return self.operator.matrix()

    def adjoint(self) -> "Gate":
        """The conjugate transpose."""
        with qml.QueuingManager.stop_recording():
            return Gate(ops.Adjoint(self.operator), self.wires)

    def apply(self, scratch: Scratch) -> None:
        """Multiply the register by it."""
        record(self.operator, scratch)


@dataclass(frozen=True)
class Sum:
    """A sum that is not multiplied out."""

    terms: tuple["Term", ...]

    @property
    def wires(self) -> tuple[Position, ...]:
        """Where it acts."""
        return distinct([wire for term in self.terms for wire in term.wires])

    def adjoint(self) -> "Sum":
        """The conjugate transpose."""
        return Sum(tuple(term.adjoint() for term in self.terms))

    def apply(self, scratch: Scratch) -> None:
        """Multiply the register by it."""
        result = applied_sum(self.terms, scratch.wires, scratch.register)
        scratch.release()
        scratch.register = result.register


Factor = Pauli | Matrix | Sparse | Onto | Gate | Sum


@dataclass(frozen=True)
class Term:
    """A coefficient, a number or traced, and factors in the order in which they are multiplied."""

    coefficient: Any
    factors: tuple[Factor, ...] = ()
    phase: complex = 1
    """Another coefficient, known: 1, i, -1 or -i, from the products of letters."""

    @property
    def scale(self) -> Any:
        """Both coefficients."""
        return self.coefficient if self.phase == 1 else self.phase * self.coefficient

    @property
    def wires(self) -> tuple[Position, ...]:
        """Where it acts."""
        return tuple(wire for factor in self.factors for wire in factor.wires)

    @property
    def is_word(self) -> bool:
        """Whether all factors are letters."""
        return all(isinstance(factor, Pauli) for factor in self.factors)

    def adjoint(self) -> "Term":
        """The conjugate transpose."""
        conjugate = jnp.conj if is_traced(self.coefficient) else np.conj
        factors = tuple(factor.adjoint() for factor in reversed(self.factors))
        return Term(conjugate(self.coefficient), factors, np.conj(self.phase))

    def applied(self, wires: WireMap, source: Any) -> Scratch:
        """The factors' product, without the coefficient, times a register that stays as it is."""
        scratch = Scratch(wires, source)
        for factor in reversed(self.factors):
            factor.apply(scratch)
        return scratch


def applied_sum(terms: Sequence[Term], wires: WireMap, source: Any) -> Scratch:
    """A sum of terms times a register that stays as it is."""
    result = Scratch(wires, source, blank=True)
    for term in terms:
        product = term.applied(wires, source)
        factor = complex_array(term.scale)
        result.advance(statevector.add_scaled_p, product.register, factor)
        product.release()
    return result


def is_traced(value: Any) -> bool:
    """Whether a number or an array is known only at run time."""
    return isinstance(value, Tracer)


def are_hermitian(terms: Sequence[Term]) -> bool:
    """Whether a sum is known to be Hermitian, term by term."""
    return all(_is_hermitian(term) for term in terms)


def _is_hermitian(term: Term) -> bool:
    known = (isinstance(f, Pauli | Onto) or getattr(f, "is_hermitian", False) for f in term.factors)
    apart = len(distinct(term.wires)) == len(term.wires)
    return not is_complex(term.scale) and apart and all(known)


def is_complex(number: Any) -> bool:
    """Whether a number is complex, or may be."""
    if is_traced(number):
        return jnp.issubdtype(number.dtype, jnp.complexfloating)
    return complex(number).imag != 0


def distinct(wires: Sequence[Position]) -> tuple[Position, ...]:
    """Wires without those that are known to be another one."""
    found: list[Position] = []
    for wire in wires:
        if not any(is_same_wire(wire, other) for other in found):
            found.append(wire)
    return tuple(found)


def is_same_wire(left: Position, right: Position) -> bool:
    """Whether two wires are known to be the same one."""
    if isinstance(left, int) and isinstance(right, int):
        return left == right
    return left is right
