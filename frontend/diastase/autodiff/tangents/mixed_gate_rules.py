"""JVP rules of operations on a density matrix, which write to its derivative wire.

As those of state vectors (`gate_rules`); only the matrix of an operation is its transfer matrix
R (`primitives.mixed`), real and linear in what is differentiated: it becomes R x I + dR x N on its
wires and the derivative wire. A gate exp(i p G), G a sum of Pauli words c P, is followed by
1 + dp c i[P, .] x N for each word, however many wires it has: N N is zero, so the product over all
words is the sum.

Matrices on many wires, whose transfer matrices would be too large, act on copies of the state:

    dU r U* + U r dU* = ((U + dU) r (U + dU)* - (U - dU) r (U - dU)*) / 2

which a sweep back does not go through, so gradients of such derivatives are found run by run.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from diastase.autodiff.tangents.gate_rules import (
    Pair,
    Rule,
    apply_fixed,
    is_zero,
    unchanged,
    with_wire,
)
from diastase.autodiff.tangents.generators import (
    LETTERS,
    gate_matrix,
    has_generator,
    word_rotated_about,
    words_of_generator,
)
from diastase.autodiff.tangents.tangent_circuit import MARK, new_wire
from diastase.primitives import statevector
from diastase.primitives.mixed import replace_p, superoperator_p
from diastase.primitives.quantum import (
    Wires,
    diagonal_p,
    gate_p,
    global_phase_p,
    prepare_p,
    release_p,
    unitary_p,
)
from diastase.quantum.noise.transfer import pauli_words, transfer_of_kraus
from diastase.quantum.wires import split_positions
from diastase_mlir import into_z
from diastase_mlir.jax_compat import forward_derivative

LARGEST_TRANSFER = 3
"""Wires up to which a matrix that changes is applied by its transfer matrix."""
MOST_CONTROLS = 5
"""Controls up to which a generator is taken apart into words, twice as many for each of them."""
RAISE = np.array([[0, 0], [1, 0]], np.float64)
"""From a state to its place as a derivative."""
_KEEP = np.eye(2, dtype=np.float64)
_TURN = np.zeros((4, 4))
_TURN[2, 1], _TURN[1, 2] = -2, 2
_TURN = np.kron(_TURN, RAISE)
"""i[Z, .] x N: X becomes -2 Y, and Y becomes 2 X."""


def superoperator(register: Any, matrix: Any, operands: Sequence[Any], wires: Wires) -> Any:
    """Apply a transfer matrix of ours."""
    return superoperator_p.bind(
        register,
        jnp.asarray(matrix, jnp.float64),
        *operands,
        wires=wires,
        construct="a derivative",
        checked=False,
    )


def raised(source: Any) -> Any:
    """A copy of a register's state in the place of its derivative; to be released."""
    copy = statevector.copy_register_p.bind(source, blank=False)
    return superoperator(copy, RAISE, (), (new_wire(),))


def _with_change(
    register: Any, transfer: Any, change: Any, operands: Sequence[Any], wires: Wires
) -> Any:
    """Apply `R x I + dR x N`."""
    full = _changing(transfer, change)
    return superoperator(register, full, operands, with_wire(wires, len(wires)))


def _changing(transfer: Any, change: Any) -> Any:
    return jnp.kron(transfer, _KEEP) + jnp.kron(change, RAISE)


# --- gates ----------------------------------------------------------------------------------------


def _gate(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Pair:
    count = params["num_parameters"]
    register, parameters, operands = primals[0], primals[1 : 1 + count], primals[1 + count :]
    changes = tangents[1 : 1 + count]
    if is_zero(*changes):
        return gate_p.bind(*primals, **params), MARK
    name, wires, controls = params["name"], params["wires"], params["control_values"]
    if has_generator(name):
        targets = len(wires) - len(controls)
        if len(controls) <= MOST_CONTROLS:
            register = gate_p.bind(*primals, **params)
            words = words_of_generator(name, targets, controls)
            return _turned(register, words, changes[0], operands, wires), MARK
        word = word_rotated_about(name, targets)
        if word is not None:
            register = gate_p.bind(*primals, **params)
            return _turned_under_controls(register, word, changes[0], operands, params), MARK

    def matrix_of(*angles: Any) -> Sequence[Any]:
        return [gate_matrix(name, angles)]

    (matrix,), (change,) = forward_derivative(matrix_of, parameters, changes)
    return _with_matrix(register, matrix, change, operands, wires, controls), MARK


def _turned(
    register: Any,
    words: Sequence[tuple[float, Sequence[int]]],
    amount: Any,
    operands: Sequence[Any],
    wires: Wires,
) -> Any:
    """Apply `1 + amount i[G, .] x N` for a sum G of words."""
    places = _places(operands, wires)
    for coefficient, letters in words:
        word = "".join(LETTERS[letter] for letter in letters if letter)
        on = [place for place, letter in zip(places, letters, strict=True) if letter]
        forth, back = into_z(word, on)
        register = apply_fixed(register, forth)
        full = np.eye(8) + coefficient * amount * _TURN
        known, more = split_positions(on[-1:])
        register = superoperator(register, full, more, with_wire(known, 1))
        register = apply_fixed(register, back)
    return register


def _places(operands: Sequence[Any], wires: Wires) -> list[Any]:
    traced = iter(operands)
    return [wire if wire is not None else next(traced) for wire in wires]


def _turned_under_controls(
    register: Any, word: str, amount: Any, operands: Sequence[Any], params: Mapping[str, Any]
) -> Any:
    """The same for a word under many controls."""
    places = _places(operands, params["wires"])
    last, controls = places[len(word) - 1], places[len(word) :]
    forth, back = into_z(word, places[: len(word)])
    register = apply_fixed(register, forth)
    known, more = split_positions([last, *controls])
    change = -0.5j * amount * np.diag([1, -1])
    identity = np.eye(2, dtype=np.complex128)
    values = params["control_values"]
    register = _with_matrix(register, identity, change, more, known, values)
    return apply_fixed(register, back)


def _with_matrix(
    register: Any,
    matrix: Any,
    change: Any,
    operands: Sequence[Any],
    wires: Wires,
    controls: tuple[bool, ...],
) -> Any:
    """Apply a matrix that changes, under controls."""

    def apply(register: Any, matrix: Any) -> Any:
        matrix = jnp.asarray(matrix, jnp.complex128)
        return unitary_p.bind(register, matrix, *operands, wires=wires, control_values=controls)

    if len(wires) > LARGEST_TRANSFER:
        return _by_differences(register, matrix, change, apply)

    def transfer(own: Any) -> Sequence[Any]:
        return [transfer_of_kraus(_whole(own, controls)[None])]

    (full,), (changed,) = forward_derivative(transfer, [matrix], [change])
    return _with_change(register, full, changed, operands, wires)


def _whole(matrix: Any, controls: Sequence[bool]) -> Any:
    """A matrix under controls, on targets and controls."""
    matrix = jnp.asarray(matrix, jnp.complex128)
    values = np.array([1.0])
    for control in controls:
        values = np.kron(values, [not control, control])
    others = np.kron(np.eye(matrix.shape[0]), np.diag(1 - values))
    return jnp.kron(matrix, np.diag(values).astype(np.complex128)) + others


def _by_differences(
    register: Any, array: Any, change: Any, apply: Callable[[Any, Any], Any]
) -> Any:
    """Apply an array that changes, by what two others make of copies."""
    size = lax.stop_gradient(jnp.max(jnp.abs(change)))
    size = jnp.where(size > 0, size, 1.0)  # any but zero; such that nothing is rounded away
    after = [
        apply(statevector.copy_register_p.bind(register, blank=False), array + sign * change / size)
        for sign in (1, -1)
    ]
    result = apply(register, array)
    factors = [size / 2, -size / 2]
    for copy, factor in zip(after, factors, strict=True):
        moved = superoperator(copy, RAISE, (), (new_wire(),))
        result = statevector.add_scaled_p.bind(result, moved, factor.astype(jnp.complex128))
        release_p.bind(moved)
    return result


def _unitary(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Pair:
    register, matrix, *operands = primals
    if is_zero(tangents[1]):
        return unitary_p.bind(*primals, **params), MARK
    wires, controls = params["wires"], params["control_values"]
    return _with_matrix(register, matrix, tangents[1], operands, wires, controls), MARK


def _diagonal(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Pair:
    register, elements, *operands = primals
    wires, controls = params["wires"], params["control_values"]
    if is_zero(tangents[1]):
        return diagonal_p.bind(*primals, **params), MARK
    if len(wires) <= LARGEST_TRANSFER:
        matrix, change = jnp.diag(elements), jnp.diag(tangents[1])
        return _with_matrix(register, matrix, change, operands, wires, controls), MARK

    def apply(register: Any, elements: Any) -> Any:
        return diagonal_p.bind(register, elements, *operands, **params)

    return _by_differences(register, elements, tangents[1], apply), MARK


def _global_phase(primals: Sequence[Any], tangents: Sequence[Any]) -> Pair:
    """A density matrix has none."""
    return global_phase_p.bind(*primals), MARK


# --- what is linear in its array ------------------------------------------------------------------


def _superoperator(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Pair:
    register, matrix, *operands = primals
    if is_zero(tangents[1]):
        return superoperator_p.bind(*primals, **params), MARK
    if matrix.shape[0] <= 4**LARGEST_TRANSFER:
        full = _changing(matrix, tangents[1])  # with the same first row, so checked alike
        wires = with_wire(params["wires"], len(params["wires"]))
        return superoperator_p.bind(register, full, *operands, **{**params, "wires": wires}), MARK
    unchecked = {**params, "checked": False}
    moved = superoperator_p.bind(raised(register), tangents[1], *operands, **unchecked)
    return _sum(superoperator_p.bind(register, matrix, *operands, **params), moved), MARK


def _sum(register: Any, moved: Any) -> Any:
    """A register with what a copy of it has become added, which is released."""
    result = statevector.add_scaled_p.bind(register, moved, jnp.complex128(1))
    release_p.bind(moved)
    return result


def _replace(primals: Sequence[Any], tangents: Sequence[Any], *, wires: Wires, **_: Any) -> Pair:
    register, matrix, *operands = primals
    if is_zero(tangents[1]):
        return replace_p.bind(*primals, wires=wires), MARK
    if len(wires) > LARGEST_TRANSFER:
        moved = replace_p.bind(raised(register), tangents[1], *operands, wires=wires)
        return _sum(replace_p.bind(register, matrix, *operands, wires=wires), moved), MARK
    (full,), (change,) = forward_derivative(
        lambda own: [_transfer_of_state(own)], [matrix], [tangents[1]]
    )
    return _with_change(register, full, change, operands, wires), MARK


def _transfer_of_state(matrix: Any) -> Any:
    """Its first column: what becomes of the trace."""
    words = pauli_words(matrix.shape[0].bit_length() - 1)
    column = jnp.real(jnp.einsum("pab,ba->p", words, matrix))
    return column[:, None] * np.eye(1, column.shape[0])


def _prepare(primals: Sequence[Any], tangents: Sequence[Any], *, wires: Wires, **_: Any) -> Pair:
    """Amplitudes for wires in |0>, as a density matrix for any."""
    register, amplitudes, *operands = primals
    if is_zero(tangents[1]):
        return prepare_p.bind(*primals, wires=wires), MARK
    (matrix,), (change,) = forward_derivative(
        lambda own: [jnp.outer(own, own.conj())], [amplitudes], [tangents[1]]
    )
    return _replace([register, matrix, *operands], [MARK, change], wires=wires)


def _add_scaled(primals: Sequence[Any], tangents: Sequence[Any]) -> Pair:
    target, source, factor = primals
    result = statevector.add_scaled_p.bind(target, source, factor)
    if not is_zero(tangents[2]):
        moved = raised(source)
        result = statevector.add_scaled_p.bind(result, moved, tangents[2])
        release_p.bind(moved)
    return result, MARK


RULES: Mapping[str, Rule] = {
    "gate": _gate,
    "unitary": _unitary,
    "diagonal": _diagonal,
    "global_phase": _global_phase,
    "prepare": _prepare,
    "superoperator": _superoperator,
    "replace": _replace,
    "copy_register": unchanged(statevector.copy_register_p),
    "add_scaled": _add_scaled,
}
