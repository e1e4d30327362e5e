"""Random resizing: sequences of sizes that only the call knows, against numpy.

One compiled program for each kind serves all examples: what it does to the size of an array in
each iteration is data.
"""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diastase import cond, for_loop, qjit, switch, while_loop

SETTINGS = settings(max_examples=150, deadline=None)
LONGEST = 25
DTYPES = ("float64", "float32", "float16", "bfloat16", "complex64", "complex128", "int8", "int32",
          "uint8", "uint64", "bool")  # fmt: skip


def padded(numbers):
    """An array of one length, for any number of numbers."""
    return np.array([*numbers, *[0] * (LONGEST - len(numbers))])


def resized(array, size, fill):
    """numpy's answer: cut off, or filled up."""
    filling = np.full((max(size - len(array), 0), *array.shape[1:]), fill, array.dtype)
    return np.concatenate([array[:size], filling])


def resize(array, size, fill):
    """The same by JAX, with a size that may be traced."""
    missing = jnp.maximum(size - array.shape[0], 0)
    filling = jnp.full((missing, *array.shape[1:]), fill, array.dtype)
    return jnp.concatenate([array[:size], filling])


@qjit
def follow(plan, count, length, fill):
    """An array of each of `count` sizes in turn, and its sums."""

    @for_loop(0, count, 1, allow_array_resizing=True)
    def loop(k, array, seen):
        array = resize(array, plan[k], fill)
        return array, jnp.concatenate([seen, array.sum(keepdims=True)])

    return loop(jnp.arange(length) * 1.0, jnp.zeros(0))


@SETTINGS
@given(st.lists(st.integers(0, 9), max_size=LONGEST), st.integers(0, 4), st.integers(-5, 5))
def test_sizes_follow_a_plan(plan, length, fill):
    found, sums = follow(padded(plan), len(plan), length, float(fill))
    wanted, wanted_sums = np.arange(length) * 1.0, []
    for size in plan:
        wanted = resized(wanted, size, fill)
        wanted_sums.append(wanted.sum())
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_allclose(sums, wanted_sums)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("dtype", "rank"), [("float64", 1), ("int16", 3), *((d, 2) for d in DTYPES)]
)
def test_every_dtype_and_rank(dtype, rank):
    dtype = jnp.dtype(dtype)

    @qjit
    def program(plan, array):
        @for_loop(0, plan.shape[0], 1, allow_array_resizing=True)
        def loop(k, array):
            array = resize(array, plan[k], 1)
            return array if rank == 1 else jnp.swapaxes(array, 0, rank - 1)

        return loop(array)

    plan = np.array([3, 0, 2, 5, 4, 1, 2])
    start = np.arange(2**rank).reshape((2,) * rank).astype(dtype)
    wanted = start
    for size in plan:
        wanted = resized(wanted, size, 1)
        wanted = wanted if rank == 1 else np.swapaxes(wanted, 0, rank - 1)
    given_start = start.copy()
    found = program(plan, start)
    np.testing.assert_array_equal(start, given_start)
    assert (found.shape, found.dtype) == (wanted.shape, dtype)
    np.testing.assert_array_equal(found, wanted)


@qjit
def wander(steps, count, length):
    """Two arrays: each step changes one of them, drops from both, or exchanges them."""

    @while_loop(lambda k, a, b: k < count, allow_array_resizing=True)
    def loop(k, a, b):
        @switch(steps[k] % 5)
        def step():
            return b, a

        @step.branch(0)
        def extend():
            return jnp.concatenate([a, b]), b

        @step.branch(1)
        def cut():
            return a[1:], b[:-1]

        @step.branch(2)
        def reverse():
            return a[::-1], jnp.concatenate([b[:2], jnp.full(1, k)])

        @step.branch(3)
        def nothing():
            return a, b

        a, b = step()

        @cond(a.shape[0] * jnp.ones((), int) > 40)
        def halve():
            return a[::2]

        @halve.otherwise
        def keep():
            return a

        return k + 1, halve(), b

    start = jnp.arange(length)
    return loop(0, start, start)


def wander_in_numpy(steps, start):
    a, b = start, start
    for k, step in enumerate(steps):
        choices = [
            (np.concatenate([a, b]), b),
            (a[1:], b[:-1]),
            (a[::-1], np.concatenate([b[:2], np.full(1, k)])),
            (a, b),
            (b, a),
        ]
        a, b = choices[step % 5]
        a = a[::2] if len(a) > 40 else a
    return len(steps), a, b


@SETTINGS
@given(st.lists(st.integers(0, 4), max_size=LONGEST), st.integers(0, 3))
def test_random_walks_through_sizes(steps, length):
    found = wander(padded(steps), len(steps), length)
    for one, wanted in zip(found, wander_in_numpy(steps, np.arange(length)), strict=True):
        np.testing.assert_array_equal(one, wanted)
