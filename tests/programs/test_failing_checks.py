"""What follows a check that fails, or precedes one, neither writes outside of arrays nor lies."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from diastase import debug_assert, for_loop, qjit
from diastase_runtime.errors import (
    DebugAssertionError,
    DiastaseError,
    NegativeSizeError,
    SizeMismatchError,
)

LARGE = 3000
"""Elements that do not fit into what surrounds a small array by chance."""


@pytest.mark.parametrize("size", [LARGE - 1, 1, 0])
def test_a_size_checked_later_says_nothing_about_an_earlier_update(size):
    def function(n):
        array = lax.dynamic_update_slice(jnp.zeros(n), jnp.ones(LARGE), (0,))
        return array, jnp.ones(n - LARGE)

    compiled = qjit(function)
    assert [array.shape for array in compiled(LARGE + 3)] == [(LARGE + 3,), (3,)]
    with pytest.raises(SizeMismatchError):
        compiled(size)


@pytest.mark.parametrize("count", [LARGE - 1, 1, 0])
def test_an_assumption_made_later_says_nothing_about_an_earlier_update(count):
    def function(x):
        found = lax.dynamic_update_slice(x[x > 0], jnp.ones(LARGE), (0,))
        return found.sum() if found.shape[0] >= LARGE else found.sum() + 1

    compiled = qjit(function, abstracted_axes=("n",))
    assert float(compiled(np.full(LARGE + 2, 2.0))) == LARGE + 4
    with pytest.raises(SizeMismatchError):
        compiled(np.r_[np.ones(count), -np.ones(5)])


AFTER_NEGATIVE_SIZES = {
    "a product": lambda n: jnp.ones((n - LARGE, n - 2 * LARGE)).reshape(-1),
    "a sum": lambda n: jnp.concatenate([jnp.ones(n - LARGE), jnp.ones(2 * LARGE)]),
}


@pytest.mark.parametrize("name", AFTER_NEGATIVE_SIZES)
def test_nothing_is_computed_with_negative_sizes(name):
    function = AFTER_NEGATIVE_SIZES[name]
    compiled = qjit(function)
    assert compiled(2 * LARGE + 1).shape == function(2 * LARGE + 1).shape
    for size in (0, LARGE - 1):
        with pytest.raises(NegativeSizeError):
            compiled(size)


BODIES = {
    "a sum": lambda x, y: jnp.sum(x + y),
    "a product": lambda x, y: jnp.dot(x, y),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_body_that_is_traced_again_assumes_again(name):
    def function(x, y):
        @for_loop(0, 3, 1)
        def body(_, total):  # comes in as a Python number, so the body is traced twice
            return total + BODIES[name](x, y)

        return body(0)

    compiled = qjit(function, abstracted_axes=({0: "n"}, {0: "m"}))
    for sizes in ((3, 3), (1, 3), (2, 3), (3, 2), (8, 8), (0, 1), (0, 0)):
        x, y = (np.arange(size) + 1.0 for size in sizes)
        try:
            expected = float(function(x, y))
        except (TypeError, ValueError):
            with pytest.raises(DiastaseError):
                compiled(x, y)
        else:
            assert float(compiled(x, y)) == expected


@pytest.mark.parametrize("turns", [3, 100_000])
def test_a_loop_after_a_failed_check_gives_arrays_that_are_freed_once(turns):
    """Deallocation counts on a turn where the trip count is known; the process would abort."""

    def loop(x):
        start = x + x[0]
        body = lambda _, pair: (pair[1] + 1e-9 * jnp.sum(pair[0]), pair[1])  # noqa: E731
        return lax.fori_loop(0, turns, body, (start, start))

    @qjit
    def checked(x):
        debug_assert(x[0] > 0, "positive")
        return loop(x)

    for _ in range(3):
        with pytest.raises(DebugAssertionError):
            checked(-np.ones(LARGE))
    for found, wanted in zip(checked(np.ones(LARGE)), jax.jit(loop)(np.ones(LARGE)), strict=True):
        np.testing.assert_allclose(found, wanted)
