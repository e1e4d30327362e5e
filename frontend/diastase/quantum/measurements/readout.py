"""Readout errors: with some probability a wire is read as the other outcome.

A device has one probability for all of its wires (`qml.device("default.mixed", readout_prob=p)`).
An observable is measured by rotating into its eigenbasis, so the error comes after that: the sign
of a Pauli word on k wires survives with (1 - 2p)^k, and of anything else the probabilities of the
eigenvalues are mixed, wire by wire. Terms of a sum are measured one by one. States and what is
computed of them have no such errors, as in PennyLane, nor have snapshots.

The trap: two traced wires of a word may be the same, whose letters multiply; then there is another
number of wires to be read. They are checked to differ.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
import pennylane as qml
from pennylane import ops

from diastase.capture.control_flow.loops import trace_for_loop
from diastase.primitives import measurement as primitives
from diastase.primitives.matrix_functions import eigenvectors
from diastase.primitives.quantum import check_wires_p, unitary_p
from diastase.quantum.measurements.pauli_operands import bind_words
from diastase.quantum.observables.factors import Scratch, Term, is_traced
from diastase.quantum.observables.measured_forms import measured_wires, rotate_to_eigenbasis
from diastase.quantum.observables.observables import DATA_DEPENDENT, terms_of
from diastase.quantum.observables.terms import collected, dense, word_of
from diastase.quantum.operators.circuit_scope import CircuitScope
from diastase.quantum.operators.gate_operands import complex_array
from diastase.quantum.wires import Position, bind_on


def flipped(probabilities: Any, flip: Any, wires: int | None, traced_wires: Any = None) -> Any:
    """Probabilities of outcomes on all of these wires, each read wrongly with probability `flip`.

    Where the number of wires is traced, it is `traced_wires`.
    """
    if wires is None:
        places = jnp.arange(probabilities.shape[0])

        def mix(wire: Any, current: Any) -> Any:
            other = current[places ^ jnp.left_shift(1, wire)]
            return (1 - flip) * current + flip * other

        return trace_for_loop((0, traced_wires, 1), mix, (probabilities,))
    for wire in range(wires):
        pairs = probabilities.reshape(2**wire, 2, -1)
        probabilities = ((1 - flip) * pairs + flip * pairs[:, ::-1]).reshape(-1)
    return probabilities


def expectation(observable: Any, scope: CircuitScope) -> Any:
    """The expectation value, term by term."""
    if isinstance(observable, ops.Sum | ops.LinearCombination):
        coefficients, operators = observable.terms()
        total: Any = jnp.zeros(())
        words: list[Term] = []
        for coefficient, operator in zip(coefficients, operators, strict=True):
            term = _word(operator, scope)
            if term is None:
                total = total + jnp.real(coefficient * expectation(operator, scope))
            else:
                words.append(_read(coefficient, term, scope))
        return total + _of_words(words, scope) if words else total
    term = _word(observable, scope)
    if term is not None:
        return _of_words([_read(1.0, term, scope)], scope)
    if isinstance(observable, ops.SProd):
        return jnp.real(observable.scalar * expectation(observable.base, scope))
    probabilities, values = _eigenvalues(observable, scope)
    return probabilities @ values


def variance(observable: Any, scope: CircuitScope) -> Any:
    """The variance of what is read, in the joint eigenbasis of all terms."""
    probabilities, values = _eigenvalues(observable, scope)
    return probabilities @ values**2 - (probabilities @ values) ** 2


def _word(observable: Any, scope: CircuitScope) -> Term | None:
    """An observable as one Pauli word, if it is one."""
    if isinstance(observable, ops.Prod | ops.SProd | qml.Identity) or observable.name in _PAULIS:
        terms = terms_of(observable, scope.wires)
        if len(terms) == 1 and terms[0].is_word:
            return word_of(terms[0])
    return None


_PAULIS = frozenset({"PauliX", "PauliY", "PauliZ"})


def _read(coefficient: Any, word: Term, scope: CircuitScope) -> Term:
    """A word as it is read."""
    wires = word.wires
    if len(wires) > 1 and not all(isinstance(wire, int) for wire in wires):
        scope.advance_on(wires, check_wires_p, construct="expval")
    factor = (1 - 2 * scope.circuit.readout) ** len(wires)
    return Term(coefficient * word.coefficient * factor, word.factors, word.phase)


def _of_words(words: Sequence[Term], scope: CircuitScope) -> Any:
    return bind_words(primitives.expval_pauli_p, scope.register, collected(words, "a sum"))


def _eigenvalues(observable: Any, scope: CircuitScope) -> tuple[Any, Any]:
    """Probabilities of the outcomes that are read, and the eigenvalues that they mean."""
    wires = measured_wires(observable, scope.wires)
    values, rotate = _eigenbasis(observable, wires, scope)
    scratch = Scratch(scope.wires, scope.register)
    rotate(scratch)
    probabilities = bind_on(primitives.probs_p, scratch.register, wires, size=2 ** len(wires))
    scratch.release()
    return flipped(probabilities, scope.circuit.readout, len(wires)), values


def _eigenbasis(
    observable: Any, wires: Sequence[Position], scope: CircuitScope
) -> tuple[Any, Callable[[Scratch], None]]:
    """Eigenvalues and the rotation that orders them: PennyLane's, or of the matrix."""
    try:
        with qml.QueuingManager.stop_recording():
            values = jnp.real(jnp.asarray(observable.eigvals()))
            observable.diagonalizing_gates()
    except (*DATA_DEPENDENT, qml.operation.EigvalsUndefinedError, NotImplementedError):
        matrix = dense(terms_of(observable, scope.wires), wires)
        values, vectors = eigenvectors(matrix) if is_traced(matrix) else np.linalg.eigh(matrix)
        inverse = complex_array(vectors.conj().T)
        return jnp.asarray(values), lambda scratch: scratch.advance_on(
            wires, unitary_p, inverse, control_values=()
        )
    return values, lambda scratch: rotate_to_eigenbasis(observable, scratch)


def readout_of(device: Any) -> Any:
    """The probability that a device reads a wire wrongly."""
    return getattr(device, "readout_err", None) or 0.0
