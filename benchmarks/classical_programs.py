"""Thirty-odd classical programs, as users write them: what `jax.jit` is compared with.

`PROGRAMS` maps a name to a function and its arguments (numpy arrays and Python numbers); whoever
measures compiles the function and calls it with the arguments as `jax.Array`s. The functions take
all that is large as arguments, so that nothing is computed while compiling, and they set nothing
globally but `jax_enable_x64`, which must be on before this module is imported.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np


class Classical(NamedTuple):
    """A program and the arguments that it is measured with."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()


_numbers = np.random.default_rng(0)
MILLION = _numbers.normal(size=10**6)
SINGLE = MILLION.astype(np.float32)
SQUARE = _numbers.normal(size=(1000, 1000))
CUBE = _numbers.normal(size=(100, 100, 100))
MATRIX = _numbers.normal(size=(512, 512))
WEIGHTS = _numbers.normal(size=(64, 64)) / 8
POINTS = _numbers.normal(size=(500, 3))
IMAGES = _numbers.normal(size=(8, 3, 32, 32))
KERNELS = _numbers.normal(size=(16, 3, 3, 3))
BATCH = _numbers.normal(size=(256, 784))
LAYERS = tuple(_numbers.normal(size=shape) / 16 for shape in ((784, 256), (256, 128), (128, 10)))
BINS = _numbers.integers(0, 1000, 10**6)
LABELS = _numbers.integers(0, 100, 20_000)
NODES = np.sort(_numbers.normal(size=1000))


def layer_norm(x):
    """Normalise rows."""
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5)


def mlp(x, first, second, third):
    """Three layers of a network, and probabilities."""
    x = jax.nn.relu(x @ first)
    x = jnp.tanh(x @ second)
    return jax.nn.softmax(x @ third)


def mlp_gradient(x, *layers):
    """Derivatives of a loss of the network by its weights."""

    def loss(layers):
        return -jnp.log(mlp(x, *layers)[:, 0]).mean()

    return jax.grad(loss)(layers)


def scan_of_matmuls(weights):
    """Apply a small layer a thousand times."""

    def step(state, _):
        return jnp.tanh(state @ weights), None

    return jax.lax.scan(step, weights[:4], None, length=1000)[0]


def running_statistics(x):
    """Mean and variance so far, one element after another."""

    def step(state, value):
        count, mean, squares = state
        count += 1
        change = value - mean
        mean += change / count
        squares += change * (value - mean)
        return (count, mean, squares), mean

    return jax.lax.scan(step, (0.0, 0.0, 0.0), x)


def scalar_loop():
    """Count to 100,000 in a `while` loop."""

    def body(state):
        count, value = state
        return count + 1, value * 0.999 + 1

    return jax.lax.while_loop(lambda state: state[0] < 1e5, body, (0.0, 0.0))


def mandelbrot(real, imaginary):
    """Thirty iterations for every point."""
    c = real[None, :] + 1j * imaginary[:, None]

    def step(_, state):
        z, count = state
        z = jnp.where(abs(z) < 2, z * z + c, z)
        return z, count + (abs(z) < 2)

    return jax.lax.fori_loop(0, 30, step, (c * 0, jnp.zeros(c.shape, int)))[1]


def heat(u):
    """A hundred explicit steps of the heat equation."""

    def step(_, u):
        inside = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        return u.at[1:-1].set(inside)

    return jax.lax.fori_loop(0, 100, step, u)


def pairwise_distances(points):
    """Euclidean distances of all pairs."""
    return jnp.sqrt(((points[:, None, :] - points[None, :, :]) ** 2).sum(-1))


PROGRAMS: dict[str, Classical] = {
    "elementwise": Classical(lambda x: x * x + 2 * x, (MILLION,)),
    "elementwise f32": Classical(lambda x: x * x + 2 * x, (SINGLE,)),
    "sin times exp": Classical(lambda x: jnp.sin(x) * jnp.exp(-x), (MILLION,)),
    "sin times exp f32": Classical(lambda x: jnp.sin(x) * jnp.exp(-x), (SINGLE,)),
    "tanh and log": Classical(lambda x: jnp.tanh(x) + jnp.log(x * x), (MILLION,)),
    "power": Classical(lambda x: jnp.abs(x) ** 1.7, (MILLION,)),
    "polynomial": Classical(lambda x: jnp.polyval(jnp.arange(1.0, 9.0), x), (MILLION,)),
    "where": Classical(lambda x: jnp.where(x > 0, x, 0.1 * x), (MILLION,)),
    "sum": Classical(lambda x: x.sum(), (MILLION,)),
    "sum of squares": Classical(lambda x: (x * x).sum(), (MILLION,)),
    "sum axis 0": Classical(lambda s: s.sum(0), (SQUARE,)),
    "sum axis 1": Classical(lambda s: s.sum(1), (SQUARE,)),
    "sum each axis": Classical(lambda c: (c.sum(0), c.sum(1), c.sum(2)), (CUBE,)),
    "max axis 0": Classical(lambda s: s.max(0), (SQUARE,)),
    "argmax": Classical(lambda s: s.argmax(1), (SQUARE,)),
    "softmax": Classical(jax.nn.softmax, (SQUARE,)),
    "logsumexp": Classical(lambda s: jax.nn.logsumexp(s, axis=1), (SQUARE,)),
    "layer norm": Classical(layer_norm, (SQUARE,)),
    "transpose": Classical(lambda s: s.T + 1, (SQUARE,)),
    "transpose cube": Classical(lambda c: jnp.transpose(c, (2, 0, 1)) * 2, (CUBE,)),
    "cumsum": Classical(jnp.cumsum, (MILLION,)),
    "cumsum axis 0": Classical(lambda s: jnp.cumsum(s, 0), (SQUARE,)),
    "sort": Classical(lambda x: jnp.sort(x[:100_000]), (MILLION,)),
    "argsort": Classical(lambda x: jnp.argsort(x[:100_000]), (MILLION,)),
    "gather": Classical(lambda x, i: x[i], (MILLION, BINS)),
    "scatter-add": Classical(lambda x, i: jnp.zeros(1000).at[i].add(x), (MILLION, BINS)),
    "one-hot": Classical(lambda i: jax.nn.one_hot(i, 100), (LABELS,)),
    "searchsorted": Classical(jnp.searchsorted, (NODES, MILLION[:100_000])),
    "histogram": Classical(lambda x: jnp.histogram(x[:100_000], 100)[0], (MILLION,)),
    "random normal": Classical(lambda: jax.random.normal(jax.random.key(0), (10**6,))),
    "random uniform": Classical(lambda: jax.random.uniform(jax.random.key(0), (10**6,))),
    "pairwise distances": Classical(pairwise_distances, (POINTS,)),
    "mandelbrot": Classical(mandelbrot, (np.linspace(-2, 1, 200), np.linspace(-1, 1, 200))),
    "heat equation": Classical(heat, (MILLION[:100_000],)),
    "running statistics": Classical(running_statistics, (MILLION[:100_000],)),
    "scalar while loop": Classical(scalar_loop),
    "matmul and sin": Classical(lambda m: jnp.sin(m @ m), (MATRIX,)),
    "MLP forward": Classical(mlp, (BATCH, *LAYERS)),
    "MLP gradient": Classical(mlp_gradient, (BATCH, *LAYERS)),
    "scan of matmuls": Classical(scan_of_matmuls, (WEIGHTS,)),
    "convolution": Classical(
        lambda images, kernels: jax.lax.conv(images, kernels, (1, 1), "SAME"), (IMAGES, KERNELS)
    ),
    "LU": Classical(lambda m: jax.scipy.linalg.lu(m)[2], (MATRIX,)),
}
"""Name -> program. Contractions, convolutions and LAPACK come last."""
