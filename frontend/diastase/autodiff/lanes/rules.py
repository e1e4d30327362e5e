"""Batching rules of operations and measurements: those of a lane register.

In: a register of a batch, which is a lane register, and operands with or without the axis of the
batch. What differs between lanes in another way than angles, matrices and outcomes do (wires) has
no such form, nor have operations that only large registers gain from: `refuse` says so, and the
elements of the batch stay apart (`elements`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import jax.numpy as jnp
from jax import lax

from diastase.autodiff.control_flow.batching import Batched, for_all, in_front
from diastase.primitives import lanes
from diastase.primitives.define import Rule
from diastase.primitives.errors import NotTransformableError
from diastase.primitives.measurement import PauliWord
from diastase.primitives.quantum import Wires, release_p
from diastase_mlir.diagnostics import span_of, user_span
from diastase_mlir.jax_compat import BatchAxis, is_concrete, set_batching
from diastase_mlir.jax_compat.x64 import runs_in_64_bits
from diastase_mlir.rerolling import Places, lines_of_run, operations_p
from diastase_mlir.rewritings import Table, tell
from diastase_runtime.gate_table import gate_of

_MOST_TARGETS = 3
"""Of a matrix; with more, operations are large enough by themselves."""

Operands = Sequence[Any]
Dims = Sequence[int | None]


def refuse(construct: str, reason: str) -> NoReturn:
    """Leave the elements of the batch apart."""
    raise NotTransformableError(
        construct=construct, transformation="vmap", reason=reason, span=user_span()
    )


def _shared(construct: str, wires: Operands, dims: Dims) -> list[Any]:
    """Wires, which must be the same in all lanes."""
    if any(dim is not None for dim in dims):
        refuse(construct, "its wires differ between elements")
    return list(wires)


def _in_lanes(axis: BatchAxis, values: Operands, dims: Dims) -> list[Any]:
    """Values with the axis of the batch in front."""
    moved = in_front(values, dims)
    return [for_all(axis, value, dim is not None) for value, dim in zip(moved, dims, strict=True)]


# --- operations -----------------------------------------------------------------------------------


def _refuse_many_wires(name: str) -> None:
    gate = gate_of(name)
    if gate is None or gate.entry == "array":
        refuse(name, "it is on many wires")


def _gate(
    axis: BatchAxis,
    operands: Operands,
    dims: Dims,
    *,
    name: str,
    num_parameters: int,
    **params: Any,
) -> tuple[Any, int]:
    _refuse_many_wires(name)
    end = 1 + num_parameters
    angles = _in_lanes(axis, operands[1:end], dims[1:end])
    wires = _shared(name, operands[end:], dims[end:])
    new = lanes.lanes_gate_p.bind(
        operands[0], *angles, *wires, name=name, num_parameters=num_parameters, **params
    )
    return new, 0


def _run(
    axis: BatchAxis, operands: Operands, dims: Dims, *, operations: Any, places: Places
) -> Batched:
    """Gates on known wires (`rerolling`); what is the same in all lanes is repeated."""
    for each in operations:
        _refuse_many_wires(each.params["name"])
    values = in_front(operands[1:], dims[1:])
    rows = [_rows(axis, *pair) for pair in zip(values, dims[1:], strict=True)]
    sizes = [len(each) for each in rows]
    gates = tuple(map(str, lines_of_run(operations, places, sizes)))
    tell(Table(operations, places, sizes, gates))
    spans = [span_of(each.source_info) for each in operations]
    new = lanes.lanes_run_p.bind(
        operands[0],
        *([lax.concatenate(rows, 0)] if rows else []),
        gates=gates,
        lines=tuple(span and (span.file, span.line, span.function) for span in spans),
    )
    return [new], [0]


def _rows(axis: BatchAxis, value: Any, dim: int | None) -> Any:
    """A parameter, or a vector of them: a row for each, a column for each lane."""
    if dim is None:
        return jnp.broadcast_to(jnp.reshape(value, (-1, 1)), (jnp.size(value), axis.size))
    return jnp.reshape(value, (axis.size, -1)).T


def _apply(
    axis: BatchAxis, operands: Operands, dims: Dims, matrix: Any, mapped: bool, **params: Any
) -> tuple[Any, int]:
    """A matrix on the wires of an operation, given with the axis of the batch or without."""
    wires = _shared("a gate", operands[2:], dims[2:])
    if len(params["wires"]) - len(params["control_values"]) > _MOST_TARGETS:
        refuse("a gate", "it is on many wires")
    matrix = matrix.astype(jnp.complex128)
    new = lanes.lanes_unitary_p.bind(operands[0], matrix, *wires, per_lane=mapped, **params)
    return new, 0


def _array(operands: Operands, dims: Dims) -> tuple[Any, bool]:
    """The array of an operation, and whether it has the axis of the batch, in front."""
    (array,) = in_front(operands[1:2], dims[1:2])
    return array, dims[1] is not None


def _unitary(
    axis: BatchAxis, operands: Operands, dims: Dims, *, wires: Wires, control_values: Any, **_: Any
) -> tuple[Any, int]:
    matrix, mapped = _array(operands, dims)
    return _apply(axis, operands, dims, matrix, mapped, wires=wires, control_values=control_values)


def _diagonal(
    axis: BatchAxis, operands: Operands, dims: Dims, *, wires: Wires, control_values: Any, **_: Any
) -> tuple[Any, int]:
    elements, mapped = _array(operands, dims)
    matrix = elements[..., None] * jnp.eye(elements.shape[-1], dtype=elements.dtype)
    return _apply(axis, operands, dims, matrix, mapped, wires=wires, control_values=control_values)


def _prepare(
    axis: BatchAxis, operands: Operands, dims: Dims, *, wires: Wires, **_: Any
) -> tuple[Any, int]:
    """The wires are in |0...0>: of a matrix only the first column is read."""
    amplitudes, mapped = _array(operands, dims)
    first = jnp.eye(amplitudes.shape[-1], dtype=amplitudes.dtype)[0]
    matrix = amplitudes[..., None] * first
    return _apply(axis, operands, dims, matrix, mapped, wires=wires, control_values=())


def _global_phase(axis: BatchAxis, operands: Operands, dims: Dims) -> tuple[Any, int]:
    angle, mapped = _array(operands, dims)
    matrix = jnp.exp(-1j * angle)[..., None, None] * jnp.eye(2)
    return _apply(axis, operands, dims, matrix, mapped, wires=(0,), control_values=())


def _check_wires(axis: BatchAxis, operands: Operands, dims: Dims, **_: Any) -> tuple[Any, int]:
    """Wires that are known are checked by `elements`."""
    if len(operands) > 1:
        refuse("an operation", "its wires are traced")
    return operands[0], 0


def _follow_script(axis: BatchAxis, operands: Operands, dims: Dims) -> tuple[Any, int]:
    """Of no script: outcomes are drawn."""
    if not is_concrete(operands[1]) or operands[1] != 0:
        refuse("measure", "outcomes are those of a script")
    return operands[0], 0


def _release(axis: BatchAxis, operands: Operands, dims: Dims) -> tuple[list[Any], list[Any]]:
    release_p.bind(operands[0])
    return [], []


# --- measurements ---------------------------------------------------------------------------------


def _measure(
    axis: BatchAxis,
    operands: Operands,
    dims: Dims,
    *,
    wires: Wires,
    word: str,
    reset: bool,
    postselect: int | None,
) -> Batched:
    if word != "Z" or postselect is not None:
        refuse("measure", "it is of several wires, or postselects")
    own = _shared("measure", operands[1:], dims[1:])
    register, outcomes = lanes.lanes_measure_p.bind(operands[0], *own, wires=wires, reset=reset)
    return [register, outcomes != 0], [0, 0]


def _sample(
    axis: BatchAxis, operands: Operands, dims: Dims, *, wires: Wires, shots: Any
) -> tuple[Any, int]:
    own = _shared("sample", operands[1:], dims[1:])
    return lanes.lanes_sample_p.bind(operands[0], *own, wires=wires, shots=shots), 0


def _probs(
    axis: BatchAxis, operands: Operands, dims: Dims, *, wires: Wires, size: Any
) -> tuple[Any, int]:
    own = _shared("probs", operands[1:], dims[1:])
    return lanes.lanes_probs_p.bind(operands[0], *own, wires=wires, size=size), 0


def _state(axis: BatchAxis, operands: Operands, dims: Dims, *, size: Any) -> tuple[Any, int]:
    return lanes.lanes_state_p.bind(operands[0], size=size), 0


def _expval_pauli(
    axis: BatchAxis, operands: Operands, dims: Dims, *, words: tuple[PauliWord, ...]
) -> tuple[Any, int]:
    columns, values = _words(operands, dims, words)
    return jnp.sum(columns * values, axis=0), 0


def _var_pauli(
    axis: BatchAxis, operands: Operands, dims: Dims, *, words: tuple[PauliWord, ...]
) -> tuple[Any, int]:
    if len(words) != 1:
        refuse("var", "the square of its sum has other words")
    columns, values = _words(operands, dims, words)
    return (columns**2 * (1 - values**2))[0], 0


def _words(operands: Operands, dims: Dims, words: tuple[PauliWord, ...]) -> tuple[Any, Any]:
    """Coefficients and expectation values of words: a row for each word."""
    coefficients, mapped = _array(operands, dims)
    own = _shared("expval", operands[2:], dims[2:])
    values = lanes.lanes_pauli_values_p.bind(operands[0], *own, words=words)
    return coefficients.T if mapped else coefficients[:, None], values


RULES: Mapping[tuple[str, str], Rule] = {
    (name, "vmap_of_axis"): rule
    for name, rule in {
        "gate": _gate,
        "unitary": _unitary,
        "diagonal": _diagonal,
        "prepare": _prepare,
        "global_phase": _global_phase,
        "check_wires": _check_wires,
        "follow_script": _follow_script,
        "release_qubits": _release,
        "measure": _measure,
        "sample": _sample,
        "probs": _probs,
        "state": _state,
        "expval_pauli": _expval_pauli,
        "var_pauli": _var_pauli,
    }.items()
}
"""Rules that are given the axis."""

set_batching(operations_p, runs_in_64_bits(_run))
