"""Sizes that only the call knows and that do not fit: an error, never a wrong array or a crash."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import DiastaseError, pure_callback, qjit
from diastase_runtime.errors import OutOfMemoryError, SizeMismatchError


@pytest.mark.parametrize(
    ("program", "fitting", "others"),
    [
        (lambda n: jnp.arange(n).reshape(n // 2, 2), (4,), [(5,), (1,)]),
        (lambda n, m: jnp.arange(n).reshape(m), (5, 5), [(5, 2), (2, 5), (5, 0), (0, 5)]),
        (lambda n, m: jnp.arange(n).reshape(m, 3), (6, 2), [(5, 2), (7, 2)]),
        (lambda n: jnp.ones((n, 4)).reshape(2 * n, 2), (3,), []),
    ],
    ids=["half", "any", "threes", "same"],
)
def test_a_new_shape_must_have_as_many_elements(program, fitting, others):
    compiled = qjit(program)
    np.testing.assert_array_equal(compiled(*fitting), program(*fitting))
    for sizes in others:
        with pytest.raises(SizeMismatchError):
            compiled(*sizes)


def test_division_by_a_size_of_zero_does_not_end_the_process():
    roll = qjit(lambda n: jnp.roll(jnp.arange(n), 1))
    np.testing.assert_array_equal(roll(4), [3, 0, 1, 2])
    assert roll(0).shape == (0,)
    thirds = qjit(lambda n, m: jnp.ones(n // m))
    assert thirds(7, 3).shape == (2,)
    with pytest.raises(DiastaseError):
        thirds(7, 0)


HUGE = 2**62


@pytest.mark.parametrize(
    "function",
    [
        lambda n: jnp.ones(n * 4).reshape(n, 4)[5, 0],
        lambda n: jnp.ones((n, 4)).reshape(-1),
        lambda n: jnp.ones(n * n * 3),
        lambda n: jnp.arange(4 * n).reshape(4, n).T,
        lambda n: jnp.zeros((n, 0)),  # nothing, but an array that NumPy does not make
        lambda n: pure_callback(lambda _: 1.0, float)(jnp.zeros((0, n))),
    ],
)
def test_a_size_whose_multiple_would_wrap_around(function):
    with pytest.raises(OutOfMemoryError):
        jax.block_until_ready(qjit(function)(HUGE))


def test_a_shape_whose_number_of_elements_would_wrap_around():
    function = qjit(lambda n, m: jnp.ones(n).reshape(m, 4)[m - 1])
    assert function(8, 2).tolist() == [1.0] * 4
    with pytest.raises((SizeMismatchError, OutOfMemoryError)):
        function(4, HUGE + 1)  # (2**62 + 1) * 4 is 4 in 64 bits
