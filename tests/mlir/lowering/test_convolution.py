"""Convolutions of known, unknown and empty sizes, with all that `conv_general_dilated` takes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jax import lax

from diastase import qjit
from diastase_mlir.passes.tensors.arrays_to_loops import patches

FEW = settings(
    max_examples=6, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
convolve = lax.conv_general_dilated


def numbers(dtype, *shape):
    random = np.random.default_rng(sum(shape))
    values = random.integers(0, 5, shape)
    if "complex" in dtype:
        values = values + 1j * random.integers(-3, 3, shape)
    return values.astype(jnp.dtype(dtype))


axis = st.fixed_dictionaries(
    {
        "stride": st.integers(1, 3),
        "padding": st.tuples(st.integers(-1, 3), st.integers(0, 2)),
        "left": st.integers(1, 3),
        "right": st.integers(1, 2),
    }
)
layouts = st.sampled_from(
    [("NCHW", "OIHW", "NCHW"), ("NHWC", "HWIO", "NHWC"), ("HNCW", "WOIH", "CHWN")]
)
groups = st.sampled_from([(1, 1), (2, 1), (1, 2)])


@FEW
@given(first=axis, second=axis, layout=layouts, groups=groups, unknown=st.sampled_from("NH"))
def test_any_parameters(compare_native_dynamic, first, second, layout, groups, unknown):
    feature_groups, batch_groups = groups
    parameters = {
        name: (first[key], second[key])
        for name, key in (
            ("window_strides", "stride"),
            ("padding", "padding"),
            ("lhs_dilation", "left"),
            ("rhs_dilation", "right"),
        )
    }
    # Batches in groups must be a multiple of them: then the unknown size is a spatial one.
    unknown = "H" if batch_groups > 1 else unknown
    extents = {"N": 2, "C": 4, "H": 5, "W": 4}
    kernel = {"O": 4, "I": 4 // feature_groups, "H": 2, "W": 3}
    shape = ", ".join("n" if name == unknown else str(extents[name]) for name in layout[0])

    def function(x):
        y = jnp.asarray(numbers("float64", *(kernel[name] for name in layout[1])))
        return convolve(
            x,
            y,
            **parameters,
            dimension_numbers=layout,
            feature_group_count=feature_groups,
            batch_group_count=batch_groups,
        )

    arguments = [
        [numbers("float64", *((extents | {unknown: size})[name] for name in layout[0]))]
        for size in ((4, 5, 9) if unknown == "H" else (0, 1, 3))
    ]
    compare_native_dynamic(function, [("float64", shape)], arguments)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float32", "complex64", "complex128", "int8", "uint16"]
)
def test_element_types(compare_native_dynamic, dtype):
    def function(x, y):
        same = convolve(x, y, (2,), "SAME")
        if dtype in ("int8", "float16"):
            wide = "int32" if dtype == "int8" else "float32"
            return same, convolve(x, y, (1,), "SAME", preferred_element_type=wide)
        return same

    arguments = [[numbers(dtype, size, 2, 5), numbers(dtype, 3, 2, 2)] for size in (0, 1, 4)]
    compare_native_dynamic(function, [(dtype, "n, 2, 5"), (dtype, "3, 2, 2")], arguments)


def test_empty(compare_native):
    kernel = np.ones((3, 2, 2))
    padded = lambda x, y: convolve(x, y, (1,), ((1, 2),))  # noqa: E731
    compare_native(padded, np.ones((0, 2, 4)), kernel)
    compare_native(padded, np.ones((1, 2, 0)), kernel)
    compare_native(padded, np.ones((1, 0, 4)), np.ones((3, 0, 2)))
    compare_native(padded, np.ones((1, 2, 4)), np.ones((0, 2, 2)))


def test_derivatives(compare_native_dynamic):
    def function(x, y):
        square = lambda x, y: (convolve(x, y, (2,), ((1, 1),)) ** 2).sum()  # noqa: E731
        return jax.grad(square, (0, 1))(x, y)

    arguments = [
        [numbers("float64", size, 2, 7), numbers("float64", 3, 2, 3)] for size in (0, 1, 3)
    ]
    compare_native_dynamic(function, [("float64", "n, 2, 7"), ("float64", "3, 2, 3")], arguments)


def test_transposed_and_patches(compare_native_dynamic):
    def function(x, y):
        layout = ("NWC", "WIO", "NWC")
        return (
            lax.conv_transpose(x, y, (2,), "SAME", dimension_numbers=layout),
            lax.conv_general_dilated_patches(x, (2,), (1,), "SAME", dimension_numbers=layout),
            jax.vmap(lambda row: jnp.convolve(row, y[:, 0, 0], "full"))(x[..., 0]),
        )

    arguments = [[numbers("float64", size, 6, 2), numbers("float64", 3, 2, 4)] for size in (1, 3)]
    compare_native_dynamic(function, [("float64", "n, 6, 2"), ("float64", "3, 2, 4")], arguments)


LAYOUTS = [("NCHW", "OIHW", "NCHW"), ("NHWC", "HWIO", "NHWC"), ("HNCW", "WOIH", "CHWN")]


def case(layout, features, groups=1, channels=4):
    extents = {"N": 3, "C": channels, "H": 9, "W": 8}
    kernel = {"O": features, "I": channels // groups, "H": 3, "W": 2}
    return (
        numbers("float64", *(extents[name] for name in layout[0])),
        numbers("float64", *(kernel[name] for name in layout[1])),
    )


@pytest.mark.sample(2)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rows_at_once", [2**19, 2**8])
def test_few_and_many_features(compare_native, monkeypatch, layout, rows_at_once):
    """In place and by patches, of a whole entry and of two rows at a time; with derivatives."""
    monkeypatch.setattr(patches, "LARGEST_PATCHES", rows_at_once)
    cases = [(2, 1), (4, 4), (16, 2), (24, 1)]
    operands = [case(layout, features, groups) for features, groups in cases]

    def function(*pairs):
        results = []
        for (x, y), (_, groups) in zip(
            zip(pairs[::2], pairs[1::2], strict=True), cases, strict=True
        ):

            def apply(x, y, groups=groups):
                padding = ((1, 2), (0, 1))
                return convolve(
                    x,
                    y,
                    (2, 1),
                    padding,
                    (1, 2),
                    (2, 1),
                    dimension_numbers=layout,
                    feature_group_count=groups,
                )

            results += [apply(x, y), *jax.grad(lambda x, y: (apply(x, y) ** 2).sum(), (0, 1))(x, y)]
        return results

    compare_native(function, *[array for pair in operands for array in pair])


def test_all_sizes_unknown(compare_native_dynamic, monkeypatch):
    monkeypatch.setattr(patches, "LARGEST_PATCHES", 2**9)

    def function(x, y):
        return (
            convolve(x, y, (1, 1), "SAME"),
            convolve(x, y, (2, 3), ((1, 1), (2, 2))),
            jax.vmap(lambda y: convolve(x, y, (1, 1), "SAME"))(jnp.stack([y, 2 * y])),
        )

    sizes = [(1, 2, 3, 4, 6), (2, 1, 9, 8, 1), (0, 2, 5, 5, 3), (3, 3, 12, 20, 8)]
    arguments = [
        [numbers("float64", n, c, h, w), numbers("float64", f, c, 3, 2)] for n, c, h, w, f in sizes
    ]
    specs = [("float64", "n, c, h, w"), ("float64", "f, c, 3, 2")]
    compare_native_dynamic(function, specs, arguments)


def test_many_features_are_multiplied_by_blas(compare_native):
    x, y = case(LAYOUTS[0], 24)

    def convolved(x, y):
        return (convolve(x, y, (1, 1), "SAME"),)

    many = compare_native(convolved, x, y)
    few = compare_native(convolved, x, y[:3])
    assert [one.lowered.equation_kinds["blas"] for one in (many, few)] == [1, 0]


def test_not_a_number_is_not_spread_by_padding(compare_native):
    x, y = case(LAYOUTS[0], 24)
    x[0, 0, 0, 0], x[1, 2, 3, 4] = np.inf, np.nan
    y[0, 0] = 0
    compare_native(lambda x, y: (convolve(x, y, (1, 1), "SAME"),), x, y)
    compare_native(lambda x, y: (convolve(x, y, (1, 1), "SAME"),), x, y[:2])


def test_signals(compare_native):
    def function(x, y):
        return (
            *(jnp.convolve(x, y, mode) for mode in ("full", "same", "valid")),
            jnp.correlate(x, y, "full"),
            jax.scipy.signal.convolve2d(jnp.outer(x, x), jnp.outer(y, y)),
        )

    for size in (5, 40):
        compare_native(function, numbers("float64", size), numbers("float64", 5))


@pytest.mark.parametrize("dtype", ["float32", "complex64", "int16"])
def test_few_products_are_a_formula(compare_native_dynamic, dtype):
    """Strides and dilations are those of the windows; also with no channel at all."""

    def convolved(x):
        y = jnp.asarray(numbers(dtype, 2, 2, 3))
        strided = convolve(x, y, (2,), [(1, 2)], rhs_dilation=(3,))
        return (strided, convolve(x[:, :0], y[:, :0], (1,), "VALID"))

    arguments = [[numbers(dtype, 3, 2, size)] for size in (4, 5, 16, 33)]
    compare_native_dynamic(convolved, [(dtype, "3, 2, n")], arguments)


def test_the_sum_of_few_products_stays_in_a_register():
    program = qjit(lambda x, y: jax.nn.relu(jnp.convolve(x, y) + 1))
    few, many = (program.lower(np.ones(99), np.ones(taps)) for taps in (11, 40))
    assert ["reduction" in one.as_text("bufferize") for one in (few, many)] == [False, True]


def test_a_kernel_that_is_longer_than_the_result_is_walked_along(compare_native):
    def gradient(x, y):
        def loss(y):
            return (convolve(x, y, (1,), "SAME") ** 2).sum()

        return (jax.grad(loss)(y),)

    for size in (1, 2, 3, 7, 100):
        compare_native(gradient, numbers("float64", 3, 2, size), numbers("float64", 2, 2, 3))


@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64"])
def test_a_kernel_without_taps_sums_nothing(dtype):
    """XLA refuses such a window; NumPy has one more of them than there are elements."""

    def convolved(x, y):
        return convolve(x, y, (1,), [(1, 2)])

    for program in (qjit(convolved), qjit(convolved, abstracted_axes=({2: "n"}, {}))):
        for size in (0, 1, 4):
            x = numbers(dtype, 1, 3, size)
            windows = np.lib.stride_tricks.sliding_window_view(np.zeros(size + 3, dtype), 0)
            found = program(x, numbers(dtype, 2, 3, 0))
            assert found.dtype == jnp.dtype(dtype)
            assert found.tolist() == [[windows.sum(axis=-1).tolist()] * 2]
