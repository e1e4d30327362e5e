"""The matrix of a sum of terms on a few wires, where only a matrix will do."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from diastase.quantum.observables.observable_factors import Sum, Term, is_same_wire, is_traced
from diastase.quantum.wires.wires import Position


def dense(terms: Sequence[Term], wires: Sequence[Position]) -> Any:
    """The matrix of a sum of terms on these wires, which are all of theirs."""
    size = 2 ** len(wires)
    total = np.zeros((size, size), complex)
    for term in terms:
        product = np.eye(size, dtype=complex)
        for factor in reversed(term.factors):
            inner = dense(factor.terms, factor.wires) if isinstance(factor, Sum) else factor.matrix
            product = _multiplied(inner, [_index(wire, wires) for wire in factor.wires], product)
        total = total + term.scale * product
    return total


def _multiplied(matrix: Any, targets: Sequence[int], product: Any) -> Any:
    """A matrix on some wires times a matrix on all."""
    number, count = int(product.shape[0]).bit_length() - 1, len(targets)
    library: Any = jnp if is_traced(matrix) or is_traced(product) else np
    tensor = library.reshape(product, (2,) * number + (-1,))
    inner = library.reshape(matrix, (2,) * (2 * count))
    result = library.tensordot(inner, tensor, (tuple(range(count, 2 * count)), tuple(targets)))
    result = library.moveaxis(result, tuple(range(count)), tuple(targets))
    return library.reshape(result, product.shape)


def _index(wire: Position, wires: Sequence[Position]) -> int:
    return next(index for index, other in enumerate(wires) if is_same_wire(wire, other))
