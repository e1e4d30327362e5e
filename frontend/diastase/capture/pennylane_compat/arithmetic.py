"""Arithmetic of observables with traced numbers, where PennyLane's own takes known ones only.

`x * H`, `H + G`, `H - G` of Hamiltonians with traced coefficients, `x * SparseHamiltonian`,
`observable + x`, and Hamiltonians with known and traced coefficients. Each patch asks first whether
a number is traced; all else is PennyLane's.

While a circuit is recorded, the operands leave it, as those of other sums and products do;
PennyLane forgets a Hamiltonian that is multiplied by a number, or to which something is added.
"""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import jax
import jax.numpy as jnp
import pennylane as qml
from jax.core import Tracer
from pennylane import ops

from diastase.capture.pennylane_compat.private import PENNYLANE
from diastase.capture.regions import current_scope

Method = Callable[[Any, Any], Any]
Initialise = Callable[..., None]
IsTracing = Callable[[], bool]


def take_traced_numbers(is_tracing: IsTracing) -> None:
    """Apply the patches; called once."""
    rules = {
        "scaled_combination": _scaled_combination,
        "sum_of_combinations": _sum,
        "product_of_combinations": _product,
        "scaled_matrix": _scaled,
        "shifted": _shifted,
    }
    for point, rule in rules.items():
        PENNYLANE.patch(point, partial(_ruled, rule, is_tracing))
    PENNYLANE.patch("combination", partial(_with_mixed_coefficients, is_tracing))
    PENNYLANE.patch("hermitian", partial(_with_nested_lists, is_tracing))
    PENNYLANE.patch("words_of_sums", partial(_adding_to_no_zeros, is_tracing))


def _ruled(rule: Method, is_tracing: IsTracing, original: Method) -> Method:
    @wraps(original)
    def method(self: Any, other: Any) -> Any:
        if not is_tracing():
            return original(self, other)
        result = rule(self, other)
        if result is NotImplemented:
            result = original(self, other)
        if result is not NotImplemented and current_scope() is not None:
            for operand in (self, other):
                if isinstance(operand, qml.operation.Operator) and operand is not result:
                    qml.QueuingManager.remove(operand)
        return result

    return method


def _with_mixed_coefficients(is_tracing: IsTracing, original: Initialise) -> Initialise:
    @wraps(original)
    def initialise(self: Any, coeffs: Any, *args: Any, **kwargs: Any) -> None:
        is_list = is_tracing() and isinstance(coeffs, list | tuple)
        if is_list and any(isinstance(coefficient, Tracer) for coefficient in coeffs):
            coeffs = jnp.stack([jnp.asarray(coefficient) for coefficient in coeffs])
        original(self, coeffs, *args, **kwargs)

    return initialise


def _with_nested_lists(is_tracing: IsTracing, original: Initialise) -> Initialise:
    """`Hermitian([[x, 1.0], [1.0, 0.0]], wires)`."""

    @wraps(original)
    def initialise(self: Any, *args: Any, **kwargs: Any) -> None:
        if not is_tracing():
            return original(self, *args, **kwargs)
        given = [_as_array(argument) for argument in args]
        return original(self, *given, **{name: _as_array(value) for name, value in kwargs.items()})

    return initialise


def _adding_to_no_zeros(is_tracing: IsTracing, original: Callable[[Any], Any]) -> Any:
    """Coefficients of Pauli words in a sum are as they are, not equations that add them to 0.0.

    PennyLane finds them for each sum that there is, and a sum of k terms that is written with `+`
    is k sums: of all their terms, k * k / 2 equations.
    """

    @wraps(original)
    def build(self: Any) -> Any:
        sentences = [operand.pauli_rep for operand in self.operands]
        if not is_tracing() or not all(sentences):
            return original(self)
        words = qml.pauli.PauliSentence()
        for sentence in sentences:
            for word, coefficient in sentence.items():
                is_first = word not in words and _is_traced_float(coefficient)
                words[word] = coefficient if is_first else words[word] + coefficient
        return words

    return build


def _as_array(value: Any) -> Any:
    """A nested list with traced numbers as an array; anything else as it is."""
    if not isinstance(value, list | tuple) or not any(isinstance(row, list) for row in value):
        return value
    traced = any(isinstance(entry, Tracer) for entry in jax.tree.leaves(value))
    return jnp.array(value) if traced else value


def _scaled_combination(hamiltonian: Any, number: Any) -> Any:
    if not _is_traced(number):
        return NotImplemented
    coefficients = jnp.stack([jnp.asarray(coefficient) for coefficient in hamiltonian.coeffs])
    return ops.LinearCombination(number * coefficients, hamiltonian.ops)


def _sum(hamiltonian: Any, other: Any) -> Any:
    both = [each for each in (hamiltonian, other) if isinstance(each, ops.LinearCombination)]
    if not isinstance(other, qml.operation.Operator) or not any(map(_has_traced, both)):
        return NotImplemented
    return qml.sum(hamiltonian, other)


def _product(hamiltonian: Any, other: Any) -> Any:
    """Also of Hamiltonians that share wires, which PennyLane does not multiply out."""
    if not isinstance(other, ops.LinearCombination):
        return NotImplemented
    if not _has_traced(hamiltonian) and not _has_traced(other):
        return NotImplemented
    return qml.prod(hamiltonian, other)


def _scaled(observable: Any, number: Any) -> Any:
    return qml.s_prod(number, observable) if _is_traced(number) else NotImplemented


def _shifted(observable: Any, number: Any) -> Any:
    if not _is_traced(number):
        return NotImplemented
    identity = qml.Identity(observable.wires)
    return qml.sum(observable, qml.s_prod(number, identity))


def _has_traced(hamiltonian: Any) -> bool:
    coefficients = hamiltonian.coeffs
    if isinstance(coefficients, Tracer):
        return True
    return any(isinstance(coefficient, Tracer) for coefficient in coefficients)


def _is_traced(number: Any) -> bool:
    return isinstance(number, Tracer) and number.ndim == 0


def _is_traced_float(number: Any) -> bool:
    return isinstance(number, Tracer) and number.dtype.kind in "fc"
