"""Vectors made of elements of others, by slices or a table: beside an index array."""

import itertools

import jax.numpy as jnp
import numpy as np

from diastase_mlir.rerolling.vectors import picked, put_into_places

VECTOR = np.arange(10.0, 14.0)


def test_picked_elements_are_those_of_an_index_array():
    """Every short one. Zero at -1, which ends a stretch even in equal steps: 2, 1, 0, -1."""
    for length in (1, 2, 3, 4):
        for chosen in itertools.product(range(-1, 4), repeat=length):
            check(np.array(chosen))


def test_elements_in_no_order():
    """By a table, however many they are."""
    for least in (-1, 0):
        check(np.random.default_rng(1).integers(least, 4, 50))


def test_numbers_are_added_in_their_places():
    """Few or many for each element, some elements having none."""
    random = np.random.default_rng(2)
    for size, count in ((1, 9), (6, 3), (6, 9), (4, 90)):
        pieces = [(random.integers(0, size, n), random.integers(0, 4, n)) for n in (count, 1)]
        expected = np.zeros(size)
        for targets, sources in pieces:
            np.add.at(expected, targets, VECTOR[sources])
        found = put_into_places(size, pieces, jnp.asarray(VECTOR))
        np.testing.assert_allclose(found, expected)


def check(places):
    expected = np.where(places < 0, 0.0, VECTOR[places])
    found = picked(jnp.asarray(VECTOR), places)
    np.testing.assert_array_equal(found, expected, err_msg=str(places))
