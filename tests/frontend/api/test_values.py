"""A `qjit` function returns what the `jax.jit` function returns: values, types, trees."""

import collections
import functools
from dataclasses import dataclass

import jax
import jax.experimental.layout
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from diastase import qjit

Point = collections.namedtuple("Point", "x y")


@functools.partial(jax.tree_util.register_dataclass, data_fields=["weight"], meta_fields=["name"])
@dataclass
class Layer:
    weight: jax.Array
    name: str


def assert_same(ours, theirs):
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for mine, reference in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert isinstance(mine, jax.Array)
        assert mine.aval == reference.aval
        assert mine.committed == reference.committed
        np.testing.assert_array_equal(np.asarray(mine), np.asarray(reference))


FUNCTIONS = {
    "scalar": (lambda x: x * 2, (1.5,)),
    "two scalars": (lambda x, y: (x + y, x * y), (1.5, 2)),
    "no arguments": (lambda: jnp.arange(3), ()),
    "no results": (lambda x: None, (1.0,)),
    "argument returned": (lambda x: x, (np.arange(3),)),
    "argument returned twice": (lambda x: (x, x), (np.arange(3.0),)),
    "constant": (lambda x: (1, 2.5, True, 1j, np.arange(3)), (1.0,)),
    "result twice": (lambda x: (y := x + 1, y), (np.arange(3.0),)),
    "dictionary": (lambda d: {"sum": d["a"] + d["b"], "none": None}, ({"b": 1, "a": 2.0},)),
    "named tuple": (lambda p: Point(p.y, [p.x]), (Point(1, np.ones(2)),)),
    "dataclass": (lambda p: Layer(p.weight * 2, p.name), (Layer(np.ones(2), "first"),)),
    "nested": (lambda t: [t[0], (t[1]["k"],)], ((1, {"k": np.ones((2, 2))}),)),
    "empty containers": (lambda t: ((), [], {}, t), (((), [1.0]),)),
    "zero size": (lambda x: x + 1, (np.ones((0, 3)),)),
    "large": (lambda x: x @ x, (np.arange(40_000.0).reshape(200, 200),)),
    "several large": (lambda x: (x, x + 1, x), (np.ones((100, 100)),)),
    "matrix, transposed view": (lambda x: x + 0, (np.arange(6.0).reshape(2, 3).T,)),
    "matrix, every second row": (lambda x: x + 0, (np.arange(12.0).reshape(6, 2)[::2],)),
    "reversed": (lambda x: x + 0, (np.arange(5)[::-1],)),
    "read-only": (lambda x: x + 0, (np.broadcast_to(np.float32(1), (3,)),)),
    "variadic": (lambda *xs: sum(xs), (1, 2.0, np.ones(2))),
    "default": (lambda x, y=2.0: x * y, (3,)),
    "partial": (functools.partial(lambda x, y: x - y, 10), (3.0,)),
    "partial by name": (functools.partial(lambda x, y: x - y, y=10), (3.0,)),
    "jit inside": (lambda x: jax.jit(jnp.sin)(x) + 1, (1.0,)),
}


@pytest.mark.sample(7)
@pytest.mark.parametrize("case", FUNCTIONS)
def test_same_as_jit(case):
    function, args = FUNCTIONS[case]
    compiled, reference = qjit(function), jax.jit(function)
    for _ in range(2):
        assert_same(compiled(*args), reference(*args))


DTYPES = [
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
    np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.complex64, np.complex128,
]  # fmt: skip


@pytest.mark.sample(4)
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_dtypes_survive(dtype):
    def function(scalar, vector):
        return scalar, vector, vector + scalar, vector[0]

    vector = np.array([200, 1, 0]).astype(dtype)
    for args in ((dtype(100), vector), (jnp.asarray(100).astype(dtype), jnp.asarray(vector))):
        assert_same(qjit(function)(*args), jax.jit(function)(*args))


ARGUMENTS = {
    "bool": True,
    "int": 3,
    "float": 1.5,
    "complex": 1j,
    "numpy scalar": np.float32(1.5),
    "numpy 0-d": np.array(3),
    "array": jnp.ones(3),
    "weak array": jax.jit(lambda: 1.5)(),
    "committed": jax.device_put(1.0, jax.devices()[0]),
    "list": [1, 2.0],
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_weak_types_and_commitment(case):
    argument = ARGUMENTS[case]

    def function(x):
        return jax.tree.map(lambda leaf: (leaf, leaf + 1, leaf + np.float32(1)), x)

    assert_same(qjit(function)(argument), jax.jit(function)(argument))


def test_keyword_arguments():
    def function(a, /, b, *args, c, d=4, **others):
        return a, b, args, c, d, others

    compiled, reference = qjit(function), jax.jit(function)
    for args, kwargs in [
        ((1, 2), {"c": 3}),
        ((1, 2, 5, 6), {"c": 3, "d": 7.0}),
        ((1,), {"c": 3, "b": 2}),
        ((1, 2), {"c": 3, "x": 8, "y": np.ones(2)}),
        ((1, 2), {"c": 3, "y": 8, "x": np.ones(2)}),
    ]:
        assert_same(compiled(*args, **kwargs), reference(*args, **kwargs))


def test_typed_keys_go_in_and_out():
    def function(key, shift):
        first, second = jax.random.split(key)
        return first, jax.random.fold_in(second, shift), jax.random.split(key, 3)

    key = jax.random.key(3)
    ours, theirs = qjit(function)(key, 5), jax.jit(function)(key, 5)
    for mine, reference in zip(ours, theirs, strict=True):
        assert mine.dtype == reference.dtype
        np.testing.assert_array_equal(jax.random.key_data(mine), jax.random.key_data(reference))


def test_results_outlive_the_function():
    compiled = qjit(lambda x: x * 2)
    results = [compiled(np.full(2000, float(k))) for k in range(20)]
    del compiled
    for k, result in enumerate(results):
        np.testing.assert_array_equal(result, np.full(2000, 2.0 * k))


def test_an_argument_still_being_computed():
    matrix = jnp.ones((600, 600))
    slow = jax.jit(lambda m: m @ m @ m)
    compiled = qjit(lambda m: m[-1, -1])
    compiled(matrix)
    for _ in range(3):
        assert compiled(slow(matrix)) == 360_000


def test_an_array_that_jax_does_not_lay_out_row_by_row():
    layout = jax.experimental.layout.Layout(major_to_minor=(1, 0))
    form = jax.experimental.layout.Format(layout, jnp.ones(1).sharding)
    matrix = jax.device_put(np.arange(6.0).reshape(2, 3), form)
    np.testing.assert_array_equal(qjit(lambda m: m + 1)(matrix), np.arange(6.0).reshape(2, 3) + 1)


def test_numbers_too_large_for_their_type():
    compiled = qjit(lambda x: x)
    compiled(1)
    with pytest.raises(OverflowError):
        compiled(2**70)


def test_a_deleted_array():
    compiled = qjit(lambda x: x + 1)
    array = jnp.ones(3)
    compiled(array)
    array.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        compiled(array)


def test_results_can_be_donated():
    compiled = qjit(lambda x: x + 1)
    result = compiled(np.zeros((100, 100)))
    donating = jax.jit(lambda x: x * 3, donate_argnums=0)
    np.testing.assert_array_equal(donating(result), np.full((100, 100), 3.0))
    np.testing.assert_array_equal(compiled(np.zeros((100, 100))), np.ones((100, 100)))


def test_inside_tracing_it_is_traced_inline():
    inner = qjit(lambda x: x * 2)
    assert inner(1.0) == 2
    outer = qjit(lambda x: inner(x) + inner(3.0))
    assert_same(outer(1.5), jax.jit(lambda x: x * 2 + 6.0)(1.5))
    assert [str(equation.primitive) for equation in outer.jaxpr.eqns] == ["mul", "mul", "add"]


def test_a_function_made_while_tracing_is_not_compiled_there():
    def function(x):
        @qjit
        def inner(y: float):
            return x + y

        return inner(2.0)

    assert_same(qjit(function)(1.0), jax.jit(lambda x: x + 2.0)(1.0))


def test_disable_jit_runs_python():
    seen = []

    @qjit
    def compiled(x):
        seen.append(x)
        return x + 1

    compiled(1.0)
    with jax.disable_jit():
        assert compiled(2.0) == 3.0
    assert seen[-1] == 2.0
    assert compiled(5.0) == 6.0
    assert len(seen) == 2


def test_without_64_bit_types():
    compiled, reference = qjit(lambda x: x + 1), jax.jit(lambda x: x + 1)
    for argument in (1, 1.5, np.ones(3), np.arange(3)):
        with jax.enable_x64(False):
            assert_same(compiled(argument), reference(argument))
        assert_same(compiled(argument), reference(argument))
