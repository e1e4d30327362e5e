"""What a program of the list is: a `Row`, and what makes one from a function as a user writes it.

A row is a function, its arguments, and a cell: a size, a dtype, a direction and a setting.

- size: `small` (up to some 1,000 elements: it stays in the first-level cache, and calls count),
  `cache` (some 10,000 to 200,000), `large` (some 1,000,000; matrices that are decomposed: 200 to
  1000 rows).
- dtype: `f32`, `f64`; of arrays of integers `i32`, `i64`.
- direction: `forward`; or `gradient`, of the mean of the cubes of all results by the first
  argument (of squares, the mean is constant where a function normalises).
- setting: `alone`; or `loop`, a `fori_loop` whose state is the first argument. Where results have
  its shape and dtype, it takes a step of Euler's method; otherwise what comes out moves it a
  little; gradients go downhill. Steps are so short that arguments keep their domain, and the
  function of each step depends on the one before.

A `whole` row has its loop or its gradient in its own function.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

SIZES = ("small", "cache", "large")
DTYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64}
DIRECTIONS = ("forward", "gradient")
SETTINGS = ("alone", "loop")
_TIMES = {"small": 1000, "cache": 50, "large": 5}


@dataclass(frozen=True)
class Row:
    family: str
    name: str
    size: str
    dtype: str
    direction: str
    setting: str
    function: Callable[..., Any]
    """As the user writes it."""
    makers: tuple
    """Of the arguments: a function of a generator and the row's dtype, or a value as it is."""
    times: int
    """Of the loop."""
    whole: bool = False
    by_dtype: bool = True
    """Whether float64 arguments give the same results, more precisely (of random ones, others)."""
    tolerance: float | None = None
    """Instead of the one of the dtype, where the problem is known to be ill-conditioned; of
    integers, the share that may differ, where rounding decides whether a draw is accepted."""

    @property
    def cell(self):
        return self.size, self.dtype, self.direction, self.setting

    @property
    def title(self):
        return f"{self.name} [{' '.join(self.cell)}]"

    @property
    def program(self):
        """What is compiled."""
        if self.whole:
            return self.function
        function = gradient(self.function) if self.direction == "gradient" else self.function
        if self.setting == "alone":
            return function
        return (downhill if self.direction == "gradient" else in_loop)(function, self.times)

    def arguments(self):
        """Arrays of numpy and Python numbers: the same ones each time."""
        generator = np.random.default_rng(zlib.crc32(f"{self.family} {self.name}".encode()))
        dtype = DTYPES[self.dtype]
        return tuple(m(generator, dtype) if callable(m) else m for m in self.makers)


def family(name, *rows):
    """The rows, given by `row`, as those of one family."""
    return tuple(Row(family=name, **given) for given in rows)


def row(cell, name, function, *makers, times=None, **more):
    size, dtype, direction, setting = cell.split()
    return {
        "name": name,
        "size": size,
        "dtype": dtype,
        "direction": direction,
        "setting": setting,
        "function": function,
        "makers": makers,
        "times": times or _TIMES[size],
    } | more


def gradient(function):
    """The derivative of the mean of the cubes of all results by the first argument."""

    def loss(x, *rest):
        return sum(map(_mean_cube, jax.tree.leaves(function(x, *rest))))

    return jax.grad(loss)


def in_loop(function, times):
    """Many steps, each of which changes the first argument by what the function gives."""

    def program(x, *rest):
        def step(_, x):
            found = function(x, *rest)
            if getattr(found, "shape", None) == x.shape and found.dtype == x.dtype:
                return x + 1e-5 * found
            means = (jnp.real(leaf).astype(x.dtype).mean() for leaf in jax.tree.leaves(found))
            return x + 1e-6 * sum(means)

        return jax.lax.fori_loop(0, times, step, x)

    return program


def downhill(derivative, times):
    """Many steps of gradient descent."""

    def program(x, *rest):
        return jax.lax.fori_loop(0, times, lambda _, x: x - 1e-3 * derivative(x, *rest), x)

    return program


def repeated(step, times):
    """A loop over a state alone: for `whole` rows."""

    def program(x, *rest):
        return jax.lax.fori_loop(0, times, lambda _, x: step(x, *rest), x)

    return program


def _mean_cube(y):
    if jnp.iscomplexobj(y):
        return ((y.real**2 + y.imag**2) * y.real).mean()
    return (y * y * y).mean() if jnp.issubdtype(y.dtype, jnp.inexact) else 0.0


def normal(*shape, scale=1.0):
    return lambda generator, dtype: (scale * generator.normal(size=shape)).astype(dtype)


def uniform(*shape, low=0.1, high=0.9):
    return lambda generator, dtype: generator.uniform(low, high, shape).astype(dtype)


def complexes(*shape):
    """Complex numbers, of the precision of the row."""

    def make(generator, dtype):
        parts = generator.normal(size=(2, *shape)).astype(dtype)
        return parts[0] + parts[1] * dtype(1) * (1j if dtype == np.float64 else np.complex64(1j))

    return make


def integers(*shape, high, low=0, dtype=None):
    """Integers of the row's dtype, or of another (of indices)."""
    return lambda generator, own: generator.integers(low, high, shape).astype(dtype or own)


def indices(*shape, high):
    return integers(*shape, high=high, dtype=np.int32)


def booleans(*shape):
    return lambda generator, dtype: generator.random(shape) < 0.01


def ascending(*shape):
    return lambda generator, dtype: np.sort(generator.normal(size=shape)).astype(dtype)


def spread(low, high, number):
    return lambda generator, dtype: np.linspace(low, high, number).astype(dtype)


def definite(n, *batch):
    """Symmetric positive definite matrices."""

    def make(generator, dtype):
        m = generator.normal(size=(*batch, n, n)) / np.sqrt(n)
        return (m @ np.swapaxes(m, -1, -2) + np.eye(n)).astype(dtype)

    return make


def regular(n, *batch):
    """Matrices that are far from singular."""

    def make(generator, dtype):
        return (np.eye(n) * 2 + generator.normal(size=(*batch, n, n)) / np.sqrt(n) / 2).astype(
            dtype
        )

    return make
