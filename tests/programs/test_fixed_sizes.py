"""What can be traced for one size at a time only: a program for each, as plain JAX has."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit
from diastase_runtime.errors import AssumptionError, DiastaseError

SIZES = (3, 1, 8, 0, 2, 3)


def sum_in_python(x):
    total = jnp.zeros(())
    for position in range(x.shape[0]):
        total = total * 2 + x[position]
    return total


OF_ARRAYS = {
    "associative scan": lambda x: jax.lax.associative_scan(jnp.add, x),
    "a loop of Python's": sum_in_python,
    "a list of elements": lambda x: [x[k] * k for k in range(x.shape[0])][:3],
    "a size in numpy": lambda x: x + np.arange(int(x.shape[0])),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", OF_ARRAYS)
def test_of_any_array(name):
    function = OF_ARRAYS[name]
    compiled = qjit(function, abstracted_axes=("n",))
    for size in SIZES:
        x = np.cos(np.arange(size) * 2.0)
        found, expected = jax.tree.leaves(compiled(x)), jax.tree.leaves(function(x))
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


def test_of_a_size():
    compiled = qjit(lambda n: jax.lax.associative_scan(jnp.multiply, jnp.arange(n) + 1.0))
    for size in SIZES:
        np.testing.assert_allclose(compiled(size), np.cumprod(np.arange(size) + 1.0), rtol=1e-12)


def test_each_size_is_compiled_once():
    traced = []

    def function(x):
        total = jnp.zeros(())
        for position in range(x.shape[0]):
            total = total + x[position]
        traced.append(x.shape)
        return total

    compiled = qjit(function, abstracted_axes=("n",))
    for size in (3, 5, 3, 5, 5, 3):
        assert float(compiled(np.ones(size))) == size
    assert traced == [(3,), (5,)]


def test_more_programs_than_are_kept():
    compiled = qjit(sum_in_python, abstracted_axes=("n",))
    for size in (*range(60), *range(0, 60, 20)):
        assert float(compiled(np.ones(size))) == 2.0**size - 1


def test_the_first_error_is_raised_where_no_size_helps():
    compiled = qjit(lambda n, m: jnp.ones(n) + jnp.ones(m))
    assert compiled(3, 3).shape == (3,)
    with pytest.raises(DiastaseError, match="not known to be equal"):
        compiled(3, 4)


def test_errors_of_the_users_are_raised_as_they_are():
    def refuse(n):
        raise ValueError("none of these")

    with pytest.raises(ValueError, match="none of these"):
        qjit(refuse)(3)


def test_ahead_of_time_nothing_is_fixed():
    function = qjit(sum_in_python, abstracted_axes=("n",))
    with pytest.raises(DiastaseError):
        function.trace(np.ones(3))
    length = qjit(lambda x: x * 2 if x.shape[0] >= 2 else x, abstracted_axes=("n",))
    with pytest.raises(AssumptionError):
        length.lower(np.ones(3)).compile()(np.ones(1))
