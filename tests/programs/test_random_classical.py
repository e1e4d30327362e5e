"""Random small programs of arrays and control flow: compiled, and run by plain JAX.

A program is a list of steps on three values: a vector, a matrix and an integer. Each step replaces
one of them and keeps its type, so any sequence of steps is a program, and a body for a loop.
"""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jax import lax

from diastase import for_loop, qjit
from sampled import examples

SIZE = 4

# Each keeps values between -2 and 2 or so, however often it is applied.
OF_VECTOR = {
    "sine": lambda v, m, k: jnp.sin(v + k),
    "product": lambda v, m, k: jnp.tanh(m @ v),
    "sorted": lambda v, m, k: jnp.sort(v),
    "reversed": lambda v, m, k: v[::-1],
    "set": lambda v, m, k: v.at[k % SIZE].set(v[0] / 2),
    "added": lambda v, m, k: jnp.cos(v.at[jnp.array([0, 0, 2])].add(v[1:])),
    "row": lambda v, m, k: m[k % SIZE],
    "sum of rows": lambda v, m, k: jnp.tanh(m.sum(axis=0)),
    "running": lambda v, m, k: jnp.cumsum(v) / SIZE,
    "chosen": lambda v, m, k: jnp.where(v > 0, v, -v / 2),
    "rolled": lambda v, m, k: jnp.roll(v, 1),
    "positions": lambda v, m, k: v[jnp.argsort(v)[::-1]],
    "single": lambda v, m, k: (v.astype(jnp.float32) * 0.5).astype(v.dtype),
    "mapped": lambda v, m, k: jax.vmap(lambda row: jnp.max(row) - jnp.min(row))(m) / 2,
    "derivative": lambda v, m, k: jax.grad(lambda x: jnp.sin(x * v).sum())(v) / 2,
    "scanned": lambda v, m, k: lax.scan(lambda c, x: (c * x, c / 2 + x / 2), 1.0, v)[1],
    "spectrum": lambda v, m, k: jnp.fft.fft(v).real / SIZE,
}
OF_MATRIX = {
    "outer": lambda v, m, k: jnp.outer(v, v[::-1]) / 2,
    "transposed": lambda v, m, k: m.T,
    "updated": lambda v, m, k: m.at[k % SIZE, 1:].set(v[1:]),
    "column": lambda v, m, k: m.at[:, 0].set(jnp.tanh(m[:, 1] + v)),
    "sliced": lambda v, m, k: lax.dynamic_update_slice(m, m[:2, :2], (k % 3, 1)),
    "product": lambda v, m, k: jnp.tanh(m @ m),
    "stacked": lambda v, m, k: jnp.stack([v, m[0], v * m[1], m[3]]),
    "reshaped": lambda v, m, k: m.reshape(-1)[::-1].reshape(SIZE, SIZE),
    "padded": lambda v, m, k: jnp.pad(m, 1)[:SIZE, 2:],
    "triangle": lambda v, m, k: jnp.tril(m) - jnp.diag(v) / 2,
}
OF_NUMBER = {
    "arithmetic": lambda v, m, k: (k * 7 + 3) % 11 - 5,
    "divided": lambda v, m, k: (k - 9) // 2,
    "largest": lambda v, m, k: jnp.argmax(v),
    "counted": lambda v, m, k: jnp.sum(m > 0),
    "rounded": lambda v, m, k: jnp.floor(v[0] * 3).astype(k.dtype),
    "shifted": lambda v, m, k: (k << 2) ^ (k >> 1) & 7,
    "narrow": lambda v, m, k: (k.astype(jnp.int8) * jnp.int8(37)).astype(k.dtype),
}
TABLES = (OF_VECTOR, OF_MATRIX, OF_NUMBER)

steps = st.one_of(
    *(st.tuples(st.just(place), st.sampled_from(sorted(t))) for place, t in enumerate(TABLES))
)
blocks = st.recursive(
    steps,
    lambda inner: st.one_of(
        st.tuples(st.just("for"), st.integers(-2, 3), st.lists(inner, max_size=3)),
        st.tuples(st.just("fori"), st.integers(0, 3), st.lists(inner, max_size=3)),
        st.tuples(st.just("while"), st.integers(0, 3), st.lists(inner, max_size=3)),
        st.tuples(
            st.just("cond"), st.lists(inner, max_size=2), st.lists(inner, min_size=1, max_size=2)
        ),
        st.tuples(st.just("swap"), st.integers(1, 3), st.lists(inner, max_size=3)),
    ),
    max_leaves=6,
)


def run(program, state):
    """Apply blocks in order."""
    for block in program:
        state = apply(block, state)
    return state


def apply(block, state):
    kind, first, *rest = block
    if kind in range(len(TABLES)):
        new = TABLES[kind][first](*state)
        return tuple(
            jnp.asarray(new, old.dtype) if place == kind else old for place, old in enumerate(state)
        )
    (body,) = rest
    if kind == "for":
        return for_loop(0, first, 1 if first > 0 else -1)(lambda i, *s: run(body, s))(*state)
    if kind == "fori":
        return lax.fori_loop(0, first, lambda i, s: run(body, (*s[:2], s[2] + i)), state)
    if kind == "while":
        counted = (0, state)
        body_of = lambda carry: (carry[0] + 1, run(body, carry[1]))  # noqa: E731
        return lax.while_loop(lambda carry: carry[0] < first, body_of, counted)[1]
    if kind == "cond":
        branches = [lambda *s, body=body: run(body, s) for body in (first, body)]
        return lax.cond(state[2] % 2 == 0, *branches, *state)
    # Two states that change places, of which the old one stays in use.
    exchange = lambda i, pair: (run(body, pair[1]), pair[0])  # noqa: E731
    one, other = lax.fori_loop(0, first, exchange, (state, state))
    return (one[0] - other[0] / 2, *one[1:])


# Always the same programs: of others, rounding may decide which way a comparison goes.
@settings(
    max_examples=examples(50),
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
@given(program=st.lists(blocks, min_size=1, max_size=6), seed=st.integers(0, 2**16))
def test_random_program(program, seed):
    random = np.random.default_rng(seed)
    state = random.normal(size=SIZE), random.normal(size=(SIZE, SIZE)), np.asarray(seed % 9)
    copies = [array.copy() for array in state]
    state = tuple(map(jnp.asarray, state))
    found = qjit(lambda *s: run(program, s))(*state)
    expected = run(program, state)
    for one, other in zip(found, expected, strict=True):
        assert (one.shape, one.dtype, one.weak_type) == (other.shape, other.dtype, False)
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    for array, copy in zip(state, copies, strict=True):
        np.testing.assert_array_equal(array, copy)
