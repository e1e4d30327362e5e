"""What the operations of a region add to the surrogate's total, all at once: `g . parameters`.

Parameters are elements of a few vectors (`stretches`). Their derivatives g are put into the places
of these, so there are as many equations as there are vectors, not as there are operations.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from diastase_mlir.rerolling import Places, put_into_places


@dataclass(frozen=True)
class Taken:
    """A stretch that was executed, from a number of g on: one known now, or a traced one."""

    start: Any
    places: Places
    operands: Sequence[Any]

    @property
    def count(self) -> int:
        """How many numbers g has for it."""
        return len(self.places.operands)


def total_of(weights: Any, taken: Sequence[Taken]) -> Any:
    """What stretches add."""
    values, firsts, size = list[Any](), dict[int, int](), 0
    windows, targets, sources, count = list[Any](), list[np.ndarray](), list[np.ndarray](), 0
    for entry in taken:
        for operand in entry.operands:
            if id(operand) not in firsts:
                firsts[id(operand)] = size
                values.append(_real_numbers(operand))
                size += values[-1].size
        owners, elements = entry.places.operands, entry.places.elements
        starts = np.array([firsts[id(operand)] for operand in entry.operands], int)
        known = np.flatnonzero(owners >= 0)
        targets.append(starts[owners[known]] + elements[known])
        sources.append(count + known)
        windows.append(_window(weights, entry))
        count += entry.count
    if not values:
        return np.float64(0)
    pieces = [(np.concatenate(targets), np.concatenate(sources))]
    shares = put_into_places(size, pieces, lax.concatenate(windows, 0))
    return lax.reduce_sum(lax.mul(shares, lax.concatenate(values, 0)), (0,))


def _window(weights: Any, entry: Taken) -> Any:
    """The numbers of g for a stretch."""
    if isinstance(entry.start, int):
        return lax.slice(weights, (entry.start,), (entry.start + entry.count,))
    start = [jnp.asarray(entry.start, jnp.int64)]
    return lax.dynamic_slice(weights, start, (entry.count,), allow_negative_indices=False)


def _real_numbers(value: Any) -> Any:
    """Parameters; of a complex array the real and the imaginary part of each element."""
    value = jnp.asarray(value)
    if jnp.iscomplexobj(value):
        value = jnp.stack([jnp.real(value), jnp.imag(value)], axis=-1)
    return jnp.ravel(value).astype(jnp.float64)
