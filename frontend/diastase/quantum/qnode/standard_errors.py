"""Standard errors of averages over trajectories, and of what is computed of several averages.

A run of weight w counts for some trajectories. While they run, sums of w^2, w^2 y and w^2 y y^T are
kept for each result, y being what it is an average of; only of a result that is itself the average,
the diagonal of y y^T. In the end those give the covariance of the averages, and of a variance or a
purity, f(averages), its derivative times that (error propagation to first order).

The traps: such a result is biased by the square of its error, which the error does not contain; and
where the derivative vanishes (a purity of 1/2 on one wire) the error of first order is 0.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from diastase.capture.quantum_errors import UnsupportedMeasurementError
from diastase.quantum.measurements.measurements import process_name
from diastase.quantum.operators.circuit_scope import CircuitScope
from diastase.quantum.qnode.statistics import Averaged
from diastase.quantum.settings.qnode_settings import QNodeSettings

_LARGEST = 128
"""Real numbers that a result is computed of, if it is no average itself."""


class StandardErrors:
    """The standard errors of one QNode's results, if they are asked for."""

    def __init__(self, settings: QNodeSettings) -> None:
        self.asked = settings.standard_errors
        self._leaves: Sequence[Averaged | None] = ()
        self._kept: list[Any] | None = None
        self._scale: Any = None

    def begin(
        self, returned: Sequence[Any], leaves: Sequence[Averaged | None], scope: CircuitScope
    ) -> None:
        """Note what results are made of; refuse those that have no standard errors."""
        self._leaves = leaves
        if not self.asked:
            return
        for leaf, averaged in zip(returned, leaves, strict=True):
            if averaged is not None:
                with scope.as_from(leaf):
                    _check("a snapshot" if leaf is averaged else process_name(leaf), averaged)

    # --- while trajectories run ---------------------------------------------------------------

    def zeros(self, avals: Sequence[Any]) -> list[Any]:
        """Sums to begin with, of averages of these types."""
        if not self.asked:
            return []
        parts = self._parts([jnp.zeros(aval.shape, aval.dtype) for aval in avals])
        return [jnp.zeros(()), *(each for part in parts for each in _own(*part, 0.0))]

    def added(
        self, sums: Sequence[Any], found: Sequence[Any], weight: Any, members: Any
    ) -> list[Any]:
        """The sums with a run's own, which counts for so many trajectories."""
        if not self.asked:
            return []
        square = weight**2 / jnp.maximum(members, 1)  # the weight is that of all members
        own = [square, *(each for part in self._parts(found) for each in _own(*part, square))]
        return [old + new for old, new in zip(sums, own, strict=True)]

    def note(self, sums: Sequence[Any], weight: Any, number: int) -> None:
        """Keep the sums of all chunks; of numbers equally likely, with n - 1 in the place of n."""
        if self.asked:
            self._kept = [jnp.sum(each, axis=0) for each in sums]
            self._scale = number / jnp.float64(number - 1) / weight**2

    # --- afterwards ---------------------------------------------------------------------------

    def of(self, averages: Sequence[Any], results: Sequence[Any]) -> list[Any]:
        """The standard error of each result; 0 where nothing was drawn."""
        if self._kept is None:
            return [jnp.zeros(jnp.shape(result)) for result in results]
        square, *sums = self._kept
        pairs = zip(sums[::2], sums[1::2], strict=True)
        spreads = iter(
            _spread(*part, square, *pair)
            for part, pair in zip(self._parts(averages), pairs, strict=True)
        )
        return [
            jnp.zeros(jnp.shape(result))
            if leaf is None
            else jnp.sqrt(jnp.maximum(next(spreads), 0) * self._scale)
            for leaf, result in zip(self._leaves, results, strict=True)
        ]

    def _parts(self, averages: Sequence[Any]) -> list[tuple[Averaged, list[Any]]]:
        """The averages that each result is made of."""
        rest = iter(averages)
        leaves = [leaf for leaf in self._leaves if leaf is not None]
        return [(leaf, [next(rest) for _ in leaf.moments]) for leaf in leaves]


def _own(leaf: Averaged, part: Sequence[Any], square: Any) -> list[Any]:
    """What a run adds to the sums of a result."""
    if leaf.form == "average":
        (value,) = part
        return [square * value, square * jnp.abs(value) ** 2]
    flat, _ = _flat(part)
    return [square * flat, square * jnp.outer(flat, flat)]


def _spread(leaf: Averaged, means: Sequence[Any], square: Any, first: Any, second: Any) -> Any:
    """The sum of w^2 |x - mean|^2 over the runs, for the x that a result is the average of."""
    if leaf.form == "average":
        (mean,) = means
        both = jnp.real(jnp.conj(mean) * first)
        return second - 2 * both + jnp.abs(mean) ** 2 * square
    flat, restored = _flat(means)
    mixed = jnp.outer(flat, first)
    covariance = second - mixed - mixed.T + jnp.outer(flat, flat) * square
    slope = jax.grad(lambda values: leaf.result(restored(values)).astype(jnp.float64))(flat)
    return slope @ covariance @ slope


def _flat(values: Sequence[Any]) -> tuple[Any, Callable[[Any], list[Any]]]:
    """Values as one vector of real numbers, and how it becomes such values again."""
    pairs = [jnp.stack([jnp.real(value), jnp.imag(value)]) for value in values]
    sizes = [2 * jnp.size(value) for value in values]

    def restored(vector: Any) -> list[Any]:
        parts = jnp.split(vector, np.cumsum(sizes)[:-1])
        return [_complex_or_real(value, part) for value, part in zip(values, parts, strict=True)]

    return jnp.concatenate([jnp.ravel(pair) for pair in pairs]), restored


def _complex_or_real(like: Any, part: Any) -> Any:
    real, imaginary = part.reshape((2, *jnp.shape(like)))
    return real + 1j * imaginary if jnp.iscomplexobj(like) else real


def _check(process: str, leaf: Averaged) -> None:
    if leaf.form == "average":
        return
    hint = "take fewer wires, or return density_matrix and its standard errors"
    numbers = sum(2 * jnp.size(one) for one in leaf.moments)
    reason = f"is computed of {numbers} averages, too many for its standard error"
    if leaf.form == "spectral":
        reason = "has no standard error: averages, variances and purities have one"
        hint = "leave it out, or return density_matrix and its standard errors"
    if leaf.form == "spectral" or numbers > _LARGEST:
        raise UnsupportedMeasurementError(measurement=process, reason=reason, hint=hint)
