"""Sorting in programs: JAX's order to the bit, for all types, axes, sizes, and any threads."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax

from diastase import qjit
from diastase_runtime.errors import DiastaseError

jax.config.update("jax_enable_x64", True)

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
TYPES = ["bool", *INTEGERS, *FLOATS, "complex64", "complex128"]


def numbers_of(dtype, shape, seed=0):
    """Numbers with many equal ones, and all that is special about a type."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return jnp.asarray(rng.integers(0, 2, shape), dtype)
    if dtype in INTEGERS:
        limits = np.iinfo(dtype)
        some = np.array([limits.min, limits.max, 0, 1, limits.max // 3], dtype)
        drawn = rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
        return jnp.asarray(np.where(rng.random(shape) < 0.4, rng.choice(some, shape), drawn), dtype)
    some = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1.0, -1.0, 1e-7]

    def floats():
        drawn = rng.standard_normal(shape)
        return np.where(rng.random(shape) < 0.5, rng.choice(some, shape), drawn)

    if dtype.startswith("complex"):
        return lax.complex(*(jnp.asarray(floats(), f"float{int(dtype[7:]) // 2}") for _ in "ri"))
    return jnp.asarray(floats(), dtype)


def same(ours, theirs):
    """Equal, down to the signs of zeros; NaNs are equal."""
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        one, other = np.asarray(one), np.asarray(other)
        assert one.dtype == other.dtype
        if one.dtype.name == "bfloat16":
            one, other = one.astype(np.float32), other.astype(np.float32)
        np.testing.assert_array_equal(one, other)
        for part in (np.real, np.imag) if one.dtype.kind in "fc" else ():
            numbers = ~np.isnan(part(other))
            signs = (np.signbit(part(own))[numbers] for own in (one, other))
            np.testing.assert_array_equal(*signs)


def agrees(function, *arguments):
    same(qjit(function)(*arguments), jax.jit(function)(*arguments))


def everything(x):
    """Alone, as positions, with a payload that tells equal keys apart, descending, by several."""
    number = jnp.arange(x.size).reshape(x.shape)
    coarse = (number * 7 % 3).astype(jnp.int8)
    return (
        jnp.sort(x),
        jnp.argsort(x),
        jnp.sort(x, descending=True),
        lax.sort((x, number, coarse), num_keys=1),
        lax.sort((coarse, x, number), num_keys=2),
    )


@pytest.mark.sample(6)
@pytest.mark.parametrize("dtype", TYPES)
def test_all_types(dtype):
    for length in (1, 7, 40, 300):
        agrees(everything, numbers_of(dtype, (length,), length))


@pytest.fixture(name="of_any_length", scope="module")
def of_any_length_fixture():
    return {dtype: qjit(everything, abstracted_axes=("n",)) for dtype in ("float64", "uint16")}


@given(
    length=st.integers(0, 300),
    seed=st.integers(0, 999),
    dtype=st.sampled_from(["float64", "uint16"]),
)
@settings(max_examples=30, deadline=None)
def test_lengths_that_are_known_when_it_runs(of_any_length, length, seed, dtype):
    x = numbers_of(dtype, (length,), seed)
    same(of_any_length[dtype](x), everything(x))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8"])
def test_long_lines_on_any_number_of_threads(configure, dtype):
    x = numbers_of(dtype, (200_000,))
    function = qjit(everything)
    for threads in (1, 2, 5):
        configure(threads)
        same(function(x), jax.jit(everything)(x))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(3, 4, 5), (60, 1, 70), (2, 300, 2), (0, 3, 2)])
def test_axes(axis, shape):
    def along(x):
        payload = jnp.arange(x.size).reshape(x.shape)
        return (
            jnp.sort(x, axis),
            jnp.argsort(x, axis),
            lax.sort((x.astype(jnp.int8), payload), dimension=axis, num_keys=1),
        )

    agrees(along, numbers_of("float64", shape))
    agrees(jax.vmap(lambda x: jnp.sort(x, axis=0)), numbers_of("int32", (3, *shape)))


@pytest.mark.parametrize("dtype", ["bool", "int16", "uint64", *FLOATS])
@pytest.mark.parametrize("length", [9, 5000])
def test_first_of_an_order(dtype, length):
    x = numbers_of(dtype, (3, length))
    for count in (1, 5, 9):
        agrees(lambda x, count=count: lax.top_k(x, count), x)
    if dtype in ("float32", "float64", "bfloat16"):
        for best in (lax.approx_max_k, lax.approx_min_k):
            finite = jnp.nan_to_num(x) + 0.0  # XLA compares NaNs as it likes
            ours, exact = qjit(lambda x, best=best: best(x, 4))(finite), best(finite, 4)
            same(ours[0], exact[0])


def test_what_is_made_of_it():
    x, few = numbers_of("float64", (501,)), jnp.arange(200) * 7919 % 17
    clean = jnp.where(jnp.isfinite(x), x, 0.5)
    agrees(lambda x: (jnp.median(x), jnp.percentile(x, jnp.array([1.0, 50.0, 99.0]))), clean)
    agrees(lambda x: jnp.quantile(x.reshape(3, -1), 0.3, axis=1), clean)
    agrees(lambda f: jnp.unique(f, size=20, return_inverse=True, return_counts=True), few)
    agrees(lambda f, x: jnp.lexsort((x, f, -f % 5)), few, x[:200])
    agrees(lambda x, y: jnp.searchsorted(jnp.sort(x), y), clean, x)
    agrees(lambda x: jnp.partition(x, 0)[0], clean)


def test_sizes_of_several_axes():
    """Lines of any number and length, also fewer than are wanted of an order, which is an error."""

    def several(x):
        return jnp.sort(x, axis=0), jnp.argsort(x, axis=1), lax.sort((x > 0, x), num_keys=2)

    function = qjit(several, abstracted_axes=("n", "m"))
    first = qjit(lambda x: lax.top_k(x, 5), abstracted_axes=("n", "m"))
    for shape in [(3, 400), (400, 3), (0, 5), (4, 0), (60, 60)]:
        x = numbers_of("float32", shape)
        same(function(x), several(x))
        if shape[1] >= 5:
            same(first(x), lax.top_k(x, 5))
        else:
            with pytest.raises(DiastaseError):
                first(x)


@pytest.mark.sample(8)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1000])
@pytest.mark.parametrize("dtype", ["float32", "uint8", "complex128"])
def test_binary_search(size, dtype):
    a, v = jnp.sort(numbers_of(dtype, (size,))), numbers_of(dtype, (5, 60), seed=1)
    agrees(lambda a, v: [jnp.searchsorted(a, v, side=side) for side in ("left", "right")], a, v)


def test_binary_search_in_other_things():
    x, y = numbers_of("int64", (4, 30)), jnp.linspace(-1.0, 2.0, 30)
    agrees(jax.vmap(jnp.searchsorted), jnp.sort(x), x[:, ::2])
    agrees(lambda y: jnp.digitize(y, jnp.array([1.5, 0.5, 0.1])), y)
    agrees(lambda y: jnp.searchsorted(jnp.zeros(0), y), y)
    slope = jax.grad(lambda v, y: jnp.interp(v, y, y**2).sum())
    np.testing.assert_allclose(qjit(slope)(y / 3, y), slope(y / 3, y), rtol=1e-12)


def test_gradients_and_loops():
    x = jnp.asarray(np.random.default_rng(1).standard_normal((4, 60)))
    weights = jnp.arange(60.0)

    def loss(x):
        values, _ = lax.top_k(x, 7)
        return (jnp.sort(x) ** 2 * weights).sum() + jnp.median(x) + (values**3).sum()

    def loop(x):
        return lax.fori_loop(0, 9, lambda i, y: jnp.sort(y * -1.5 + i)[:, ::-1], x)

    ours, theirs = qjit(jax.grad(loss))(x), jax.grad(loss)(x)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    agrees(loop, x)
    np.testing.assert_allclose(qjit(jax.jacfwd(loop))(x), jax.jacfwd(loop)(x))


def test_a_comparison_that_is_not_by_keys():
    """StableHLO's sort takes any: here, numbers by their last digit."""
    from diastase.debugging.ir import compile_from_mlir  # noqa: PLC0415

    compiled = compile_from_mlir(
        """module {
      func.func @diastase_entry(%x: tensor<?xi64>) -> tensor<?xi64> {
        %0 = "stablehlo.sort"(%x) ({
        ^bb0(%a: tensor<i64>, %b: tensor<i64>):
          %ten = stablehlo.constant dense<10> : tensor<i64>
          %1 = stablehlo.remainder %a, %ten : tensor<i64>
          %2 = stablehlo.remainder %b, %ten : tensor<i64>
          %3 = stablehlo.compare LT, %1, %2 : (tensor<i64>, tensor<i64>) -> tensor<i1>
          stablehlo.return %3 : tensor<i1>
        }) {dimension = 0 : i64, is_stable = true} : (tensor<?xi64>) -> tensor<?xi64>
        return %0 : tensor<?xi64>
      }
    }"""
    )
    x = np.arange(100)[::-1].copy()
    expected = x[np.argsort(x % 10, kind="stable")]
    np.testing.assert_array_equal(np.asarray(compiled(x)).reshape(-1), expected)
