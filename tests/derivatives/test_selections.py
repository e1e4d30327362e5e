"""Vectors made of elements of others, by slices: beside an index array, for every short one."""

import itertools

import jax.numpy as jnp
import numpy as np

from diastase.tracing.derivatives.selections import picked

VECTOR = np.arange(10.0, 14.0)


def test_picked_elements_are_those_of_an_index_array():
    """Zero at -1, which ends a stretch even where it is in equal steps: 2, 1, 0, -1."""
    for length in (1, 2, 3, 4):
        for chosen in itertools.product(range(-1, 4), repeat=length):
            places = np.array(chosen)
            expected = np.where(places < 0, 0.0, VECTOR[places])
            found = picked(jnp.asarray(VECTOR), places)
            np.testing.assert_array_equal(found, expected, err_msg=str(chosen))
