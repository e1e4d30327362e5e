"""What a missing axis, a negative one and one that is not there mean: as in NumPy, for any rank.

NumPy flattens an array without an axis in some functions, takes the first one, the last one or all
in others. Here is each function that is replaced while tracing and takes an axis or flattens; `xp`
is `jax.numpy` inside of `qjit` and NumPy for the reference.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit
from diastase_mlir.jax_compat import is_symbolic

AXES = [None, 0, -1, 3]

MASK = np.array([True, False])
WHERE = np.array([[1, -1, 7]])


def put(xp, x):
    if xp is jnp:
        return jnp.put(x, WHERE, MASK, "clip", inplace=False)
    x = x.copy()
    np.put(x, WHERE, MASK, "clip")
    return x


ALONG = {
    "delete": lambda xp, x, axis: xp.delete(x, 1, axis),
    "delete, from the end": lambda xp, x, axis: xp.delete(x, -1, axis=axis),
    "delete a slice": lambda xp, x, axis: xp.delete(x, slice(0, 2), axis=axis),
    "delete some": lambda xp, x, axis: xp.delete(arr=x, obj=np.array([[1, 0]]), axis=axis),
    "take": lambda xp, x, axis: xp.take(x, WHERE, axis, mode="wrap"),
    "repeat": lambda xp, x, axis: xp.repeat(x, 2, axis),
    "repeat each": lambda xp, x, axis: x.repeat(np.array([2]), axis=axis),
    "compress": lambda xp, x, axis: x.compress(MASK, axis=axis),
    "trim_zeros": lambda xp, x, axis: xp.trim_zeros(x * (x > 1), "fb", axis),
    "packbits": lambda xp, x, axis: xp.packbits(x > 1, axis, bitorder="little"),
    "unique": lambda xp, x, axis: xp.unique(x, axis=axis, return_counts=True, return_index=True),
    "array_split": lambda xp, x, axis: xp.array_split(x, 2, axis),
    "split": lambda xp, x, axis: xp.split(x, [1], axis=axis),
    "squeeze": lambda xp, x, axis: xp.squeeze(x[None], axis),
    "insert": lambda xp, x, axis: xp.insert(x, 1, 9.0, axis=axis),
    "accumulate": lambda xp, x, axis: xp.add.accumulate(x, axis or 0),
    "cumsum": lambda xp, x, axis: xp.cumsum(x, axis),
    "max": lambda xp, x, axis: [x.max(axis), xp.argmax(x, axis=axis)],
    "ptp": lambda xp, x, axis: xp.ptp(x, axis, keepdims=True),
    "sort": lambda xp, x, axis: xp.sort(x, axis=axis),
    "linspace": lambda xp, x, axis: xp.linspace(x, x + 1, 3, axis=axis),
}

FLATTENED = {
    "delete": lambda xp, x: [xp.delete(x, 1), xp.delete(x, np.array([0, 0]))],
    "take": lambda xp, x: [xp.take(x, 0), x.take(-1)],
    "packbits": lambda xp, x: xp.packbits(x > 1),
    "compress": lambda xp, x: [x.compress(MASK), xp.extract(x > 1, x)],
    "trim_zeros": lambda xp, x: xp.trim_zeros(x * (x > 1)),
    "split": lambda xp, x: [xp.split(x, [1]), xp.array_split(x, 3)],
    "sets": lambda xp, x: [xp.intersect1d(x, WHERE), xp.setdiff1d(x, WHERE)],
    "setxor1d": lambda xp, x: xp.setxor1d(xp.unique(x), WHERE),
    "unique": lambda xp, x: xp.unique(x, return_counts=True),
    "isin": lambda xp, x: [xp.isin(x, WHERE), xp.isin(WHERE, x)],
    "nonzero": lambda xp, x: [xp.flatnonzero(x), xp.argwhere(x)],
    "nonzero of any rank": lambda xp, x: xp.nonzero(x),
    "put": put,
    "resize": lambda xp, x: [xp.resize(x, 3), xp.resize(x, (2, 5)), xp.tile(x, 2)],
    "pad": lambda xp, x: [xp.pad(x, 1, mode) for mode in ("edge", "wrap", "symmetric")],
    "pad before and after": lambda xp, x: xp.pad(x, (1, 2), constant_values=7),
    "diagonal": lambda xp, x: [xp.diagonal(x, 1), x.diagonal(-1, -1, 0), xp.trace(x, 1)],
    "diagflat": lambda xp, x: xp.diagflat(x, 1),
    "bincount": lambda xp, x: xp.bincount(x.astype(int)),
    "choose": lambda xp, x: xp.choose(x.astype(int) % 2, [x, 7.0]),
    "cov": lambda xp, x: xp.cov(x),
    "cov of columns": lambda xp, x: xp.cov(x, rowvar=False),
    "vander": lambda xp, x: [xp.vander(x), xp.vander(x, 2, True)],
    "polyadd": lambda xp, x: xp.polyadd(x, WHERE[0]),
    "polyval": lambda xp, x: xp.polyval(p=WHERE[0], x=x),
    "convolve": lambda xp, x: [xp.convolve(x, x), xp.correlate(x, x, mode="same")],
    "digitize": lambda xp, x: xp.digitize(x, WHERE[0, :1]),
    "searchsorted": lambda xp, x: xp.searchsorted(xp.sort(x), WHERE),
    "rank": lambda xp, x: xp.linalg.matrix_rank(x),
    "windows": lambda xp, x: [xp.kaiser(x.size, beta=2.0), xp.kaiser(M=5, beta=2.0)],
    "sort": lambda xp, x: [xp.sort(x), xp.diff(x)],
}

CASES = {
    **{(name, shape): f for name, f in FLATTENED.items() for shape in ((4,), (2, 3, 4))},
    **{
        (f"{name}, axis {axis}", (2, 3, 4)): lambda xp, x, f=f, axis=axis: f(xp, x, axis)
        for name, f in ALONG.items()
        for axis in AXES
    },
}


def argument(shape):
    return np.random.default_rng(1).integers(0, 4, shape).astype(float)


@pytest.mark.sample(108)
@pytest.mark.parametrize(("name", "shape"), CASES)
def test_results_have_the_shapes_that_numpy_gives(name, shape):
    x, program = argument(shape), CASES[name, shape]
    try:
        expected = [np.shape(leaf) for leaf in jax.tree.leaves(program(np, x))]
    except (ValueError, TypeError, IndexError):
        expected = None
    for axes in (None, ({axis: f"n{axis}" for axis in range(x.ndim)},)):
        function = qjit(lambda x: program(jnp, x), abstracted_axes=axes)
        if expected is None:
            with pytest.raises((ValueError, TypeError, IndexError)):
                function.trace(x)
            continue
        found = [leaf.shape for leaf in jax.tree.leaves(function.trace(x).out_info)]
        assert list(map(len, found)) == list(map(len, expected))
        for size, other in zip(itertools.chain(*found), itertools.chain(*expected), strict=True):
            assert size == other or is_symbolic(size)


SCALARS = {
    "delete": lambda x: [jnp.delete(x, 0), jnp.delete(x, -1), jnp.delete(x, MASK[1:])],
    "take": lambda x: [jnp.take(x, WHERE, mode="wrap"), jnp.repeat(x, 2), x.compress(MASK[:1])],
    "packbits": lambda x: [jnp.packbits(x > 1), jnp.resize(x, 3), jnp.tile(x, 2)],
    "unique": lambda x: [jnp.unique(x), jnp.intersect1d(x, WHERE), jnp.flatnonzero(x)],
    "delete along an axis": lambda x: jnp.delete(x, 0, 0),
    "compress along an axis": lambda x: jnp.compress(MASK, x, 0),
    "trim_zeros along an axis": lambda x: jnp.trim_zeros(x, axis=0),
    "split": lambda x: jnp.split(x, [1]),
    "diagonal": lambda x: jnp.diagonal(x),
    "nonzero": lambda x: jnp.nonzero(x),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", SCALARS)
def test_scalars_have_no_axis_unless_jax_makes_one(name):
    x = np.array(3.0)
    try:
        expected = SCALARS[name](jnp.asarray(x))
    except (ValueError, IndexError) as error:
        with pytest.raises(type(error)):
            qjit(SCALARS[name]).trace(x)
        return
    jax.tree.map(np.testing.assert_array_equal, qjit(SCALARS[name])(x), expected)


@pytest.mark.sample(2)
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_elements_are_those_that_numpy_takes(axis):
    names = ["delete", "delete some", "take", "compress", "trim_zeros", "packbits", "repeat each"]
    x = argument((3, 4))
    functions = {name: ALONG[name] for name in names}
    compiled = qjit(
        lambda x: {name: function(jnp, x, axis) for name, function in functions.items()},
        abstracted_axes=({0: "rows", 1: "columns"},),
    )
    expected = {name: function(np, x, axis) for name, function in functions.items()}
    jax.tree.map(np.testing.assert_array_equal, compiled(x), expected)
