"""Derivatives of what is read from a register; the state's derivative is on its derivative wire.

With S the pair of a state s and its derivative t, and e the derivative wire:

    <s|A|s> = <S| A x P |S>,  P = |0><0| = (I + Z) / 2      its derivative: <S| A x X |S>

Probabilities and density matrices of some wires are read with the derivative wire as one wire more.
Results and their derivatives are of the usual kinds, so rules may be applied to them again.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from diastase.autodiff.tangents.gate_rules import (
    RAISE,
    Pair,
    Rule,
    extended_matrix,
    is_zero,
    unchanged,
    with_wire,
)
from diastase.autodiff.tangents.tangent_circuit import MARK, derivative_of, new_wire, old_wires
from diastase.primitives import measurement, statevector
from diastase.primitives.measurement import PauliWord
from diastase.primitives.quantum import Wires, gate_p, release_p, unitary_p
from diastase_mlir.jax_compat import trace_to_jaxpr

_FLIP = np.array([[0, 1], [1, 0]], np.complex128)
_FIRST = np.array([[1, 0], [0, 0]], np.complex128)


def _on_new(letter: str, words: Sequence[PauliWord]) -> tuple[PauliWord, ...]:
    return tuple((*word, (letter, new_wire())) for word in words)


def _expval_pauli(
    primals: Sequence[Any], tangents: Sequence[Any], *, words: tuple[PauliWord, ...]
) -> Pair:
    register, coefficients, *wires = primals

    def read(terms: Sequence[tuple[Any, tuple[PauliWord, ...]]]) -> Any:
        factors = jnp.concatenate([factor for factor, _ in terms])
        operands = [*wires] * len(terms)
        all_words = tuple(word for _, term in terms for word in term)
        return measurement.expval_pauli_p.bind(register, factors, *operands, words=all_words)

    def state_alone(factors: Any) -> list[tuple[Any, tuple[PauliWord, ...]]]:
        return [(factors / 2, words), (factors / 2, _on_new("Z", words))]

    change = [(coefficients, _on_new("X", words))]
    if not is_zero(tangents[1]):
        change += state_alone(tangents[1])
    return read(state_alone(coefficients)), read(change)


def _expval_matrix(primals: Sequence[Any], tangents: Sequence[Any], *, wires: Wires) -> Pair:
    register, matrix, *operands = primals
    on = with_wire(wires, len(wires))
    change = jnp.kron(matrix, _FLIP)
    if not is_zero(tangents[1]):
        change = change + jnp.kron(tangents[1], _FIRST)

    def read(full: Any) -> Any:
        return measurement.expval_matrix_p.bind(register, full, *operands, wires=on)

    return read(jnp.kron(matrix, _FIRST)), read(change)


def _probs(primals: Sequence[Any], tangents: Sequence[Any], *, wires: Wires, size: Any) -> Pair:
    """In the basis in which X on the derivative wire is diagonal, for the derivative."""
    register, *operands = primals
    on = with_wire(wires, len(wires)) if wires else ()
    inner = 1 if wires else 2 ** old_wires()

    def read(source: Any) -> Any:
        found = measurement.probs_p.bind(source, *operands, wires=on, size=2 * size)
        return found.reshape(size // inner, 2, inner)

    copy = statevector.copy_register_p.bind(register, blank=False)
    copy = gate_p.bind(
        copy, name="Hadamard", num_parameters=0, wires=(new_wire(),), control_values=()
    )
    rotated = read(copy)
    release_p.bind(copy)
    change = rotated[:, 0] - rotated[:, 1]
    return read(register)[:, 0].reshape(size), change.reshape(size)


def _state(primals: Sequence[Any], tangents: Sequence[Any], *, size: Any) -> Pair:
    inner = 2 ** old_wires()
    both = measurement.state_p.bind(primals[0], size=2 * size)
    both = both.reshape(size // inner, 2, inner)
    return both[:, 0].reshape(size), both[:, 1].reshape(size)


def _density_matrix(primals: Sequence[Any], tangents: Sequence[Any], *, wires: Wires) -> Pair:
    on, size = with_wire(wires, len(wires)), 2 ** len(wires)
    both = measurement.density_matrix_p.bind(*primals, wires=on).reshape(size, 2, size, 2)
    return both[:, 0, :, 0], both[:, 0, :, 1] + both[:, 1, :, 0]


# --- a variance, as what it is made of ------------------------------------------------------------


def _made_of(function: Callable[..., Any]) -> Rule:
    """The rule of what a function of the register and the same operands computes, too."""

    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Pair:
        register, *operands = primals
        avals = [jax.typeof(register), *(jax.typeof(operand) for operand in operands)]
        closed, _ = trace_to_jaxpr(lambda *args: [function(*args, **params)], avals, "var")
        entries = {
            position: tangent
            for position, tangent in enumerate(tangents)
            if position and not is_zero(tangent)
        }
        (result,), (change,) = derivative_of(closed, [register, *operands], entries)
        return result, change

    return rule


def _var_pauli(register: Any, coefficients: Any, *wires: Any, words: Any) -> Any:
    product = statevector.copy_register_p.bind(register, blank=True)
    product = statevector.add_pauli_sum_p.bind(product, register, coefficients, *wires, words=words)
    mean = jnp.real(statevector.inner_product_p.bind(register, product))
    square = jnp.real(statevector.inner_product_p.bind(product, product))
    release_p.bind(product)
    return square - mean * mean


def _var_matrix(register: Any, matrix: Any, *operands: Any, wires: Wires) -> Any:
    def read(observable: Any) -> Any:
        return measurement.expval_matrix_p.bind(register, observable, *operands, wires=wires)

    return read(matrix @ matrix) - read(matrix) ** 2


# --- registers as vectors -------------------------------------------------------------------------


def _raised(source: Any) -> Any:
    """A copy of a register's state in the place of its derivative; to be released."""
    copy = statevector.copy_register_p.bind(source, blank=False)
    return unitary_p.bind(copy, RAISE, wires=(new_wire(),), control_values=())


def _add_scaled(primals: Sequence[Any], tangents: Sequence[Any]) -> Pair:
    target, source, factor = primals
    result = statevector.add_scaled_p.bind(target, source, factor)
    if not is_zero(tangents[2]):
        raised = _raised(source)
        result = statevector.add_scaled_p.bind(result, raised, tangents[2])
        release_p.bind(raised)
    return result, MARK


def _add_pauli_sum(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Pair:
    target, source, coefficients, *wires = primals
    result = statevector.add_pauli_sum_p.bind(target, source, coefficients, *wires, **params)
    if not is_zero(tangents[2]):
        raised = _raised(source)
        result = statevector.add_pauli_sum_p.bind(result, raised, tangents[2], *wires, **params)
        release_p.bind(raised)
    return result, MARK


def _inner_product(primals: Sequence[Any], tangents: Sequence[Any]) -> Pair:
    bra, ket = primals

    def with_operator(matrix: Any) -> Any:
        copy = statevector.copy_register_p.bind(ket, blank=False)
        copy = unitary_p.bind(copy, matrix, wires=(new_wire(),), control_values=())
        product = statevector.inner_product_p.bind(bra, copy)
        release_p.bind(copy)
        return product

    return with_operator(_FIRST), with_operator(_FLIP)


def _linear_operator(primitive: Any, count: int) -> Rule:
    """The rule of an operator given by arrays, the last of which it is linear in."""

    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Pair:
        register, arrays, wires = primals[0], primals[1 : 1 + count], primals[1 + count :]
        if is_zero(*tangents[1 : 1 + count]):
            return primitive.bind(*primals, **params), MARK
        raised = _raised(register)
        changed = [*arrays[:-1], tangents[count]]
        raised = primitive.bind(raised, *changed, *wires, **params)
        result = primitive.bind(*primals, **params)
        result = statevector.add_scaled_p.bind(result, raised, jnp.complex128(1))
        release_p.bind(raised)
        return result, MARK

    return rule


def _project_on(primals: Sequence[Any], tangents: Sequence[Any], *, wires: Wires) -> Pair:
    """|v><v| as a matrix: a projector on few wires whose vector changes."""
    register, vector, *operands = primals
    if is_zero(tangents[1]):
        return statevector.project_on_p.bind(*primals, wires=wires), MARK
    matrix = jnp.outer(vector, vector.conj())
    change = jnp.outer(tangents[1], vector.conj())
    full = extended_matrix(matrix, change + change.conj().T)
    on = with_wire(wires, len(wires))
    return unitary_p.bind(register, full, *operands, wires=on, control_values=()), MARK


RULES: Mapping[str, Rule] = {
    "expval_pauli": _expval_pauli,
    "expval_matrix": _expval_matrix,
    "var_pauli": _made_of(_var_pauli),
    "var_matrix": _made_of(_var_matrix),
    "probs": _probs,
    "state": _state,
    "density_matrix": _density_matrix,
    "copy_register": unchanged(statevector.copy_register_p),
    "add_scaled": _add_scaled,
    "add_pauli_sum": _add_pauli_sum,
    "inner_product": _inner_product,
    "apply_sparse": _linear_operator(statevector.apply_sparse_p, 3),
    "project_on": _project_on,
}
