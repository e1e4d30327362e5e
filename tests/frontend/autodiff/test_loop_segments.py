"""Long loops in reverse are taken in segments: what they keep is bounded, results are the same."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import for_loop, qjit, while_loop
from diastase.autodiff.control_flow import loop_vjp

X = jnp.array([0.7, 0.3, -0.4])


def loops(x, n, size):
    v = for_loop(n, 0, -1)(lambda i, v: jnp.sin(v * x[0]) + i * x[1])(x)
    w = while_loop(lambda i, v: i < n)(lambda i, v: (i + 1, jnp.cos(v * x[2]) * i))(0, v)[1]

    def outer(i, v):
        return for_loop(0, i, 1)(lambda j, v: v * jnp.sin(v * x[1]))(v) * x[0]

    ones = for_loop(0, n, 1)(lambda i, v: jnp.sin(v * x[0]) + i)(jnp.ones(size) * x[0])
    return jnp.sum(w * v + for_loop(0, n, 2)(outer)(v)) + jnp.sum(ones)


def python(x, n, size):
    v = x
    for i in range(n, 0, -1):
        v = jnp.sin(v * x[0]) + i * x[1]
    w = z = v
    for i in range(n):
        w = jnp.cos(w * x[2]) * i
    for i in range(0, n, 2):
        for _ in range(i):
            z = z * jnp.sin(z * x[1])
        z = z * x[0]
    ones = jnp.ones(size) * x[0]
    for i in range(n):
        ones = jnp.sin(ones * x[0]) + i
    return jnp.sum(w * v + z) + jnp.sum(ones)


@pytest.mark.thorough
def test_segments_of_two_iterations(monkeypatch):
    monkeypatch.setattr(loop_vjp, "_KEPT", 1)
    monkeypatch.setattr(loop_vjp, "_SHORTEST", 2)
    monkeypatch.setattr(loop_vjp, "_LARGE_ROW", 1)
    bounds_of_arguments = qjit(jax.value_and_grad(loops))
    for n, size in ((0, 3), (1, 0), (2, 1), (3, 2), (6, 5)):
        ours = bounds_of_arguments(X, n, size)
        for got, wanted in zip(ours, jax.value_and_grad(python)(X, n, size), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-12)

    @qjit
    def known_bounds(x):
        second = jax.jvp(jax.grad(lambda x: loops(x, 5, 2)), (x,), (x,))
        batch = jax.vmap(jax.grad(lambda x: loops(x, 3, 1)))(jnp.stack([x, x * 2]))
        return second, batch, jax.grad(lambda x: loops(x, 0, 1))(x)

    second = jax.jvp(jax.grad(lambda x: python(x, 5, 2)), (X,), (X,))
    batch = [jax.grad(lambda x: python(x, 3, 1))(x) for x in (X, X * 2)]
    wanted = second, jnp.stack(batch), jax.grad(lambda x: python(x, 0, 1))(X)
    for got, correct in zip(jax.tree.leaves(known_bounds(X)), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(got, correct, rtol=1e-10, atol=1e-12)


def largest_array(text):
    shapes = re.findall(r"f64\[([\d,]+)\]", text)
    return max(np.prod([int(size) for size in shape.split(",")]) for shape in shapes)


def test_what_is_kept_is_bounded():
    """A loop of a million iterations over a thousand numbers would keep 8 GB."""

    def gradient(number):
        def total(x):
            return jnp.sum(for_loop(0, number, 1)(lambda i, v: jnp.sin(v * x[0]))(x))

        return str(qjit(jax.grad(total)).trace(jnp.ones(1000)).jaxpr)

    assert largest_array(gradient(1_000_000)) <= loop_vjp._KEPT // 8
    text = gradient(1000)
    assert largest_array(text) == 1000 * 1000, "short loops keep all"
    assert "segment" not in text
