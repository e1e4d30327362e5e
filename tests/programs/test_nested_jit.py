"""Functions under `jax.jit` and `qjit` called inside a program: traced inline, as `jax.jit` would.

What `jax.jit` does with an argument happens here, too: numbers and NumPy arrays are arrays inside.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit


@pytest.mark.parametrize("compile_inner", [jax.jit, qjit])
def test_numbers_are_arrays_inside(compile_inner):
    @compile_inner
    def inner(x, y):
        return 1 / y, x // y, x % y, x**2, y.astype(float), y.shape

    @qjit
    def outer(x):
        return inner(x, 0)[:-1], inner(2**62, 4)[:-1]

    expected = jax.jit(lambda x, y: inner.__wrapped__(x, y)[:-1])
    for found, wanted in zip(outer(5), (expected(5, 0), expected(2**62, 4)), strict=True):
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, other)
            assert (one.dtype, one.weak_type) == (other.dtype, other.weak_type)


@pytest.mark.parametrize("compile_inner", [jax.jit, qjit])
def test_static_arguments_stay_as_they_are(compile_inner):
    def function(x, n, *, mode, scale=1.0):
        assert (type(n), type(mode)) == (int, str)
        return x * n * scale.astype(int)

    inner = compile_inner(function, static_argnums=1, static_argnames="mode")
    assert qjit(lambda x: inner(x, 3, mode="a", scale=2.0))(5) == 30


def test_numpy_arrays_are_arrays_inside():
    inner = jax.jit(lambda tree: tree["a"].at[0].set(9) * tree["b"][0])
    found = qjit(lambda x: inner({"a": np.arange(3), "b": [x, None]}))(2)
    np.testing.assert_array_equal(found, [18, 2, 4])


def test_sizes_made_inside_are_known_outside():
    inner = jax.jit(lambda n: jnp.arange(n) * 2)
    compiled = qjit(lambda n: inner(n).sum() + inner(n + 1).shape[0])
    assert [int(compiled(n)) for n in (0, 3)] == [1, 10]


def test_too_large_a_number_is_refused():
    inner = jax.jit(lambda a: a * 4)
    with pytest.raises(OverflowError):
        qjit(lambda x: inner(2**64) + x)(1)


@pytest.mark.parametrize("name", ["rayleigh", "wald"])
def test_distributions_with_numbers_as_parameters(name):
    draw = getattr(jax.random, name)
    found = qjit(lambda key: draw(key, 2.0, (4,)))(jax.random.key(1))
    np.testing.assert_allclose(found, draw(jax.random.key(1), 2.0, (4,)), rtol=1e-12)
