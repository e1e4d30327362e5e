"""`jax.random` with sizes that only the call knows: bit-identical to JAX."""

import jax
import numpy as np
import pytest

from diastase import qjit

PROGRAMS = {
    "split": lambda key, n: jax.random.key_data(jax.random.split(key, n)),
    "split pairs": lambda key, n: jax.random.key_data(jax.random.split(key, (n, 2))),
    "uniform": lambda key, n: jax.random.uniform(key, (n,)),
    "bits": lambda key, n: jax.random.bits(key, (2, n)),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_random_numbers_of_traced_sizes(name):
    program = PROGRAMS[name]
    compiled = qjit(program)
    for n in (0, 1, 2, 3, 8):
        key = jax.random.key(7 + n)
        np.testing.assert_array_equal(compiled(key, n), program(key, n))
