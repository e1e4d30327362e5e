"""Divided differences of `f(x) = x**z log(x)**p`, also of points that meet.

In: the logarithms of the points, sorted by imaginary or real part; out: `f[x_i, .., x_m]` for each
choice of k + 1 of them, an array of k + 1 axes. Where points are equal it is a derivative of f.

Zero is a point, too (`LOG_OF_ZERO`), though f has no derivative there. Differences of zeros alone
are 0: they are those of a function that is f at all other points, which is as good where an
eigenvalue of a positive matrix is 0 and stays it.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np

LOG_OF_ZERO = -690.0
"""No logarithm is less; what has this one is 0."""

_NEAR = 0.1
"""Logarithms, times the exponent, that are nearer have their differences from derivatives of f."""

_POINTS = 6
"""At which a derivative is averaged between such: exact to the rounding of a double."""


def divided_differences(power: int, exponent: Any, logarithms: Any, order: int) -> Any:
    """The divided differences of order k of `x**exponent log(x)**power`.

    The points of each choice are sorted, so that the first and the last are farthest apart; level
    by level, neighbours are subtracted where they are apart, else a derivative is averaged.
    """
    choices = np.indices((len(logarithms),) * (order + 1), np.int32)
    logs = logarithms[np.sort(choices, axis=0)]
    points, level = jnp.exp(logs), jnp.exp(exponent * logs) * logs**power
    for width in range(1, order + 1):
        first, last = points[:-width], points[width:]
        distance = jnp.abs(logs[width:] - logs[:-width])
        near = distance * jnp.maximum(1.0, jnp.abs(exponent)) < _NEAR
        apart = (level[1:] - level[:-1]) / jnp.where(near, 1.0, last - first)
        steps = jnp.stack([points[k : k + len(first)] for k in range(1, width + 1)]) / first - 1
        together = _averaged(power, exponent, logs[:-width], jnp.where(near, steps, 0.0))
        zeros = jnp.real(logs[width:]) <= LOG_OF_ZERO
        level = jnp.where(zeros, 0.0, jnp.where(near, together, apart))
    return level[0]


def _averaged(power: int, exponent: Any, log: Any, steps: Any) -> Any:
    """`f[c, c (1 + u_1), .., c (1 + u_k)]`: the k-th derivative, averaged between the points.

    It is x**(z - k) times a polynomial of the logarithm.
    """
    order = len(steps)
    nodes, weights = _between(order)
    logs = log + jnp.log(1 + jnp.tensordot(nodes, steps, 1))
    coefficients: list[Any] = [0.0] * power + [1.0]
    for step in range(order):
        raised = [(exponent - step) * coefficient for coefficient in coefficients]
        lowered = [*(k * coefficients[k] for k in range(1, power + 1)), 0.0]
        coefficients = [a + b for a, b in zip(raised, lowered, strict=True)]
    polynomial = sum(coefficient * logs**k for k, coefficient in enumerate(coefficients))
    return jnp.tensordot(weights, jnp.exp((exponent - order) * logs) * polynomial, 1)


def _between(order: int) -> tuple[np.ndarray, np.ndarray]:
    """Points t of the simplex t_1 + .. + t_k <= 1, shape (n, k), and weights: Gauss and Legendre's.

    Of a point of the unit cube, each coordinate takes its part of what the ones before have left.
    """
    line, weights = np.polynomial.legendre.leggauss(_POINTS)
    cube = np.stack(np.meshgrid(*[(line + 1) / 2] * order, indexing="ij"), -1).reshape(-1, order)
    total = np.stack(np.meshgrid(*[weights / 2] * order, indexing="ij"), -1).reshape(-1, order)
    left = np.cumprod(np.hstack([np.ones((len(cube), 1)), 1 - cube[:, :-1]]), axis=1)
    return cube * left, total.prod(axis=1) * left.prod(axis=1)
