"""`unique` and set operations: as many elements as the data say, against plain JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diastase import qjit

ALL = {"return_index": True, "return_inverse": True, "return_counts": True}
PROGRAMS = {
    "unique": lambda a, b: (jnp.unique(a), jnp.unique(jnp.stack([a, a]), axis=1, **ALL)),
    "unique, all": lambda a, b: jnp.unique(a, **ALL),
    "unique rows": lambda a, b: jnp.unique(jnp.stack([a > 0, b[: a.shape[0]]], 1), axis=0, **ALL),
    "unique of a square": lambda a, b: jnp.unique(a[:, None] * a[None, :] % 2, axis=0),
    "unique, of a size": lambda a, b: jnp.unique(a, size=4, fill_value=-9.0),
    "by name": lambda a, b: (jnp.unique_values(a), jnp.unique_counts(a), jnp.unique_inverse(a)),
    "union": lambda a, b: (jnp.union1d(a, b), jnp.union1d(a, b, size=5)),
    "intersection": lambda a, b: jnp.intersect1d(a, b, return_indices=True),
    "intersection, of a size": lambda a, b: jnp.intersect1d(a, b, return_indices=True, size=3),
    "differences": lambda a, b: (
        jnp.setdiff1d(a, b), jnp.setdiff1d(a, b, size=3, fill_value=7), jnp.setxor1d(a, b),
        jnp.setxor1d(a, b, size=3),
    ),
    "isin": lambda a, b: [
        jnp.isin(a, b, method=method, invert=invert)
        for method in ("auto", "sort", "binary_search") for invert in (False, True)
    ],
    "bincount": lambda a, b: (
        jnp.bincount(a.astype(int), weights=a), jnp.bincount(a.astype(int), length=3),
        jnp.bincount(a > 0), jnp.bincount(a.astype("uint8"), minlength=2),
    ),
    "nonzero, of a size": lambda a, b: (
        jnp.nonzero(a, size=3), jnp.nonzero(a[:, None] > b, size=3, fill_value=-1),
        jnp.where(a > 0, size=2, fill_value=(7,)), jnp.argwhere(a > 0, size=3),
    ),
}  # fmt: skip
REFUSED_EMPTY = ("unique of a square", "intersection, of a size")
"""Of empty arrays JAX 0.10 makes an error here, or (of a square) a row where there is none."""
KNOWN = np.array([0.0, 2.0, 2.0, 5.0])


def assert_same(found, expected):
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        # NumPy does not know the NaN of bfloat16 as one.
        np.testing.assert_array_equal(one.astype(complex), other.astype(complex))


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_plain_jax(name):
    function, traces = PROGRAMS[name], []

    @qjit
    def compiled(n, a, b):
        traces.append(n)
        return function(a[:n], jnp.concatenate([b, a])[: b.shape[0] + n])

    for n in (3, 0, 1):
        a = np.random.default_rng(n).integers(0, 4, 100).astype(float)
        found, both = compiled(n, a, KNOWN), jnp.concatenate([KNOWN, a])[: 4 + n]
        if n > 0 or name not in REFUSED_EMPTY:
            assert_same(found, function(jnp.asarray(a[:n]), both))
    assert len(traces) == 1


SPECIAL = {
    "float64": [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.5, 1.5, np.nan],
    "float16": [0.0, -0.0, np.nan, np.inf, 1.5, 1.5, np.nan],
    "bfloat16": [0.0, -0.0, np.nan, np.inf, 1.5, 1.5, np.nan],
    "complex128": [1 + 2j, complex(np.nan, 1), complex(1, np.nan), 1 - 2j, 1 + 2j, 0, -0.0],
    "bool": [True, False, True],
    "uint8": [255, 0, 7, 255],
    "int8": [-128, 127, 0, -128],
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", SPECIAL)
def test_types_and_special_values(dtype):
    values = jnp.array(SPECIAL[dtype]).astype(dtype)
    function = lambda a: (jnp.unique(a, **ALL), jnp.unique(a, equal_nan=False))  # noqa: E731
    compiled = qjit(lambda n, a: function(a[:n]))
    for n in (values.shape[0], 0):
        found, expected = compiled(n, values), function(values[:n])
        assert_same(found, expected)
        for one, other in zip(found[0], expected[0], strict=True):
            real = np.asarray(one.astype(complex)), np.asarray(other.astype(complex))
            np.testing.assert_array_equal(*map(np.signbit, (real[0].real, real[1].real)))


@qjit
def several(n, a, mask):
    a, mask = a[:n], mask[:n]
    return a[mask], jnp.nonzero(mask)[0], a.at[mask].add(a[mask]), jnp.unique(a[mask])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(-3, 3), st.booleans()), max_size=20))
def test_random_masks(pairs):
    a = np.array([value for value, _ in pairs] + [0] * (20 - len(pairs)))
    mask = np.array([flag for _, flag in pairs] + [True] * (20 - len(pairs)))
    found = several(len(pairs), a, mask)
    a, mask = a[: len(pairs)], mask[: len(pairs)]
    expected = a[mask], np.nonzero(mask)[0], np.where(mask, 2 * a, a), np.unique(a[mask])
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
