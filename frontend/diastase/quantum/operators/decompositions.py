"""An operator as a product of others: what replaces it where the engine has no gate for it.

`decomposition_of` tries, in this order: rules of ours, for operators whose PennyLane decomposition
looks at values that may be traced; PennyLane's `decomposition()`; the rules that PennyLane keeps
for its graph (`qml.list_decomps`), which users add to by `qml.add_decomps`. None where there is
none of them, or where all look at traced values (`failure` is the first time that one did).

Everything here is built without being recorded; the caller records the factors, first one first.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
from jax.core import Tracer
from pennylane import ops
from pennylane.exceptions import OperatorPropertyUndefined
from pennylane.queuing import AnnotatedQueue, QueuingManager

from diastase.primitives.checks import require
from diastase.primitives.matrix_functions import power_of_unitary, root_of_positive

Factors = Sequence[Any]

DATA_DEPENDENT = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)
"""How a Python function fails that looks at a traced value."""


@dataclass(frozen=True)
class Decomposition:
    """What is known about an operator's factors."""

    factors: Factors | None
    failure: Exception | None = None
    """Why there are none: PennyLane looked at a traced value."""


Run = Callable[[Callable[[], Factors]], Factors]


def decomposition_of(operator: Any, run: Run | None = None) -> Decomposition:
    """The factors of an operator, first one first.

    `run` calls a user's `decomposition()`; what that records itself is not among the factors.
    """
    failure: Exception | None = None
    if run is not None and _is_decomposed_by_user(operator):
        try:
            return Decomposition(run(operator.decomposition))
        except DATA_DEPENDENT as error:
            return Decomposition(None, error)
    with QueuingManager.stop_recording():
        for attempt in (_by_ours, _by_pennylane, *_graph_rules(operator), _by_generator):
            try:
                factors = attempt(operator)
            except DATA_DEPENDENT as error:
                failure = failure or error
                continue
            if factors is not None:
                is_one = isinstance(factors, qml.operation.Operator)  # `Exp.pow` gives no list
                return Decomposition([factors] if is_one else factors)
    return Decomposition(None, failure)


def _is_decomposed_by_user(operator: Any) -> bool:
    """Whether an operator's class is a user's, and says how it decomposes."""
    return not type(operator).__module__.startswith("pennylane.") and operator.has_decomposition


def _by_ours(operator: Any) -> Factors | None:
    rules = (rule for kinds, rule in _RULES if isinstance(operator, kinds))
    return next((factors for rule in rules if (factors := rule(operator)) is not None), None)


def _by_pennylane(operator: Any) -> Factors | None:
    try:
        return operator.decomposition() if operator.has_decomposition else None
    except OperatorPropertyUndefined:
        return None


def _graph_rules(operator: Any) -> Iterator[Callable[[Any], Factors | None]]:
    """Each of the rules that PennyLane's graph has for an operator, as an attempt."""
    for rule in qml.list_decomps(type(operator)):

        def attempt(operator: Any, rule: Any = rule) -> Factors | None:
            if not rule.is_applicable(**operator.resource_params):
                return None
            with AnnotatedQueue() as queue:
                rule(*operator.parameters, wires=operator.wires, **operator.hyperparameters)
            return queue.queue

        yield attempt


def _by_generator(operator: Any) -> Factors | None:
    """exp(i x G), for an operator of which nothing but its generator G is known."""
    if operator.has_matrix or not operator.has_generator or len(operator.data) != 1:
        return None
    return [ops.Exp(operator.generator(), 1j * operator.data[0])]


# --- rules of ours -------------------------------------------------------------------------------


def _basis_rotation(operator: Any) -> Factors | None:
    """Givens rotations of a traced matrix; PennyLane's own divide by entries that may be zero.

    Rotations of adjacent columns turn the matrix, row by row from the last, into a diagonal one.
    Each of them, inverted, is a rotation and then a phase.
    """
    (matrix,) = operator.data
    if not isinstance(matrix, Tracer):
        return None
    rest, rotations = _signed(matrix.astype(jnp.complex128)), []
    for row in range(len(operator.wires) - 1, 0, -1):
        for column in range(row):
            left, right = rest[row, column], rest[row, column + 1]
            theta = jnp.arctan2(jnp.abs(left), jnp.abs(right))
            phi = jnp.angle(left) - jnp.angle(right)
            c, s, phase = jnp.cos(theta), jnp.sin(theta), jnp.exp(-1j * phi)
            rotation = jnp.array([[phase * c, phase * s], [-s, c]])
            pair = slice(column, column + 2)
            rest = rest.at[:, pair].set(rest[:, pair] @ rotation)
            rotations.append((theta, phi, column))
    wires = operator.wires
    phases: Any = jnp.angle(jnp.diagonal(rest))
    factors: list[Any] = [qml.PhaseShift(phases[k], wires=wire) for k, wire in enumerate(wires)]
    for theta, phi, column in reversed(rotations):
        factors.append(qml.SingleExcitation(2 * theta, wires=wires[column : column + 2]))
        factors.append(qml.PhaseShift(phi, wires=wires[column]))
    return factors


def _signed(matrix: jax.Array) -> jax.Array:
    """What to decompose so that a real matrix gives what PennyLane makes of it.

    PennyLane turns real matrices by angles of the other sign than complex ones (0.45), which is as
    if every other basis vector had changed its sign, and the first one by the determinant's.
    """
    signs = jnp.asarray((-1.0) ** np.arange(len(matrix)), jnp.complex128)
    signs = signs.at[0].set(jnp.sign(jnp.linalg.det(matrix).real))
    signs = jnp.where(jnp.all(jnp.abs(matrix.imag) < 1e-8), signs, 1.0)
    return signs[:, None] * matrix * signs


LARGEST_POWER = 5
"""Wires up to which a power is computed as one of a matrix."""


_CONTROLLED = (ops.Controlled, ops.ControlledOp, ops.ControlledQubitUnitary)


def _power(operator: Any) -> Factors | None:
    """Copies for a whole exponent; the principal power of a matrix, where a value is traced.

    Where PennyLane knows better, it is asked: `RX(x)**z` is `RX(x * z)`, for traced `z`, too.
    Where a control is off, nothing happens: to any power the same.
    """
    base, exponent = operator.base, _as_whole(operator.z)
    if type(base) in _CONTROLLED:
        power = ops.Pow(base.base, exponent)
        return [ops.Controlled(power, base.control_wires, base.control_values)]
    if not any(isinstance(value, Tracer) for value in (*base.data, exponent)):
        return None
    if isinstance(exponent, int) or not isinstance(base, qml.QubitUnitary):
        try:
            return base.pow(exponent)
        except (*DATA_DEPENDENT, OperatorPropertyUndefined):
            pass
    if isinstance(exponent, int):
        return [base if exponent > 0 else ops.Adjoint(base)] * abs(exponent)
    if not base.has_matrix or len(base.wires) > LARGEST_POWER:
        return None
    matrix = jnp.asarray(base.matrix(wire_order=base.wires), jnp.complex128)
    return [qml.QubitUnitary(power_of_unitary(matrix, exponent), wires=base.wires)]


def _as_whole(exponent: Any) -> Any:
    """A known exponent as an integer, if it is one."""
    is_whole = isinstance(exponent, int | float | np.number) and exponent == np.round(exponent)
    return int(np.real(exponent)) if is_whole else exponent


def _block_encoding(operator: Any) -> Factors | None:
    """The unitary of a traced matrix A; PennyLane's has no derivatives where singular values meet.

    Nor has it any where they are 1. There 1 - A A* has an eigenvalue of 0, whose root has only
    derivatives along matrices that leave it 0, as unitary ones do; A is taken to be one of these.
    """
    (matrix,) = operator.data
    rows, columns, size = operator.hyperparameters["subspace"]
    if not isinstance(matrix, Tracer) or rows == columns == 1:
        return None
    matrix = jnp.asarray(matrix, jnp.complex128)
    adjoint = matrix.conj().T

    def rest(product: Any) -> Any:
        number = len(product)
        return root_of_positive(jnp.eye(number) - product, zero=4 * number * np.finfo(float).eps)

    blocks = [[matrix, rest(matrix @ adjoint)], [rest(adjoint @ matrix), -adjoint]]
    encoding = jax.scipy.linalg.block_diag(jnp.block(blocks), jnp.eye(size - rows - columns))
    return [qml.QubitUnitary(encoding, wires=operator.wires)]


def _exponential(operator: Any) -> Factors | None:
    """The exponential of a multiple of one Pauli word, where it is traced or not imaginary.

    On few wires it is a matrix, cosh z + sinh z P, for any complex z; on more a rotation, for an
    imaginary one, which is checked when the program runs. That of `Evolution` is known to be.
    """
    words = getattr(operator.base, "pauli_rep", None)
    if words is None or len(words) != 1:
        return None
    ((word, weight),) = words.items()
    exponent, wires = operator.coeff * weight, list(word)
    is_rotation = not isinstance(exponent, Tracer) and np.real(exponent) == 0
    if is_rotation or not wires:
        return None
    exponent = jnp.asarray(exponent, jnp.complex128)
    if not isinstance(operator, ops.Evolution):
        if len(wires) <= LARGEST_POWER:
            matrix: Any = jnp.cosh(exponent) * np.eye(2 ** len(wires))
            matrix += jnp.sinh(exponent) * word.to_mat(wire_order=wires)
            return [qml.QubitUnitary(matrix, wires=wires)]
        require(exponent.real == 0, "Exp: the exponent of a Pauli word is not imaginary")
    angle: Any = -2 * exponent.imag
    return [qml.PauliRot(angle, "".join(word.values()), wires=wires)]


_RULES: tuple[tuple[Any, Callable[[Any], Factors | None]], ...] = (
    (qml.BasisRotation, _basis_rotation),
    (ops.Pow, _power),
    (ops.Exp, _exponential),
    (qml.BlockEncode, _block_encoding),
)
"""By class; a rule that has nothing to say gives None."""
