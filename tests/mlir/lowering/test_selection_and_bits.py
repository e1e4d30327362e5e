"""`top_k`, bitcasts, reduced precision and other things about bits; reductions of nothing."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

FLOATS = ("float16", "bfloat16", "float32", "float64")
SIZES = (0, 1, 2, 3, 8)
SPECIAL = [
    0.5,
    -1,
    np.nan,
    0.0,
    -0.0,
    np.inf,
    3,
    -np.inf,
    3,
    1e-40,
    -np.nan,
    0.0,
    65504,
    2.5e38,
    1e5,
]


def special(dtype, count):
    return halved(np.resize(np.array(SPECIAL), count), dtype)


def halved(numbers, dtype):
    """As numbers of that type; too large ones become infinite."""
    with np.errstate(over="ignore"):
        return numbers.astype(jnp.dtype(dtype))


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", [*FLOATS, "int8", "uint64", "bool"])
def test_top_k(compare_native_dynamic, dtype):
    def function(a):
        rows = jnp.concatenate([a, a[::-1]], axis=1)
        return lax.top_k(rows, 5), lax.top_k(rows.T, 3, axis=0), lax.top_k(a, 0)

    if dtype in FLOATS:
        arguments = [[special(dtype, 15 * size).reshape(size, 15)] for size in SIZES]
    else:
        random = np.random.default_rng(0)
        arguments = [[random.integers(0, 99, (size, 15)).astype(dtype)] for size in SIZES]
    compare_native_dynamic(function, [(dtype, "n, 15")], arguments)


def test_top_k_along_an_unknown_size(compare_native_dynamic):
    def function(a):
        return lax.top_k(jnp.concatenate([a, jnp.ones(4)]), 4)

    compare_native_dynamic(function, [("float64", "n")], [[special("float64", n)] for n in SIZES])


def test_top_k_of_known_sizes(compare_native):
    compare_native(lambda a: lax.top_k(a, 3), special("float32", 15))
    compare_native(lambda a: lax.top_k(a, 2), np.ones((0, 4)))
    compare_native(lambda a: jax.grad(lambda x: lax.top_k(x, 2)[0].sum())(a), np.arange(5.0))


def test_approximate_top_k(compare_native_dynamic):
    def function(a):
        return lax.approx_max_k(a, 3), lax.approx_min_k(a.T, 2, reduction_dimension=0)

    random = np.random.default_rng(1)
    arguments = [[random.normal(size=(size, 9))] for size in SIZES]
    compare_native_dynamic(function, [("float64", "n, 9")], arguments)


CASTS = [
    ("float64", "n", ("int64", "uint32", "uint8", "float16")),
    ("uint8", "n, 8", ("int64", "float64", "int8")),
    ("uint8", "n, 2", ("bfloat16", "uint16")),
    ("int16", "n, 4", ("uint64", "float16", "int8")),
    ("bool", "n", ("bool",)),
    ("complex64", "n", ("complex64",)),
]


@pytest.mark.sample(3)
@pytest.mark.parametrize(("dtype", "shape", "targets"), CASTS)
def test_bitcast(compare_native_dynamic, dtype, shape, targets):
    def function(a):
        return [lax.bitcast_convert_type(a, target).view(_unsigned(target)) for target in targets]

    rest = tuple(map(int, shape.split(",")[1:]))
    random = np.random.default_rng(2)
    arguments = [[random.integers(0, 2, (size, *rest)).astype(dtype)] for size in SIZES]
    if dtype not in ("bool", "complex64"):
        width = np.dtype(dtype).itemsize
        arguments = [
            [random.integers(0, 255, (size, *rest, width)).astype("uint8").view(dtype)[..., 0]]
            for size in SIZES
        ]
    compare_native_dynamic(function, [(dtype, shape)], arguments)


def _unsigned(target):
    """NaNs are compared by their bits."""
    kind = np.dtype(jnp.dtype(target))
    return f"uint{8 * kind.itemsize}" if target not in ("bool", "complex64") else target


def test_empty_bitcasts(compare_native):
    compare_native(lambda a: lax.bitcast_convert_type(a, "uint8"), np.ones(0))
    compare_native(lambda a: lax.bitcast_convert_type(a, "float64"), np.ones((0, 2), "int32"))


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", FLOATS)
def test_reduce_precision(compare_native_dynamic, dtype):
    def function(a):
        limits = jnp.finfo(dtype)
        exponents, mantissas = (1, 3, 5, limits.nexp), (1, 2, limits.nmant)
        return [lax.reduce_precision(a, e, m) for e in exponents for m in mantissas]

    numbers = [*SPECIAL, 1.5, 2.25, 2.75, 7.9, 8.1, 1e-3, -1e-3, 240, 248, 6.1e-5, 2**-14]
    arguments = [[halved(np.array(numbers[:n]), dtype)] for n in (0, 1, len(numbers))]
    compare_native_dynamic(function, [(dtype, "n")], arguments)


@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint32", "uint64"])
def test_upper_half_of_products(compare_native_dynamic, dtype):
    limits = np.iinfo(dtype)
    numbers = [limits.max, limits.min, limits.max // 3, 7, 0, limits.max - 1]

    def function(a):
        return lax.mulhi(a, a), lax.mulhi(a, a[::-1])

    arguments = [[np.array(numbers[:n], dtype)] for n in (0, 1, 6)]
    compare_native_dynamic(function, [(dtype, "n")], arguments)


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "bfloat16", "float64"])
def test_reductions_of_nothing(compare_native, dtype):
    """Over sizes known to be 0; unknown ones are in `test_dynamic`."""

    def function(a):
        kinds = [lax.reduce_max, lax.reduce_min]
        if dtype in ("bool", "int8", "uint32"):
            kinds += [lax.reduce_and, lax.reduce_or, lax.reduce_xor]
        if dtype != "bool":
            kinds += [lax.reduce_sum, lax.reduce_prod]
        zero, one = jnp.zeros((), dtype), jnp.ones((), dtype)
        both = lax.reduce((a, a), (zero, one), lambda x, y: (x[0], y[1]), (0,))
        return [kind(a, axes) for kind in kinds for axes in ((0,), (0, 1), (1,), ())], both

    compare_native(function, np.zeros((0, 3), jnp.dtype(dtype)))


def test_reshaped_in_another_order(compare_native_dynamic):
    def function(a):
        return lax.reshape(a, (3 * a.shape[0],), dimensions=(1, 0))

    arguments = [[np.arange(3.0 * size).reshape(size, 3)] for size in SIZES]
    compare_native_dynamic(function, [("float64", "n, 3")], arguments)


def test_stacks_and_tiles(compare_native_dynamic):
    """Primitives of their own since jax 0.12 (`stack`, `unstack`) or before (`tile`)."""

    def function(a):
        columns = jnp.stack([a, a + 1, a * 2], axis=1)
        stacks = jnp.stack([a, a]), columns, jnp.stack([a.sum(), a.prod()])
        return *stacks, jnp.unstack(columns, axis=1), jnp.unstack(columns.T), jnp.tile(a, (2, 3))

    arguments = [[np.arange(1.0, size + 1)] for size in SIZES]
    compare_native_dynamic(function, [("float64", "n")], arguments)
