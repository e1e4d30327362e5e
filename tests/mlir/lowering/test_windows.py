"""Reductions over windows and their derivatives, of known, unknown and empty arrays."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jax import lax

from diastase import qjit
from sampled import examples

FEW = settings(
    max_examples=6, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
SIZES = (0, 1, 2, 3, 8)


def numbers(dtype, *shape):
    """Numbers with ties, and NaN where there are any."""
    random = np.random.default_rng(sum(shape))
    values = random.integers(0, 9, shape)
    if jnp.issubdtype(dtype, jnp.floating):
        values = np.where(values == 8, np.nan, values - 3.0)
    return values.astype(jnp.dtype(dtype))


axis = st.fixed_dictionaries(
    {
        "window": st.integers(1, 3),
        "stride": st.integers(1, 3),
        "padding": st.tuples(st.integers(-1, 3), st.integers(0, 3)),
        "base": st.integers(1, 3),
        "dilation": st.integers(1, 2),
    }
)


def geometry(axes):
    """What `reduce_window` takes, for axes after a first one that windows leave alone."""
    columns = {name: tuple(one[name] for one in axes) for name in axes[0]}
    return (
        (1, *columns["window"]),
        (1, *columns["stride"]),
        ((0, 0), *columns["padding"]),
        (1, *columns["base"]),
        (1, *columns["dilation"]),
    )


def combined(a, b):
    return (jnp.maximum(a[0], b[0]), a[1] + 2 * b[1])


@pytest.mark.thorough
@FEW
@given(axes=st.lists(axis, min_size=1, max_size=2))
def test_any_geometry(compare_native_dynamic, axes):
    shape = geometry(axes)

    def function(a):
        rows = a if len(axes) == 1 else a.reshape(a.shape[0], 3, 4)
        return (
            lax.reduce_window(rows, -jnp.inf, lax.max, *shape),
            lax.reduce_window(rows, 0.0, lax.add, *shape),
            lax.reduce_window(rows, 2.0, lambda x, y: x - 2 * y, *shape),
            lax.reduce_window((rows, rows), (0.0, 1.0), combined, *shape),
        )

    columns = 4 if len(axes) == 1 else 12
    arguments = [[numbers("float64", size, columns)] for size in SIZES]
    compare_native_dynamic(function, [("float64", f"n, {columns}")], arguments)


wide_axis = st.fixed_dictionaries(
    {
        "size": st.integers(3, 19),
        "window": st.integers(1, 6),
        "stride": st.integers(1, 3),
        "padding": st.tuples(st.integers(-1, 4), st.integers(-1, 4)),
        "base": st.integers(1, 3),
        "dilation": st.integers(1, 2),
        "pad": st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)),
    }
)


@settings(FEW, max_examples=examples(12))
@given(axes=st.lists(wide_axis, min_size=1, max_size=3), channels=st.sampled_from([1, 3, 16]))
def test_known_sizes(compare_native, axes, channels):
    """Formulas of few taps, axis after axis of more; what pads the array before is taken in."""
    sizes = [2, *(one["size"] for one in axes), channels]
    columns = [(*own, 1) for own in (geometry(axes)[0], geometry(axes)[1])]
    padding = (*geometry(axes)[2], (0, 0))
    columns += [padding, *((*own, 1) for own in geometry(axes)[3:])]
    pads = [(0, 0, 0), *(one["pad"] for one in axes), (1, 0, 1)]
    plain = np.nan_to_num(numbers("float64", *sizes), nan=5)

    def total(x):
        return lax.reduce_window(lax.pad(x, 0.0, pads), 0.0, lax.add, *columns)

    def function(a, x):
        return (
            lax.reduce_window(a, -jnp.inf, lax.max, *columns),
            lax.reduce_window(lax.pad(a, jnp.inf, pads), jnp.inf, lax.min, *columns) * 2 + 1,
            lax.reduce_window(a, 1.5, lax.add, *columns),
            lax.reduce_window(lax.pad(x, 1.0, pads), 0.0, lax.add, *columns),
            total(x),
            jax.grad(lambda x: (total(x) ** 2).sum())(x),
            lax.reduce_window(x.astype(int), 1, lax.mul, *columns),
            *lax.reduce_window((x, x.astype(int)), (0.0, 1), combined, *columns),
            lax.reduce_window((x, x), (0.0, 1.0), combined, *columns)[1],
        )

    compare_native(function, numbers("float64", *sizes), plain)


@pytest.mark.sample(2)
@pytest.mark.parametrize(("window", "stride"), [(33, 1), (50, 4), (64, 8), (64, 64), (1100, 1)])
def test_wide_windows(compare_native, window, stride):
    """Windows of windows, what is left over, and those that are too far apart for it."""
    geometry = (1, window, 1), (1, stride, 1), ((0, 0), (window // 2, 70), (0, 0))

    def function(a, x):
        return (
            lax.reduce_window(a, -jnp.inf, lax.max, *geometry),
            lax.reduce_window(x, 0.0, lax.add, *geometry),
            lax.reduce_window(x.astype(int), 0, lax.add, *geometry),
        )

    compare_native(
        function, numbers("float64", 2, 300, 3), np.cos(np.arange(1800.0)).reshape(2, 300, 3)
    )


@pytest.mark.parametrize(("window", "stride"), [(2, 2), (3, 2), (3, 3), (4, 2), (2, 3)])
def test_gradients_of_average_pools(compare_native, window, stride):
    """Of windows that touch, that overlap, and that leave gaps; channels last and first."""
    for around in (lambda own: (1, *own, 1), lambda own: (1, 1, *own)):

        def pool(x, around=around):
            size, steps = around((window, window)), around((stride, stride))
            return lax.reduce_window(x, 0.0, lax.add, size, steps, "SAME") / window**2

        def function(x, pool=pool):
            return jax.grad(lambda x: (jnp.sin(pool(x)) ** 2).sum())(x)

        compare_native(function, np.cos(np.arange(2.0 * 8 * 9 * 4)).reshape(2, 8, 9, 4))


@pytest.mark.parametrize("base_dilation", [1, 2])
def test_an_initial_value_counts_once_for_each_window(base_dilation):
    function = qjit(
        lambda a: lax.reduce_window(
            a, 10.0, lax.add, (3,), (1,), ((2, 1),), base_dilation=(base_dilation,)
        )
    )
    spread = np.zeros(3 * base_dilation - base_dilation + 1)
    spread[::base_dilation] = [1, 2, 3]
    expected = 10 + np.convolve(np.pad(spread, (2, 1)), np.ones(3), "valid")
    np.testing.assert_array_equal(function(np.array([1.0, 2, 3])), expected)


@pytest.mark.sample(2)
@pytest.mark.parametrize("padding", ["SAME", "VALID", ((2, 1),)])
def test_window_along_an_unknown_size(compare_native_dynamic, padding):
    def function(a):
        return (
            lax.reduce_window(a, -jnp.inf, lax.max, (3,), (2,), padding),
            lax.reduce_window(a, jnp.inf, lax.min, (2,), (1,), padding),
            lax.reduce_window(a, 0.0, lax.add, (3,), (1,), padding, None, (2,)),
            lax.reduce_window(a, 1.0, lax.mul, (2,), (3,), padding),
        )

    arguments = [[numbers("float64", size)] for size in (3, 5, 6, 11)]
    compare_native_dynamic(function, [("float64", "n")], arguments)


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int8", "uint32", "bool"])
def test_element_types(compare_native_dynamic, dtype):
    def function(a):
        least, most = (lax.reduce_min(a, (0, 1)), lax.reduce_max(a, (0, 1)))
        extremes = [
            lax.reduce_window(a, start, kind, (2, 2), (1, 1), "SAME")
            for start, kind in ((least, lax.max), (most, lax.min))
        ]
        if dtype == "bool":
            return (*extremes, lax.reduce_window(a, False, lax.bitwise_or, (2, 2), (1, 1), "SAME"))
        zero = jnp.zeros((), dtype)
        return (*extremes, lax.reduce_window(a, zero, lax.add, (2, 2), (1, 2), "SAME"))

    arguments = [[numbers(dtype, size, 3)] for size in (1, 2, 5)]
    compare_native_dynamic(function, [(dtype, "n, 3")], arguments)


def test_complex_sums(compare_native_dynamic):
    def function(a):
        return lax.reduce_window(a, 0j, lax.add, (2,), (1,), ((1, 0),))

    arguments = [[numbers("float64", size) * (1 + 2j)] for size in SIZES]
    compare_native_dynamic(function, [("complex128", "n")], arguments)


def pooled(kind, padding="SAME"):
    start = -np.inf if kind is lax.max else np.inf
    return lambda a: lax.reduce_window(a, start, kind, (1, 2, 3), (1, 2, 1), padding)


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", [lax.max, lax.min])
@pytest.mark.parametrize("padding", ["SAME", "VALID", ((0, 0), (1, 2), (0, 1))])
def test_derivatives_of_extremes(compare_native_dynamic, kind, padding):
    pool = pooled(kind, padding)

    def function(a):
        gradient = jax.grad(lambda x: (pool(x) ** 2).sum())
        return (
            gradient(jnp.where(jnp.isnan(a), -jnp.inf, a)),
            # Which tangent a window with a NaN has depends on the order in which XLA goes.
            jax.jvp(pool, (jnp.nan_to_num(a),), (jnp.cos(a),))[1],
            jax.jvp(gradient, (jnp.nan_to_num(a),), (a + 1,))[1],
        )

    arguments = [[numbers("float64", size, 5, 4)] for size in (0, 1, 3)]
    compare_native_dynamic(function, [("float64", "n, 5, 4")], arguments)


def test_derivatives_of_extremes_of_known_sizes(compare_native):
    pool = pooled(lax.max)
    for dtype in ("bfloat16", "float32"):
        a = numbers(dtype, 2, 5, 4)
        compare_native(lambda x: jax.grad(lambda y: pool(y).sum())(x), a)
    compare_native(lambda x: jax.grad(lambda y: pool(y).sum())(x), np.ones((0, 5, 4)))


def test_derivative_along_an_unknown_size(compare_native_dynamic):
    def function(a):
        total = lambda x: lax.reduce_window(x, 0.0, lax.add, (3,), (2,), "SAME")  # noqa: E731
        most = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (3,), (2,), "SAME")  # noqa: E731
        return jax.grad(lambda x: (total(x) ** 2).sum() + most(x).sum())(a)

    arguments = [[numbers("float64", size)] for size in (1, 2, 5, 8)]
    compare_native_dynamic(function, [("float64", "n")], arguments)


def test_windows_whose_own_size_is_unknown():
    """Their strides and dilations as well; of several arrays of several types at once."""

    def combined(a, b):
        return (jnp.maximum(a[0], b[0]), a[1] + 2 * b[1], a[2] + b[2])

    def function(a):
        n = a.shape[0]
        window, counts = (n // 2,), (a * 3).astype(np.int32)

        def pool(a):
            return lax.reduce_window(a, -jnp.inf, lax.max, window, (2,), ((1, 2),))

        def spread(a):
            return lax.reduce_window(a, -jnp.inf, lax.max, window, (n // 4,), "VALID")

        several, initial = (a, counts, a * 1j), (0.0, np.int32(1), 0j)
        geometry = (window, (n // 4,), ((0, 1),), (n // 4 + 1,), (n // 3,))
        return (
            lax.reduce_window(a, 0.0, lax.add, window, (1,), ((n // 3, 1),)),
            pool(a),
            *lax.reduce_window(several, initial, combined, *geometry),
            jax.jvp(pool, (a,), (a * 2,))[1],
            jax.grad(lambda a: (pool(a) ** 2).sum())(a),
            jax.grad(lambda a: (spread(a) ** 2).sum())(a),
        )

    compiled = qjit(function, abstracted_axes=({0: "n"},))
    for size in (4, 5, 9):
        argument = jnp.round(jnp.sin(jnp.arange(size * 1.0)) * 3)
        for one, other in zip(compiled(argument), function(argument), strict=True):
            np.testing.assert_allclose(one, other)


@pytest.mark.sample(4)
@pytest.mark.parametrize("dtype", ["float32", "uint8", "int64"])
@pytest.mark.parametrize("window", [(1, 40), (6, 33), (34, 9), (90, 1)])
@pytest.mark.parametrize("shape", [(90, 101), (100, 40), (68, 33), (2, 3)])
def test_wide_windows_without_overlap(compare_native, dtype, window, shape):
    x = np.random.default_rng(1).integers(0, 9, shape).astype(dtype)
    least = -np.inf if dtype == "float32" else np.iinfo(dtype).min

    def function(x):
        return tuple(
            lax.reduce_window(x, np.array(first, dtype), combine, window, window, "VALID")
            for first, combine in ((0, lax.add), (least, lax.max))
        )

    compare_native(function, x)


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("window", "stride", "padding"),
    [(56, 56, "VALID"), (56, 56, "SAME"), (12, 10, "VALID"), (13, 9, "SAME"), (40, 50, "VALID"),
     (9, 30, "SAME"), (31, 11, "SAME")],
)  # fmt: skip
def test_gradients_of_sums_over_windows(compare_native, window, stride, padding):
    def loss(x):
        sums = lax.reduce_window(x, 0.0, lax.add, (window, 2), (stride, 3), padding)
        return (sums**2).sum()

    compare_native(lambda x: (jax.grad(loss)(x),), np.linspace(-1.0, 1.0, 112 * 9).reshape(112, 9))


def test_separate_windows_are_reductions_and_their_gradients_copies():
    """A gradient took for each element as many turns as the window has taps."""

    def total(x):
        return lax.reduce_window(x, 0.0, lax.add, (64, 48), (64, 48), "VALID")

    x = np.ones((128, 48))
    texts = [
        qjit(function).lower(x).as_text("bufferize")
        for function in (total, jax.grad(lambda x: (total(x) ** 2).sum()))
    ]
    loops = [re.findall(r"iterator_types = .*reduction", text) for text in texts]
    assert [len(found) for found in loops] == [1, 1]  # the gradient has the sums', no other
    assert "scf.for" not in "".join(texts)
