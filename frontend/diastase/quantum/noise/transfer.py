"""The transfer matrix of a channel: a real matrix in the basis of Pauli words (`primitives.mixed`).

    R[i, j] = 2^-k Tr(P_i E(P_j)),   P = I, X, Y, Z on each of k wires, the first most significant

Those of PennyLane's channels are written out: each entry is a smooth function of the strength,
where Kraus matrices have roots of it, with an infinite derivative at no noise. Those of Kraus
matrices are polynomials in their entries. Known parameters give numpy arrays, and equal channels
the same array; traced ones give arrays of the program.
"""

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
from jax.core import Tracer

from diastase.quantum.noise.kraus import kraus_of
from diastase.quantum.noise.strengths import checked_strengths, is_own
from diastase_mlir.jax_compat import as_constant

LARGEST_CHANNEL = 5
"""Wires up to which a channel is applied by its transfer matrix, which has 16^wires numbers."""


class Transfer(NamedTuple):
    """A transfer matrix."""

    matrix: Any
    checked: bool
    """Whether it is to be checked, when the program runs, that it preserves the trace."""


def transfer_of(channel: Any) -> Transfer:
    """The transfer matrix of a channel, whose parameters are checked."""
    if is_own(channel):
        return Transfer(_of_parameters(channel, checked_strengths(channel)), False)
    matrices = kraus_of(channel)
    if isinstance(matrices, Tracer):
        return Transfer(transfer_of_kraus(matrices), True)
    return Transfer(_of_known_kraus(matrices.tobytes(), matrices.shape), False)


def as_operand(matrix: Any) -> Any:
    """A transfer matrix for an equation: equal known ones are one constant of a program."""
    if isinstance(matrix, Tracer):
        return matrix
    matrix = np.ascontiguousarray(matrix, np.float64)
    return _constant(matrix.tobytes(), len(matrix), jax.dtypes.canonicalize_dtype(np.float64))


@lru_cache(maxsize=1024)
def _constant(data: bytes, size: int, settings: Any) -> Any:
    """`settings`: what JAX makes of such numbers now."""
    return as_constant(np.frombuffer(data, np.float64).reshape(size, size))


def _of_parameters(channel: Any, parameters: Sequence[Any]) -> Any:
    rule: Callable[..., Any]
    key: Any = type(channel)
    rule = _pauli_error if key is qml.PauliError else _RULES[key]
    more = (channel.hyperparameters["operators"],) if key is qml.PauliError else ()
    if any(isinstance(value, Tracer) for value in parameters):
        return rule(*parameters, *more)
    return _known(rule, tuple(map(float, parameters)), tuple(map("".join, more)))


@lru_cache(maxsize=1024)
def _known(rule: Callable[..., Any], parameters: tuple[float, ...], more: tuple[str, ...]) -> Any:
    return rule(*map(np.float64, parameters), *more)


# --- written out ---------------------------------------------------------------------------------


def _affine(x: Any, y: Any, z: Any, shift: Any = 0.0) -> Any:
    """On one wire: X, Y and Z are multiplied by these, and Z gets a share of the identity."""
    elements = [1.0, 0.0, 0.0, 0.0, 0.0, x, 0.0, 0.0, 0.0, 0.0, y, 0.0, shift, 0.0, 0.0, z]
    if not any(isinstance(value, Tracer) for value in elements):
        return np.array(elements, np.float64).reshape(4, 4)
    return jnp.stack([jnp.asarray(value, jnp.float64) for value in elements]).reshape(4, 4)


def _root(value: Any) -> Any:
    """The square root of one minus a strength."""
    return _traced_root(value) if isinstance(value, Tracer) else np.sqrt(1 - value)


@jax.custom_jvp
def _traced_root(value: Any) -> Any:
    return jnp.sqrt(1 - value)


@_traced_root.defjvp
def _(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    """At strength 1 the derivative is infinite, and what does not depend on it would get NaN.

    So the slope there is that beside it, at 1 - eps, as of PennyLane's Kraus matrices.
    """
    (value,), (change,) = primals, tangents
    kept = 1 - value
    beside = jnp.where(kept == 0, kept + np.finfo(np.float64).eps, kept)
    return _traced_root(value), -change / (2 * jnp.sqrt(beside))


def _amplitude_damping(gamma: Any) -> Any:
    root = _root(gamma)
    return _affine(root, root, 1 - gamma, gamma)


def _generalized_amplitude_damping(gamma: Any, p: Any) -> Any:
    root = _root(gamma)
    return _affine(root, root, 1 - gamma, gamma * (1 - 2 * p))


def _phase_damping(gamma: Any) -> Any:
    root = _root(gamma)
    return _affine(root, root, 1.0)


def _depolarizing(p: Any) -> Any:
    kept = 1 - 4 * p / 3
    return _affine(kept, kept, kept)


def _reset_error(p0: Any, p1: Any) -> Any:
    kept = 1 - p0 - p1
    return _affine(kept, kept, kept, p0 - p1)


def _thermal_relaxation(pe: Any, t1: Any, t2: Any, tg: Any) -> Any:
    """Both of the formulas that Kraus matrices need, for t2 below and above t1, are this one."""
    exp = jnp.exp if any(isinstance(v, Tracer) for v in (t1, t2, tg)) else np.exp
    relaxed, dephased = exp(-tg / t1), exp(-tg / t2)
    return _affine(dephased, dephased, relaxed, (1 - 2 * pe) * (1 - relaxed))


def _pauli_error(p: Any, word: Sequence[str]) -> Any:
    """Words that anticommute with this one change their sign with probability p."""
    flips = np.zeros(1, bool)
    for letter in word:
        flips = (flips[:, None] ^ _ANTICOMMUTE[letter]).reshape(-1)
    if isinstance(p, Tracer):
        return jnp.diag(1 - 2 * p * flips)
    return np.diag(1 - 2 * p * flips)


_ANTICOMMUTE = {
    "I": np.array([0, 0, 0, 0], bool), "X": np.array([0, 0, 1, 1], bool),
    "Y": np.array([0, 1, 0, 1], bool), "Z": np.array([0, 1, 1, 0], bool),
}  # fmt: skip

_RULES: dict[type, Callable[..., Any]] = {
    qml.AmplitudeDamping: _amplitude_damping,
    qml.GeneralizedAmplitudeDamping: _generalized_amplitude_damping,
    qml.PhaseDamping: _phase_damping,
    qml.DepolarizingChannel: _depolarizing,
    qml.BitFlip: lambda p: _affine(1.0, 1 - 2 * p, 1 - 2 * p),
    qml.PhaseFlip: lambda p: _affine(1 - 2 * p, 1 - 2 * p, 1.0),
    qml.ResetError: _reset_error,
    qml.ThermalRelaxationError: _thermal_relaxation,
}


# --- of Kraus matrices ---------------------------------------------------------------------------


def transfer_of_kraus(matrices: Any) -> Any:
    """Of Kraus matrices `[number, size, size]`, numpy's or traced."""
    size = int(matrices.shape[-1])
    basis = pauli_words(size.bit_length() - 1).reshape(-1, size, size)
    library = jnp if isinstance(matrices, Tracer) else np
    kraus = matrices.reshape(-1, size, size)
    # sum_k Tr(P_i K P_j K*) / size, by two products of matrices
    moved = library.einsum("kab,kcd->acbd", kraus, kraus.conj()).reshape(size**2, size**2)
    rows = basis.transpose(0, 2, 1).reshape(size**2, size**2)
    columns = basis.reshape(size**2, size**2).T
    return library.real(rows @ moved @ columns) / size


@lru_cache(maxsize=256)
def _of_known_kraus(data: bytes, shape: tuple[int, ...]) -> np.ndarray:
    return transfer_of_kraus(np.frombuffer(data, np.complex128).reshape(shape))


@cache
def pauli_words(wires: int) -> np.ndarray:
    """The matrices of all Pauli words, `[4^wires, 2^wires, 2^wires]`."""
    single = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])
    words = np.ones((1, 1, 1), complex)
    for _ in range(wires):
        size = 2 * words.shape[-1]
        words = np.einsum("pab,qcd->pqacbd", words, single).reshape(-1, size, size)
    return words
