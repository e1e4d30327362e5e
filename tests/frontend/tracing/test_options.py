"""Options of functions that are replaced while tracing, and their defaults, on sizes not known.

What an axis means is in `test_axes`. The reference is plain JAX.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit

V = np.array([1.0, 3.0, 0.0, 2.0, 5.0, 1.0])
X = np.array([[2.0, 0.0, 3.0], [1.0, 4.0, 2.0]])
I = np.array([1, 0])  # noqa: E741

MODES = ("clip", "wrap", "fill", None)
PADDED = ("constant", "edge", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect",
          "symmetric", "wrap")  # fmt: skip

PROGRAMS = {
    "searchsorted": lambda v, x, i: [
        jnp.searchsorted(jnp.sort(v), 2.0),
        *(jnp.searchsorted(jnp.sort(v), x.ravel(), side=side) for side in ("left", "right")),
        jnp.searchsorted(v, x, sorter=jnp.argsort(v), side="right"),
        jnp.searchsorted(jnp.sort(v), x, method="compare_all", side="right"),
    ],
    "digitize": lambda v, x, i: [
        jnp.digitize(x, jnp.sort(v)),
        jnp.digitize(x, jnp.sort(v)[::-1], right=True),
    ],
    "take": lambda v, x, i: [
        *(jnp.take(v, i + 5, mode=mode) for mode in MODES),
        *(jnp.take(x, i - 9, axis=1, mode=mode) for mode in MODES),
        jnp.take(v, i * 7, mode="fill", fill_value=-5),
    ],
    "places": lambda v, x, i: [
        *(jnp.choose(i * 3, [v[:2], 7.0], mode=mode) for mode in MODES[:2]),
        *(jnp.ravel_multi_index((i * 3, i + 1), (3, 4), mode=mode) for mode in MODES[:2]),
        jnp.ravel_multi_index((i * 0, i), (3, 4), mode="clip", order="F"),
        *(jnp.put(v, i + 2, 9.0, mode=mode, inplace=False) for mode in ("clip", "wrap", None)),
    ],
    "pad": lambda v, x, i: [
        *(jnp.pad(v, (2, 3), mode=mode) for mode in PADDED),
        *(jnp.pad(v, (9, 8), mode=mode) for mode in ("wrap", "symmetric", "reflect")),
        jnp.pad(v, 2, "linear_ramp", end_values=(3, 4)),
        *(jnp.pad(v, 2, mode, reflect_type="odd") for mode in ("reflect", "symmetric")),
        jnp.pad(x, [(1, 2)], constant_values=[(3, 4)]),
    ],
    "convolve": lambda v, x, i: [
        *(jnp.convolve(v, x[0], mode) for mode in ("full", "same", "valid")),
        *(jnp.correlate(v, x[0], mode) for mode in ("full", "same", "valid")),
        jnp.convolve(x[0], v),
        jnp.correlate(x[0], v),
    ],
    "unique": lambda v, x, i: [
        jnp.unique(v, return_index=True, return_inverse=True, return_counts=True),
        jnp.unique(v, size=3, fill_value=-1),
    ],
    "sets": lambda v, x, i: [
        jnp.intersect1d(v, x, return_indices=True),
        jnp.isin(x, v, invert=True),
    ],
    "counting": lambda v, x, i: [
        jnp.bincount(i),
        jnp.bincount(i, minlength=5),
        jnp.bincount(i, weights=v[:2], length=3),
        jnp.nonzero(x, size=4, fill_value=9),
        jnp.where(x > 1, size=2, fill_value=(7, 8)),
        jnp.trim_zeros(v * (v > 1), "f"),
        jnp.insert(v, i, 7.0),
        jnp.delete(x, slice(None, None, 2), axis=1),
    ],
    "bits and parts": lambda v, x, i: [
        jnp.packbits(x > 1, axis=-1, bitorder="little"),
        jnp.unpackbits(i.astype(np.uint8), count=5),
        jnp.compress(jnp.array([False, True]), x, axis=0, size=2, fill_value=5.0),
        jnp.array_split(v, 4),
        jnp.hsplit(v, [1, 3]),
        jnp.linspace(v, v + 1, 4, axis=1, endpoint=False, retstep=True),
    ],
    "polynomials": lambda v, x, i: [
        jnp.vander(v, increasing=True),
        jnp.vander(v, 3),
        jnp.polyval(v, x, unroll=2),
        jnp.polysub(v, v[:2]),
        jnp.linalg.matrix_rank(x, rtol=0.5),
        jnp.diagonal(x, offset=1),
        jnp.fill_diagonal(x, 5.0, inplace=False),
    ],
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_options_mean_what_they_mean_in_jax(name):
    compiled = qjit(PROGRAMS[name], abstracted_axes=({0: "n"}, {0: "a", 1: "b"}, {}))
    found, structure = jax.tree.flatten(compiled(V, X, I))
    expected, same = jax.tree.flatten(PROGRAMS[name](*map(jnp.asarray, (V, X, I))))
    assert structure == same
    for number, (result, right) in enumerate(zip(found, expected, strict=True)):
        assert (result.shape, result.dtype) == (right.shape, right.dtype), number
        np.testing.assert_allclose(result, right, rtol=1e-12, atol=1e-12, err_msg=str(number))
