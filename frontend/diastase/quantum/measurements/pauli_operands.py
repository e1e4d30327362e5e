"""Sums of Pauli words as primitives take them: words, coefficients, and wires that are traced."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from diastase.primitives import measurement as primitives
from diastase.quantum.observables.terms import PauliSum
from diastase.quantum.wires import split_positions
from diastase_mlir.jax_compat import as_constant


def bind_words(primitive: Any, register: Any, words: PauliSum) -> jax.Array:
    """Bind a primitive that takes a sum of Pauli words."""
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


def word_parameters(words: PauliSum) -> tuple[tuple[primitives.PauliWord, ...], Sequence[Any]]:
    """Words as primitives take them, and their traced wires."""
    wires = [wire for word in words.words for _, wire in word]
    known, operands = split_positions(wires)
    remaining = iter(known)
    parameters = tuple(
        tuple((letter, next(remaining)) for letter, _ in word) for word in words.words
    )
    return parameters, operands
