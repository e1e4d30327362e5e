"""Small vectors and matrices in loops, branches and scans, against plain JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax

from diastase import qjit

STEPS = 150
"""Above what is compiled as if there were no loop (`machine_code.MOST_TURNS`)."""


def agree(function, *arguments, tolerance=1e-9):
    wanted = jax.jit(function)(*arguments)
    found = qjit(function)(*arguments)
    for own, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        own, other = np.asarray(own), np.asarray(other)
        assert (own.dtype, own.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(own, other, rtol=tolerance, atol=tolerance)
        zero = (own == 0) & (other == 0)
        assert (np.signbit(own.real)[zero] == np.signbit(other.real)[zero]).all()


def drawn(*shape, dtype=np.float64, seed=0):
    numbers = np.random.default_rng(seed).normal(size=shape)
    return (10 * numbers if np.issubdtype(dtype, np.integer) else numbers).astype(dtype)


def repeat(step, x, turns=STEPS):
    return lax.fori_loop(0, turns, step, x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128, np.int32])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_products_of_matrices(size, dtype):
    a = drawn(size, size, dtype=dtype)
    scale = np.array(1 if dtype == np.int32 else 1e-3, dtype)  # integers overflow
    single = dtype in (np.float32, np.complex64)
    agree(
        lambda x: repeat(lambda _, x: x + scale * (x @ a - a @ x.T), x, STEPS),
        drawn(size, size, dtype=dtype, seed=1),
        tolerance=1e-3 if single else 1e-9,
    )


def quaternion(x):
    def step(_, carry):
        q, w = carry
        v = jnp.concatenate([-(q[1:] @ w)[None], q[0] * w + jnp.cross(q[1:], w)])
        q = q + 1e-3 * v
        return q / jnp.linalg.norm(q), w - 1e-3 * jnp.cross(w, jnp.arange(1.0, 4.0) * w)

    return repeat(step, (x[:4], x[4:7]))


def solved_by_hand(x):
    def solve(a, b):
        for k in range(3):
            for i in range(k + 1, 3):
                factor = a[i, k] / a[k, k]
                a, b = a.at[i].add(-factor * a[k]), b.at[i].add(-factor * b[k])
        found = jnp.zeros(3)
        for k in reversed(range(3)):
            found = found.at[k].set((b[k] - a[k] @ found) / a[k, k])
        return found

    a = x[:9].reshape(3, 3) + 5 * jnp.eye(3)
    return repeat(lambda _, b: b + 1e-2 * solve(a, b), x[9:12])


def rotations(x):
    def step(_, e):
        c, s = jnp.cos(e), jnp.sin(e)
        z = jnp.array([[c[0], -s[0], 0], [s[0], c[0], 0], [0, 0, 1]])
        y = jnp.array([[c[1], 0, s[1]], [0, 1, 0], [-s[1], 0, c[1]]])
        return e + 1e-2 * (z @ y @ e)

    return repeat(step, x[:3])


def three_bodies(x):
    def step(_, carry):
        x, v = carry
        d = x[None] - x[:, None]
        r = (d**2).sum(-1) + 0.5
        v = v + 1e-3 * (d / (r * jnp.sqrt(r))[..., None]).sum(1)
        return x + 1e-3 * v, v

    return repeat(step, (x[:9].reshape(3, 3), jnp.zeros((3, 3))))


def filtered(x):
    a = jnp.eye(4) + 0.1 * jnp.eye(4, k=2)

    def step(carry, z):
        x, p = carry
        x, p = a @ x, a @ p @ a.T + 0.01 * jnp.eye(4)
        k = p[:, :1] / (p[0, 0] + 0.5)
        return (x + k[:, 0] * (z - x[0]), p - k @ p[:1]), x

    return lax.scan(step, (jnp.zeros(4), jnp.eye(4)), jnp.tile(x, 15))


def pendulum(x):
    def step(s, _):
        s = s + 1e-2 * jnp.stack([s[1], -jnp.sin(s[0]) - 0.1 * s[1]])
        return s, s

    return lax.scan(step, x[:2], None, length=STEPS)[1]


def turned_by_branches(x):
    branches = [lambda x: 0.9 * jnp.flip(x), lambda x: jnp.roll(x, 1), lambda x: x.at[1].add(0.1)]
    return repeat(lambda i, x: lax.switch(i % 3, branches, x), x[:5])


def until_small(x):
    def body(carry):
        v, count = carry
        return v - 0.1 * v[::-1] * jnp.abs(v).max(), count + 1

    return lax.while_loop(lambda c: (jnp.abs(c[0]) > 0.5).any() & (c[1] < 500), body, (x[:4], 0))


def loops_in_loops(x):
    def outer(_, x):
        return lax.fori_loop(0, 20, lambda j, x: x + 1e-3 * jnp.cross(x, jnp.ones(3)) * j, x) / 1.01

    return repeat(outer, x[:3], 10)


def read_and_written_anywhere(x):
    def step(i, carry):
        x, total = carry
        x = x.at[i % 7].set(0.5 * x[(i + 3) % 7])
        return x, total + x[(5 * i) % 7] * x

    return repeat(step, (x[:7], jnp.zeros(7)))


def windows_and_orders(x):
    def step(_, x):
        p = jnp.polymul(x[:4], x[4:8])
        return x - 1e-3 * jnp.concatenate([p, x[7:12]]) * jnp.argmax(x) + jnp.cumsum(x) * 1e-4

    return repeat(step, x[:12])


def in_several_sizes(x):
    def step(i, carry):
        v, table = carry
        v = v + 1e-3 * table.sum(0)
        return v, table.at[i % 40].set(jnp.where(v > 0, v, -v))

    return repeat(step, (x[:3], jnp.zeros((40, 3))))


PROGRAMS = [
    quaternion, solved_by_hand, rotations, three_bodies, filtered, pendulum, turned_by_branches,
    until_small, loops_in_loops, read_and_written_anywhere, windows_and_orders, in_several_sizes,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program):
    agree(program, drawn(12))


@pytest.mark.parametrize("program", [filtered, pendulum])
def test_derivatives(program):
    agree(
        jax.grad(lambda x: sum((leaf**2).sum() for leaf in jax.tree.leaves(program(x)))), drawn(12)
    )


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, -0.0, 1e308])
def test_special_numbers(number):
    x = np.array([number, 1.0, -0.0])

    def step(_, x):
        y = jnp.stack([x.sum(), x @ x, jnp.max(x)]) * 0.5
        return jnp.where(jnp.isnan(x), x, jnp.minimum(jnp.roll(x, 1), y))

    agree(lambda x: (repeat(step, x), repeat(lambda _, x: -(x * 0.0), x)), x)


def test_sums_of_negative_zeros_are_as_in_numpy():
    zeros = np.full(3, -0.0)
    sums = qjit(lambda x: repeat(lambda _, c: (c[0], x + c[0].sum()), (x, x))[1])(zeros)
    assert not np.signbit(np.asarray(sums)).any()


@settings(deadline=None)
@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=4, max_size=4))
def test_integers_overflow_as_in_jax(numbers):
    def step(i, x):
        return (x * 1103515245 + jnp.flip(x) - i) ^ (x >> 3)

    agree(lambda x: repeat(step, x), np.array(numbers, np.int32))


@pytest.mark.parametrize("size", [0, 1, 16, 17, 33])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.uint8, np.bool_])
def test_sizes_and_dtypes(size, dtype):
    x = (drawn(size) > 0).astype(dtype) if dtype == np.bool_ else np.abs(drawn(size)).astype(dtype)

    def step(_, x):
        turned = jnp.roll(x, 1)
        return x ^ turned if dtype == np.bool_ else jnp.where(x > turned, x, turned - x)

    agree(lambda x: repeat(step, x), x)
