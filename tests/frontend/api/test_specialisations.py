"""Which calls share a program, and that each program is compiled once."""

import concurrent.futures
import inspect
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit


class Traces:
    """A compiled function that counts how often it was traced."""

    def __init__(self, function, **options):
        self.count = 0

        def counted(*args, **kwargs):
            self.count += 1
            return function(*args, **kwargs)

        counted.__signature__ = inspect.signature(function)
        self.compiled = qjit(counted, **options)

    def of(self, *args, **kwargs):
        """How many traces this call took."""
        before = self.count
        self.compiled(*args, **kwargs)
        return self.count - before


def first(*args, **kwargs):
    return jax.tree.leaves((args, kwargs))[0]


DIFFERENT = {
    "shape": (((np.ones(2),), {}), ((np.ones(3),), {})),
    "rank": (((np.ones(2),), {}), ((np.ones((2, 1)),), {})),
    "dtype": (((np.ones(2),), {}), ((np.ones(2, np.float32),), {})),
    "weak type": (((1.0,), {}), ((np.float64(1.0),), {})),
    "bool and int": (((1,), {}), ((True,), {})),
    "tree": ((([1, 2],), {}), (((1, 2),), {})),
    "keys": ((({"a": 1},), {}), (({"b": 1},), {})),
    "None": (((1, None), {}), ((1, 2), {})),
    "keyword name": (((), {"a": 1}), ((), {"b": 1})),
    "keyword type": (((1,), {"y": 2}), ((1,), {"y": np.ones(2)})),
    "positional or keyword": (((1, 2), {}), ((1,), {"y": 2})),
    "number of arguments": (((1,), {}), ((1, 1), {})),
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_different_calls_have_programs_of_their_own(case):
    (args, kwargs), (other_args, other_kwargs) = DIFFERENT[case]
    traces = Traces(first)
    assert traces.of(*args, **kwargs) == 1
    assert traces.of(*other_args, **other_kwargs) == 1
    for _ in range(2):
        assert traces.of(*args, **kwargs) == 0
        assert traces.of(*other_args, **other_kwargs) == 0


SAME = {
    "values": ((1.0,), (2.0,)),
    "numpy and jax": ((np.ones(2),), (jnp.ones(2),)),
    "numpy scalar and array": ((np.float32(1),), (jnp.float32(2),)),
    "number and weak array": ((1.0,), (jax.jit(lambda: 2.0)(),)),
    "layout": ((np.ones((2, 3)),), (np.ones((3, 2)).T,)),
    "nested": (({"a": [1, 2.0]},), ({"a": [3, 4.0]},)),
}


@pytest.mark.parametrize("case", SAME)
def test_equal_calls_share_a_program(case):
    args, other = SAME[case]
    traces = Traces(first)
    assert traces.of(*args) == 1
    assert traces.of(*other) == 0
    assert traces.of(*args) == 0


def test_keyword_values_are_not_mixed_up():
    compiled = qjit(lambda x, y=1: x + y)
    assert compiled(1, y=2) == 3
    np.testing.assert_array_equal(compiled(1, y=jnp.array([2, 3])), [3, 4])
    assert compiled(1) == 2
    assert compiled(1, y=5) == 6


def test_settings_of_jax_are_part_of_the_key():
    traces = Traces(first)
    assert traces.of(1.0) == 1
    with jax.default_matmul_precision("float32"):
        assert traces.of(1.0) == 1
    with jax.enable_x64(False):
        assert traces.of(1.0) == 1
        assert traces.of(1.0) == 0
    assert traces.of(1.0) == 0


def test_clear_cache():
    traces = Traces(first)
    traces.of(1.0)
    traces.compiled.clear_cache()
    assert traces.of(1.0) == 1
    assert traces.of(1.0) == 0


def test_a_failed_compilation_is_tried_again():
    healthy = False

    def function(x):
        if not healthy:
            raise RuntimeError("not yet")
        return x

    compiled = qjit(function)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="not yet"):
            compiled(1.0)
    healthy = True
    assert compiled(1.0) == 1


def test_threads_that_need_one_program_compile_it_once():
    traces = Traces(lambda x: x * 2)
    barrier = threading.Barrier(8)

    def call(k):
        barrier.wait()
        return float(traces.compiled(float(k)))

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(call, range(8))) == [2.0 * k for k in range(8)]
    assert traces.count == 1


def test_threads_that_need_different_programs():
    compiled = qjit(lambda x: x.sum())

    def call(k):
        size = k % 5 + 1
        return [float(compiled(np.full(size, k))) == size * k for _ in range(20)]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(all(results) for results in pool.map(call, range(40)))


def test_calls_run_at_the_same_time():
    """Two calls meet in a host callback: neither would return if one waited for the other."""
    barrier = threading.Barrier(2, timeout=60)

    def meet(x):
        barrier.wait()
        return x

    def function(x):
        return jax.pure_callback(meet, jax.ShapeDtypeStruct((), np.float64), x)

    compiled = qjit(function)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        assert sorted(map(float, pool.map(compiled, [1.0, 2.0]))) == [1, 2]
