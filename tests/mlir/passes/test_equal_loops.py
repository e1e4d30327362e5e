"""Loops that the entry has many times are one function; what they compute is the same."""

import re

import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit
from diastase_mlir.passes.buffers.parts.equal_loops import LEAST_EQUAL, MOST_ELEMENTS


def _calls(function, *arguments):
    """How often each function of equal loops is called."""
    text = qjit(function).lower(*arguments).as_text("llvm_dialect")
    called = re.findall(r"llvm\.call @(diastase_entry\.loop\d+)\(", text)
    return {name: called.count(name) for name in called}


def _assert_same(function, *arguments):
    for own, wanted in zip(qjit(function)(*arguments), function(*arguments), strict=True):
        assert own.dtype == wanted.dtype
        np.testing.assert_allclose(own, wanted, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.complex128])
def test_equal_but_for_their_arrays(dtype):
    def scaled(*arrays):
        return [array * dtype(3) for array in arrays]

    arrays = [np.arange(4).astype(dtype) + number for number in range(LEAST_EQUAL)]
    assert list(_calls(scaled, *arrays).values()) == [LEAST_EQUAL]
    _assert_same(scaled, *map(jnp.asarray, arrays))


def test_constants_that_differ_are_taken():
    def scaled(*arrays):
        return [jnp.sin(array) - number for number, array in enumerate(arrays, 3)]

    arrays = [jnp.arange(3.0) + number for number in range(LEAST_EQUAL + 5)]
    assert list(_calls(scaled, *arrays).values()) == [len(arrays)]
    _assert_same(scaled, *arrays)


def test_what_is_not_equal_is_not_shared():
    """Of another shape, another operation, or operands in another order."""

    def each(*arrays):
        x, y = arrays[:2]
        alike = [array - 1 for array in arrays[2:]]
        return [*alike, x + 1, y * 2, x - y, y - x, x[1:] - 1, jnp.sum(x), x[::-1] - 1]

    arrays = [jnp.arange(5.0) * number for number in range(LEAST_EQUAL + 2)]
    assert list(_calls(each, *arrays).values()) == [LEAST_EQUAL]
    _assert_same(each, *arrays)


def test_few_stay():
    arrays = [np.ones(3)] * (LEAST_EQUAL - 1)
    assert not _calls(lambda *arrays: [array * 2 for array in arrays], *arrays)


def test_one_array_twice():
    """An operand that is two, and others that are one; what differs is never taken for equal."""

    def products(x, y):
        for _ in range(LEAST_EQUAL):
            x = x @ y
        for _ in range(LEAST_EQUAL):
            x = x @ x
        return x, y

    x = jnp.linspace(0.2, 0.3, 9).reshape(3, 3)
    calls = _calls(products, x, x)
    assert 2 * LEAST_EQUAL in calls.values()
    _assert_same(products, x, x + 0.2)


@pytest.mark.parametrize("size", [MOST_ELEMENTS, MOST_ELEMENTS + 1])
def test_long_loops_stay(size):
    """LLVM knows which arrays of the entry share no memory, and of no function's arguments."""

    def scaled(*arrays):
        return [array * 3 for array in arrays]

    arrays = [np.full(size, number) for number in range(LEAST_EQUAL)]
    assert bool(_calls(scaled, *arrays)) == (size <= MOST_ELEMENTS)
    _assert_same(scaled, *map(jnp.asarray, arrays))


def test_sizes_known_at_run_time():
    def summed(x, y):
        kept = [jnp.sum(jnp.tanh(x * number) - y) for number in range(2, 2 + LEAST_EQUAL)]
        moved = [x[::-1] + y * number for number in range(2, 2 + LEAST_EQUAL)]
        return jnp.stack(kept), *moved

    compiled = qjit(summed, abstracted_axes={0: "n"})
    for size in (0, 1, 5, 64):
        x, y = jnp.linspace(0.0, 1.0, size), jnp.linspace(2.0, 1.0, size)
        for own, wanted in zip(compiled(x, y), summed(x, y), strict=True):
            np.testing.assert_allclose(own, wanted, rtol=1e-12)
