"""JVP rules of operations on a register, which write to its derivative wire.

Each takes and gives `(primals, tangents)`; the first of them is the register.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import jax.numpy as jnp
import numpy as np

from diastase.autodiff.tangents.generators import (
    gate_matrix,
    generator,
    has_generator,
    word_rotated_about,
)
from diastase.autodiff.tangents.tangent_circuit import MARK, new_wire
from diastase.primitives.errors import NotTransformableError
from diastase.primitives.quantum import (
    Wires,
    check_wires_p,
    diagonal_p,
    gate_p,
    global_phase_p,
    prepare_p,
    release_p,
    unitary_p,
)
from diastase.primitives.sampling import follow_script_p
from diastase.quantum.wires import bind_on, split_positions
from diastase_mlir import into_z, user_span
from diastase_mlir.jax_compat import Zero, forward_derivative

Pair = tuple[Any, Any]
Rule = Callable[..., Pair]

RAISE = np.array([[0, 0], [1, 0]], np.complex128)
"""From a state to its place as a derivative."""
_KEEP = np.eye(2, dtype=np.complex128)


def is_zero(*tangents: Any) -> bool:
    """Whether all of these are zero by construction."""
    return all(type(tangent) is Zero for tangent in tangents)


def unchanged(primitive: Any) -> Rule:
    """The rule of what acts on the state and its derivative alike."""

    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Pair:
        result = primitive.bind(*primals, **params)
        return result, ([] if primitive.multiple_results else MARK)

    return rule


def extended_matrix(matrix: Any, change: Any) -> Any:
    """`U x I + V x N`."""
    return jnp.kron(matrix, _KEEP) + jnp.kron(change, RAISE)


def _gate(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Pair:
    count = params["num_parameters"]
    register, parameters, wires = primals[0], primals[1 : 1 + count], primals[1 + count :]
    changes = tangents[1 : 1 + count]
    if is_zero(*changes):
        return gate_p.bind(*primals, **params), MARK
    number = len(params["wires"]) - len(params["control_values"])
    word = word_rotated_about(params["name"], number)
    if word is not None:
        register = gate_p.bind(*primals, **params)
        return _with_word(register, word, -0.5j * changes[0], wires, params), MARK
    if has_generator(params["name"]):
        register = gate_p.bind(*primals, **params)
        turned = 1j * changes[0] * np.kron(generator(params["name"], number), RAISE)
        identity = jnp.eye(2 ** (number + 1), dtype=jnp.complex128)
        return _with_full_matrix(register, identity + turned, wires, params), MARK

    def matrix_of(*angles: Any) -> Sequence[Any]:
        return [gate_matrix(params["name"], angles)]

    (matrix,), (change,) = forward_derivative(matrix_of, parameters, changes)
    return _with_matrix(register, matrix, change, wires, params), MARK


def _with_matrix(
    register: Any, matrix: Any, change: Any, operands: Sequence[Any], params: Mapping[str, Any]
) -> Any:
    """Apply `U x I + V x N` to targets and the derivative wire, under the same controls."""
    return _with_full_matrix(register, extended_matrix(matrix, change), operands, params)


def _with_full_matrix(
    register: Any, full: Any, operands: Sequence[Any], params: Mapping[str, Any]
) -> Any:
    wires, controls = params["wires"], params["control_values"]
    known = with_wire(wires, len(wires) - len(controls))
    return unitary_p.bind(register, full, *operands, wires=known, control_values=controls)


def _with_word(
    register: Any, word: str, factor: Any, operands: Sequence[Any], params: Mapping[str, Any]
) -> Any:
    """Apply `1 + factor P x N` for a Pauli word P, whatever its length, under the same controls.

    P is turned into Z on the last target, by gates that are undone.
    """
    traced, known = iter(operands), params["wires"]
    places = [wire if wire is not None else next(traced) for wire in known]
    count = len(word)
    last, controls = places[count - 1], places[count:]
    forth, back = into_z(word, places[:count])
    register = apply_fixed(register, forth)
    full = extended_matrix(_KEEP, factor * _Z)
    known_wires, more = split_positions([last, *controls])
    register = unitary_p.bind(
        register,
        full,
        *more,
        wires=with_wire(known_wires, 1),
        control_values=params["control_values"],
    )
    return apply_fixed(register, back)


_Z = np.diag([1, -1]).astype(np.complex128)


def apply_fixed(register: Any, gates: Sequence[tuple[str, Sequence[Any]]]) -> Any:
    """Gates without parameters, by name, on wires that are known or traced."""
    for name, wires in gates:
        register = bind_on(gate_p, register, wires, name=name, num_parameters=0, control_values=())
    return register


def with_wire(wires: Wires, position: int) -> Wires:
    """Wires with the new derivative wire at a position."""
    return (*wires[:position], new_wire(), *wires[position:])


def _unitary(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Pair:
    register, matrix, *operands = primals
    if is_zero(tangents[1]):
        return unitary_p.bind(*primals, **params), MARK
    return _with_matrix(register, matrix, tangents[1], operands, params), MARK


def _diagonal(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Pair:
    register, elements, *operands = primals
    if is_zero(tangents[1]):
        return diagonal_p.bind(*primals, **params), MARK
    matrix, change = jnp.diag(elements), jnp.diag(tangents[1])
    return _with_matrix(register, matrix, change, operands, params), MARK


def _global_phase(primals: Sequence[Any], tangents: Sequence[Any]) -> Pair:
    register, phi = primals
    if is_zero(tangents[1]):
        return global_phase_p.bind(*primals), MARK
    matrix = _KEEP - 1j * tangents[1] * RAISE
    register = global_phase_p.bind(register, phi)
    wires: Wires = (new_wire(),)
    return unitary_p.bind(register, matrix, wires=wires, control_values=()), MARK


def _prepare(primals: Sequence[Any], tangents: Sequence[Any], *, wires: Wires) -> Pair:
    """The derivative wire is in |0>: states are prepared before anything else."""
    register, amplitudes, *operands = primals
    if is_zero(tangents[1]):
        return prepare_p.bind(*primals, wires=wires), MARK
    both = jnp.stack([amplitudes, tangents[1]], axis=-1).reshape(-1)
    return prepare_p.bind(register, both, *operands, wires=with_wire(wires, len(wires))), MARK


def not_differentiable(construct: str, reason: str) -> Rule:
    """The rule of what has no derivative."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise NotTransformableError(
            construct=construct, transformation="jvp", reason=reason, span=user_span()
        )

    return refuse


RULES: Mapping[str, Rule] = {
    "gate": _gate,
    "unitary": _unitary,
    "diagonal": _diagonal,
    "global_phase": _global_phase,
    "prepare": _prepare,
    "check_wires": unchanged(check_wires_p),
    "follow_script": unchanged(follow_script_p),
    "release_qubits": unchanged(release_p),
    "measure": not_differentiable(
        "measure", "an outcome jumps, and what follows it depends on it; without `measure`, "
        "or with mcm_method='deferred', there is a derivative"
    ),
    "kraus": not_differentiable(
        "a channel", "its operator is drawn, and what is drawn jumps: use method='density'"
    ),
    "sample": not_differentiable(
        "a measurement with shots", "samples jump: use diff_method='parameter-shift'"
    ),
    "allocate_qubits": not_differentiable("QNode", "a number of wires has no derivative"),
}  # fmt: skip
