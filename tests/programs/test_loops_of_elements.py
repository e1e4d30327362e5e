"""Loops over arrays that become a loop of each element give what `jax.jit` gives, of any size."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax

from diastase import qjit
from diastase_mlir.passes.tensors import unbatch_loops as unbatching

jax.config.update("jax_enable_x64", True)

SIZES = (0, 1, 3, 8, 16, 17, 100)


@pytest.fixture
def unbatched(monkeypatch):
    """Of each loop over arrays, whether it has become one of elements."""
    found: list[bool] = []
    replace = unbatching._replace

    def note(loop):
        found.append(replace(loop))
        return found[-1]

    monkeypatch.setattr(unbatching, "_replace", note)
    monkeypatch.setenv("DIASTASE_CACHE", "0")
    return found


def collatz(n):
    def turn(state):
        n, count = state
        return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1

    return jax.vmap(lambda n: lax.while_loop(lambda s: s[0] > 1, turn, (n, 0)))(n)


def newton(n):
    a = n / 7 + 0.1
    return jax.vmap(
        lambda a: lax.while_loop(lambda s: abs(s * s - a) > 1e-9, lambda x: (x + a / x) / 2, a)
    )(a)


def nested_loops(n):
    def one(a):
        def turn(state):
            x, count = state
            return lax.while_loop(lambda y: y > 1.0, lambda y: y * 0.5, x + a), count + 1

        return lax.while_loop(lambda s: s[0] + s[1] < 6.0, turn, (a, 0))

    return jax.vmap(one)(n / 9.0)


def nested_vmap(n):
    def one(a, b):
        return lax.while_loop(lambda s: s < 20.0, lambda s: s * 1.5 + a + b, a - b)

    return jax.vmap(jax.vmap(one, (None, 0)), (0, None))(n / 3.0, jnp.arange(5.0))


def narrow(n):
    """The last axis is shorter than a vector."""
    return jax.vmap(newton, 1, 1)(jnp.stack([n, n + 1, n + 2], 1))


def trees(n):
    def turn(state):
        return {"x": jnp.exp(-state["x"]), "old": state["x"], "up": ~state["up"]}

    state = {"x": n / 100.0, "old": n + 1.0, "up": n > 5}
    return jax.vmap(lambda s: lax.while_loop(lambda s: abs(s["x"] - s["old"]) > 1e-3, turn, s))(
        state
    )


def vectors(n):
    """Three numbers an element, put together from parts, and a sum of them."""

    def one(a):
        start = jnp.stack([a, a + 1, a + 2]) / 100

        def turn(s):
            return 0.9 * jnp.roll(s, 1) + 0.01 * s[0]

        return lax.while_loop(lambda s: jnp.sum(s * s) > 1e-3, turn, start)

    return jax.vmap(one)(n)


def products(n):
    matrix = jnp.array([[0.5, 0.2], [-0.3, 0.6]])

    def one(a):
        start = jnp.stack([a + 1.0, a - 1.0])

        def turn(s):
            return (matrix * s).sum(1)

        return lax.while_loop(lambda s: jnp.abs(s).max() > 0.1, turn, start)

    return jax.vmap(one)(n)


def complex_numbers(n):
    def one(c):
        def turn(state):
            z, count = state
            return z * z + c, count + 1

        return lax.while_loop(lambda s: (abs(s[0]) < 2) & (s[1] < 50), turn, (0j, 0))[1]

    return jax.vmap(one)(n / 50 + 0.3j)


def masks(n):
    """As a user writes it, with flags of what is done."""

    def turn(state):
        x, done = state
        smaller = jnp.where(done, x, x * 0.7)
        return smaller, done | (smaller < 1)

    return lax.while_loop(lambda s: ~jnp.all(s[1]), turn, (n * 1.0, n < 1))[0]


def search(n):
    values = 1.25 * jnp.arange(77.0)

    def one(n):
        def turn(bounds):
            low, high = bounds
            middle = (low + high) // 2
            right = values[middle] < n
            return jnp.where(right, middle, low), jnp.where(right, high, middle)

        return lax.while_loop(lambda bounds: bounds[1] - bounds[0] > 1, turn, (0, 76))

    return jax.vmap(one)(n)


def rows(n):
    """What an element adds depends on where it is."""

    def turn(state):
        x, count = state
        more = jnp.where(count > 0, x + count * jnp.arange(n.shape[0]), x)
        return more, jnp.where(count > 0, count - 1, count)

    return lax.while_loop(lambda s: jnp.any(s[1] > 0), turn, (n, jnp.arange(n.shape[0]) % 5))[0]


def counted(n):
    """Numbers that are the same for all elements go along."""

    def turn(state):
        x, count = state
        return jnp.where(x > 1, x * 0.7, x), count + 1

    return lax.while_loop(lambda s: jnp.any(s[0] > 1) & (s[1] < 9), turn, (n * 1.0, 0))[0]


def turns(n):
    """All elements take as many: the loop stays one over arrays."""
    return lax.fori_loop(0, 5, lambda i, x: x // 2 + i, n)


ELEMENTWISE = [
    collatz, newton, nested_loops, nested_vmap, narrow, trees, vectors, products, complex_numbers,
    masks, search, rows, counted,
]  # fmt: skip


def goes_on(n):
    """All elements change as long as any asks for it."""
    return lax.while_loop(lambda x: jnp.any(x > 1), lambda x: x * 0.5, n * 1.0)


def asks_again(n):
    """An element that does not ask in one turn does in a later one."""

    def turn(state):
        x, count = state
        return jnp.where(x > count, x, x + 1), count + 1

    return lax.while_loop(lambda s: jnp.any(s[0] < 5 * s[1] - 20) | (s[1] < 3), turn, (n, 0))[0]


def counts_turns(n):
    """How many turns the slowest element takes is seen."""

    def turn(state):
        x, count = state
        return jnp.where(x > 1, x * 0.7, x), count + 1

    return lax.while_loop(lambda s: jnp.any(s[0] > 1), turn, (n * 1.0, 0))


def neighbours(n):
    def turn(x):
        return jnp.where(x < 100, x + 1 + jnp.roll(x, 1) // 2, x)

    return lax.while_loop(lambda x: jnp.any(x < 100), turn, n)


def half_frozen(n):
    """One array stays, one does not."""

    def turn(state):
        x, y = state
        return jnp.where(x > 1, x * 0.7, x), y + 1

    return lax.while_loop(lambda s: jnp.any(s[0] > 1), turn, (n * 1.0, n))


TOGETHER = [goes_on, asks_again, counts_turns, neighbours, half_frozen]


def numbers(size, seed=0):
    return np.random.default_rng(seed).integers(1, 60, size)


def agree(program, n, compiled):
    got, want = jax.tree.leaves(compiled(n)), jax.tree.leaves(jax.jit(program)(n))
    for one, other in zip(got, want, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.sample(6)
@pytest.mark.parametrize("program", ELEMENTWISE, ids=lambda one: one.__name__)
def test_each_element_has_its_own_loop(program, unbatched):
    for size in SIZES[2:]:
        unbatched.clear()
        agree(program, numbers(size), qjit(program))
        assert unbatched
        assert all(unbatched), size


def test_counted_loops_are_no_loops_of_elements(unbatched):
    agree(turns, numbers(23), qjit(turns))
    assert not any(unbatched)


@pytest.mark.parametrize("program", TOGETHER, ids=lambda one: one.__name__)
def test_elements_that_depend_on_each_other_stay_together(program, unbatched):
    agree(program, numbers(23), qjit(program))
    assert unbatched
    assert not any(unbatched)


@pytest.mark.sample(3)
@pytest.mark.parametrize("program", ELEMENTWISE + TOGETHER, ids=lambda one: one.__name__)
def test_of_sizes_known_at_run_time_only(program):
    compiled = qjit(program, abstracted_axes=({0: "n"},))
    for size in SIZES:
        agree(program, numbers(size), compiled)


def test_nan_and_infinities_leave_their_loops_as_in_jax():
    values = np.array([1.0, np.nan, -np.inf, np.inf, 0.0, -0.0, 1e-30, -3.0, 1e30] * 3)

    def one(x):
        def turn(state):
            y, count = state
            return y * y - x, count + 1

        return lax.while_loop(lambda s: (abs(s[0]) < 10) & (s[1] < 9), turn, (x, 0))

    program = jax.vmap(one)
    for dtype in (np.float32, np.float64):
        given = values.astype(dtype)
        got, want = qjit(program)(given), jax.jit(program)(given)
        for one, other in zip(got, want, strict=True):
            np.testing.assert_array_equal(one, other)
            np.testing.assert_array_equal(np.signbit(one), np.signbit(other))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=40))
def test_integers_wrap_around_and_divide_as_in_jax(given):
    n = np.array(given, np.int32)
    np.testing.assert_array_equal(_divided(n), _expected(n))


def _divisions(n):
    def turn(state):
        x, k, count = state
        return x // k + k * x, k - 1, count + 1

    return jax.vmap(
        lambda n: lax.while_loop(
            lambda s: (s[0] != 0) & (s[2] < 12), turn, (n, jnp.int32(5), jnp.int32(0))
        )
    )(n)[0]


_divided = qjit(_divisions, abstracted_axes=({0: "n"},))
_expected = jax.jit(_divisions)


def test_large_arrays_on_threads():
    n = numbers(200_001)
    agree(collatz, n, qjit(collatz))
    agree(newton, n, qjit(newton))


@pytest.mark.parametrize("size", [2, 5])
def test_elementary_functions_are_exact_in_any_number_of_lanes(size):
    x = np.linspace(1e-9, 2e-6, size).astype(np.float32)

    def one(x):
        def turn(state):
            y, count = state
            return jnp.log1p(jnp.expm1(y)) + jnp.arctan2(y, x) - y, count + 1

        return lax.while_loop(lambda s: (s[1] < 3) & (s[0] < 9), turn, (x, 0))[0]

    program = jax.vmap(one)
    np.testing.assert_allclose(qjit(program)(x), program(x), rtol=1e-6)
