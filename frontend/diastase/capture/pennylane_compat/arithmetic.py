"""Arithmetic of observables with traced numbers, where PennyLane's own takes known ones only.

`x * H`, `H + G`, `H - G` of Hamiltonians with traced coefficients, `x * SparseHamiltonian`,
`observable + x`, and Hamiltonians with known and traced coefficients. Each patch asks first whether
a number is traced; all else is PennyLane's.

While a circuit is recorded, the operands leave it, as those of other sums and products do;
PennyLane forgets a Hamiltonian that is multiplied by a number, or to which something is added.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import pennylane as qml
from jax.core import Tracer
from pennylane import ops

from diastase.capture.pennylane_compat.private import patch_while_tracing
from diastase.capture.regions import current_scope

Method = Callable[[Any, Any], Any]


def _by(rule: Method, original: Method, self: Any, other: Any) -> Any:
    """An operator of Python's on observables by a rule of ours, where that applies."""
    result = rule(self, other)
    if result is NotImplemented:
        result = original(self, other)
    if result is not NotImplemented and current_scope() is not None:
        for operand in (self, other):
            if isinstance(operand, qml.operation.Operator) and operand is not result:
                qml.QueuingManager.remove(operand)
    return result


def _with_mixed_coefficients(
    original: Callable[..., None], self: Any, coeffs: Any, *args: Any, **kwargs: Any
) -> None:
    is_list = isinstance(coeffs, list | tuple)
    if is_list and any(isinstance(coefficient, Tracer) for coefficient in coeffs):
        coeffs = jnp.stack([jnp.asarray(coefficient) for coefficient in coeffs])
    original(self, coeffs, *args, **kwargs)


def _with_nested_lists(original: Callable[..., None], self: Any, *args: Any, **kwargs: Any) -> None:
    """`Hermitian([[x, 1.0], [1.0, 0.0]], wires)`."""
    given = [_as_array(argument) for argument in args]
    original(self, *given, **{name: _as_array(value) for name, value in kwargs.items()})


def _adding_to_no_zeros(original: Callable[[Any], Any], self: Any) -> Any:
    """Coefficients of Pauli words in a sum are as they are, not equations that add them to 0.0.

    PennyLane finds them for each sum that there is, and a sum of k terms that is written with `+`
    is k sums: of all their terms, k * k / 2 equations.
    """
    sentences = [operand.pauli_rep for operand in self.operands]
    if not all(sentences):
        return original(self)
    words = qml.pauli.PauliSentence()
    for sentence in sentences:
        for word, coefficient in sentence.items():
            is_first = word not in words and _is_traced_float(coefficient)
            words[word] = coefficient if is_first else words[word] + coefficient
    return words


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


for _point, _rule in {
    "scaled_combination": _scaled_combination,
    "sum_of_combinations": _sum,
    "product_of_combinations": _product,
    "scaled_matrix": _scaled,
    "shifted": _shifted,
}.items():
    patch_while_tracing(_point, partial(_by, _rule))
patch_while_tracing("combination", _with_mixed_coefficients)
patch_while_tracing("hermitian", _with_nested_lists)
patch_while_tracing("words_of_sums", _adding_to_no_zeros)
