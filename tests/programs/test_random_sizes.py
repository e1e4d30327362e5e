"""Random programs whose arrays change their sizes: compiled once, run at several sizes, as in JAX.

A program is a list of steps on three values: a vector and a matrix of any sizes, and an integer.
Each step replaces one of them by one of another size, so any sequence of steps is a program, and
a body for a loop that resizes what it carries, or a branch of a condition.
"""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jax import lax

from diastase import cond, for_loop, qjit
from sampled import examples

LARGEST = 12
"""Arrays are cut to this size after each step that makes them longer."""
SIZES = (0, 1, 2, 3, 8)


def short(vector):
    """At most `LARGEST` elements."""
    return vector[:LARGEST]


def small(matrix):
    """At most `LARGEST` rows and columns."""
    return matrix[:LARGEST, :LARGEST]


OF_VECTOR = {
    "sine": lambda v, m, k: jnp.sin(v + k),
    "sorted": lambda v, m, k: jnp.sort(v),
    "reversed": lambda v, m, k: v[::-1],
    "every second": lambda v, m, k: v[1::2],
    "without ends": lambda v, m, k: v[1:-1],
    "up to k": lambda v, m, k: v[:k],
    "from k": lambda v, m, k: v[k:],
    "half": lambda v, m, k: v[v.shape[0] // 2 :],
    "positive": lambda v, m, k: v[v > 0],
    "where it grows": lambda v, m, k: jnp.nonzero(jnp.diff(v) > 0)[0].astype(float),
    "different": lambda v, m, k: jnp.unique(jnp.round(v * 2)) / 2,
    "twice": lambda v, m, k: short(jnp.concatenate([v, v[::-1]])),
    "longer by one": lambda v, m, k: short(jnp.append(v, v.sum())),
    "repeated": lambda v, m, k: short(jnp.repeat(v, 2)),
    "tiled": lambda v, m, k: short(jnp.tile(v, k % 4)),
    "padded": lambda v, m, k: short(jnp.pad(v, (1, 2))),
    "counted": lambda v, m, k: jnp.cos(jnp.arange(v.shape[0] + k % 3)),
    "spaced": lambda v, m, k: jnp.linspace(-1.0, 1.0, v.shape[0]) * 2,
    "flattened": lambda v, m, k: short(m.ravel()),
    "row sums": lambda v, m, k: jnp.tanh(m.sum(axis=1)),
    "column means": lambda v, m, k: m[:3].sum(axis=0) / 3,
    "diagonal": lambda v, m, k: jnp.diag(m),
    "product": lambda v, m, k: jnp.tanh(m @ jnp.ones(m.shape[1])),
    "running": lambda v, m, k: jnp.cumsum(v) / LARGEST,
    "differences": lambda v, m, k: jnp.diff(v),
    "rolled": lambda v, m, k: jnp.roll(v, k),
    "scanned": lambda v, m, k: lax.scan(lambda c, x: (c * x, c / 2 + x / 2), 1.0, v)[1],
    "mapped": lambda v, m, k: jax.vmap(lambda row: jnp.sum(row * row))(m) / 9,
    "derivative": lambda v, m, k: jax.grad(lambda x: jnp.sin(x * v).sum())(v) / 2,
    "filtered gradient": lambda v, m, k: jax.grad(lambda x: (x[x > 0] ** 2).sum())(v) / 3,
    "set": lambda v, m, k: v.at[1:].set(0.5),
}
OF_MATRIX = {
    "outer": lambda v, m, k: small(jnp.outer(v, v) / 2),
    "transposed": lambda v, m, k: m.T,
    "longer": lambda v, m, k: small(jnp.vstack([m, m[::-1]])),
    "wider": lambda v, m, k: small(jnp.hstack([m, jnp.ones((m.shape[0], 1))])),
    "rows": lambda v, m, k: m[: k % 5],
    "columns": lambda v, m, k: m[:, 1:],
    "some rows": lambda v, m, k: m[m.sum(axis=1) > 0],
    "identity": lambda v, m, k: jnp.eye(v.shape[0]) - jnp.eye(v.shape[0], k=1) / 2,
    "gram": lambda v, m, k: jnp.tanh(m @ m.T),
    "triangle": lambda v, m, k: jnp.tril(m, 1),
    "stacked": lambda v, m, k: jnp.stack([v, v[::-1], v * 2]),
    "column vector": lambda v, m, k: v.reshape(-1, 1),
    "sorted": lambda v, m, k: jnp.sort(m, axis=0),
    "solved": lambda v, m, k: jnp.linalg.solve(
        jnp.eye(v.shape[0]) * 9 + jnp.outer(v, v), jnp.eye(v.shape[0])
    ),
}
OF_NUMBER = {
    "arithmetic": lambda v, m, k: (k * 7 + 3) % 11 - 5,
    "length": lambda v, m, k: jnp.asarray(v.shape[0]),
    "elements": lambda v, m, k: jnp.asarray(m.size) // 2,
    "positive ones": lambda v, m, k: jnp.sum(v > 0),
}
TABLES = (OF_VECTOR, OF_MATRIX, OF_NUMBER)

steps = st.one_of(
    *(st.tuples(st.just(place), st.sampled_from(sorted(t))) for place, t in enumerate(TABLES))
)
blocks = st.recursive(
    steps,
    lambda inner: st.one_of(
        st.tuples(st.just("for"), st.integers(0, 3), st.lists(inner, max_size=3)),
        st.tuples(
            st.just("cond"), st.lists(inner, max_size=2), st.lists(inner, min_size=1, max_size=2)
        ),
    ),
    max_leaves=5,
)


def run(program, state):
    """Apply blocks in order; with our control flow, in Python outside of `qjit`."""
    for block in program:
        state = apply(block, state)
    return state


def apply(block, state):
    kind, first, *rest = block
    if kind in range(len(TABLES)):
        new = TABLES[kind][first](*state)
        return tuple(
            new.astype(old.dtype) if place == kind else old for place, old in enumerate(state)
        )
    (body,) = rest
    if kind == "for":
        loop = for_loop(0, first, 1, allow_array_resizing=True)
        return loop(lambda i, *s: run(body, s))(*state)
    choose = cond(state[2] % 2 == 0)(lambda: run(first, state))
    choose.otherwise(lambda: run(body, state))
    return choose()


def start(n):
    """The state that a program starts with, of a size that may be traced."""
    vector = jnp.cos(jnp.arange(n) * 2.0)
    return vector, jnp.sin(jnp.outer(jnp.arange(n + 1) * 1.0, vector + 1)), jnp.asarray(n)


@settings(
    max_examples=examples(25),
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
@given(program=st.lists(blocks, min_size=1, max_size=5))
def test_random_program(program):
    compiled = qjit(lambda n: run(program, start(n)))
    for n in SIZES:
        expected, found = run(program, start(n)), compiled(n)
        for one, other in zip(found, expected, strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8)
