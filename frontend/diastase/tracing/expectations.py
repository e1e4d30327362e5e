"""Expectation values and variances of an observable's measured form, on a register."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from diastase.primitives import measurement, vectors
from diastase.primitives.measurement import PauliWord
from diastase.tracing.factors import Matrix, applied_sum
from diastase.tracing.measured_forms import Mixed, measured_form
from diastase.tracing.pauli_words import PauliSum
from diastase.tracing.scratch import Scratch
from diastase.tracing.wires import WireMap, split_positions
from diastase_mlir.jax_internals import as_constant


def expectation(observable: Any, wires: WireMap, register: Any) -> jax.Array:
    """Return <O>."""
    form = measured_form(observable, wires)
    if not isinstance(form, Mixed):
        pauli, matrix = measurement.expval_pauli_p, measurement.expval_matrix_p
        return _statistic(form, register, pauli, matrix)
    total: Any = 0.0
    if form.words.words:
        total = _words_statistic(form.words, register, measurement.expval_pauli_p)
    for term in form.terms:
        product = term.applied(wires, register)
        overlap = vectors.inner_product_p.bind(register, product.register)
        product.release()
        total = total + jnp.real(term.scale * overlap)
    return total


def variance(observable: Any, wires: WireMap, register: Any) -> jax.Array:
    """Return <O O> - <O>^2."""
    form = measured_form(observable, wires)
    if not isinstance(form, Mixed):
        pauli, matrix = measurement.var_pauli_p, measurement.var_matrix_p
        return _statistic(form, register, pauli, matrix)
    product = _applied(form, wires, register)
    mean = jnp.real(vectors.inner_product_p.bind(register, product.register))
    square = jnp.real(vectors.inner_product_p.bind(product.register, product.register))
    product.release()
    return square - mean * mean


def _applied(form: Mixed, wires: WireMap, register: Any) -> Scratch:
    """The observable times the register."""
    result = applied_sum(form.terms, wires, register)
    if form.words.words:
        words, operands = word_parameters(form.words)
        coefficients = form.words.coefficients
        result.advance(vectors.add_pauli_sum_p, register, coefficients, *operands, words=words)
    return result


def _statistic(form: PauliSum | Matrix, register: Any, pauli: Any, matrix: Any) -> jax.Array:
    if isinstance(form, PauliSum):
        return _words_statistic(form, register, pauli)
    known, operands = split_positions(form.wires)
    return matrix.bind(register, form.matrix, *operands, wires=known)


def _words_statistic(words: PauliSum, register: Any, primitive: Any) -> jax.Array:
    parameters, operands = word_parameters(words)
    coefficients = words.coefficients
    if isinstance(coefficients, np.ndarray):
        settings = jax.dtypes.canonicalize_dtype(np.float64)
        coefficients = _constant(coefficients.tobytes(), settings)
    return primitive.bind(register, coefficients, *operands, words=parameters)


@lru_cache(maxsize=256)
def _constant(numbers: bytes, settings: Any) -> Any:
    """Known coefficients: equal ones are one object, and so one constant of a program.

    `settings`: what JAX makes of such numbers now.
    """
    return as_constant(np.frombuffer(numbers, dtype=np.float64))


def word_parameters(words: PauliSum) -> tuple[tuple[PauliWord, ...], Sequence[Any]]:
    """Words as primitives take them, and their traced wires."""
    wires = [wire for word in words.words for _, wire in word]
    known, operands = split_positions(wires)
    remaining = iter(known)
    parameters = tuple(
        tuple((letter, next(remaining)) for letter, _ in word) for word in words.words
    )
    return parameters, operands
