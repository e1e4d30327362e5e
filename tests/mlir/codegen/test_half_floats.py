"""Conversions from and to 16-bit floats, bit by bit; programs on which LLVM's own types aborted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit
from other_processors import at_hand, compiling_for

# NumPy's, about signalling NaNs and what becomes infinite.
pytestmark = pytest.mark.filterwarnings("ignore:(invalid value|overflow):RuntimeWarning")

HALVES = ("float16", "bfloat16")
FLOATS = (*HALVES, "float32", "float64")
INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))


@pytest.fixture(params=["host", *at_hand()], autouse=True)
def processor(request, monkeypatch):
    """Programs are compiled for this processor; of the older ones some have no `f16c`."""
    if request.param != "host":
        compiling_for(request.param, monkeypatch)


def every_half(dtype):
    return np.arange(65536, dtype=np.uint16).view(jnp.dtype(dtype))


def assert_same_bits(found, expected):
    """Equal bits, whatever the kind of NaN."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype
    is_nan, found_nan = (np.isnan(array.astype(np.float64)) for array in (expected, found))
    np.testing.assert_array_equal(found_nan, is_nan)
    unsigned = f"uint{expected.dtype.itemsize * 8}"
    np.testing.assert_array_equal(found.view(unsigned)[~is_nan], expected.view(unsigned)[~is_nan])


def nearest(numbers, dtype):
    """Each number rounded once: the one of a 16-bit float and its neighbours that is the nearest.

    Differences are exact, as numbers and candidates are close; `longdouble` holds every `int64`.
    """
    exact = numbers.astype(np.longdouble)
    close = np.atleast_1d(numbers.astype(jnp.dtype(dtype)))
    candidates = close.view(np.uint16)[:, None] + np.array([0, 1, -1]).astype(np.uint16)
    values = candidates.view(close.dtype)
    finite = values.astype(np.float64)
    beyond = np.longdouble(2) ** (16 if dtype == "float16" else 128)  # as if exponents went on
    finite = np.where(np.isinf(finite), np.copysign(beyond, finite), finite.astype(np.longdouble))
    distance = np.abs(finite - exact[:, None])
    distance = np.where(np.isnan(distance), np.inf, distance)
    is_tie = (distance == distance.min(axis=1, keepdims=True)) & (candidates % 2 == 0)
    chosen = np.where(is_tie.any(axis=1), is_tie.argmax(axis=1), distance.argmin(axis=1))
    return np.where(np.isfinite(exact), values[np.arange(len(values)), chosen], close)


def hard_numbers(dtype, kind):
    """Numbers of a wider type around those half-way between two of 16 bits, and any others."""
    halves = np.sort(every_half(dtype)[: 0x7F80 if dtype == "bfloat16" else 0x7C00].astype(float))
    middles = (halves[1:] + halves[:-1]) / 2
    middles = np.concatenate([halves, middles, [2 * halves[-1] - middles[-1]]])
    if np.dtype(kind).kind != "f":
        limits = np.iinfo(kind)
        middles = middles[(middles < float(limits.max)) & (middles == np.trunc(middles))]
        middles = middles.astype(kind)
        around = [middles, middles + 1, middles[1:] - np.ones(1, kind)]
        random = np.frombuffer(np.random.default_rng(0).bytes(8000), kind)
        ends = np.array([limits.min, limits.max], kind)
        signs = (1, -1) if limits.min < 0 else (1,)
        return np.concatenate([random, ends, *(array * sign for sign in signs for array in around)])
    middles = middles.astype(kind)
    around = [middles, np.nextafter(middles, np.inf), np.nextafter(middles, 0)]
    limits = np.finfo(kind)
    ends = np.array([0.0, np.inf, np.nan, limits.max, limits.tiny, limits.smallest_subnormal], kind)
    positive = np.concatenate([*around, ends])
    random = np.frombuffer(np.random.default_rng(0).bytes(80000), kind)
    return np.concatenate([positive, -positive, random])


@pytest.mark.sample(2)
@pytest.mark.parametrize("half", HALVES)
def test_every_half_float_is_converted(half):
    numbers = every_half(half)
    for found in qjit(lambda x: [x.astype(dtype) for dtype in (*FLOATS, *INTEGERS)])(numbers):
        if jnp.issubdtype(found.dtype, jnp.floating):
            assert_same_bits(found, numbers.astype(found.dtype))
        else:
            np.testing.assert_array_equal(found, jnp.asarray(numbers).astype(found.dtype))


@pytest.mark.sample(2)
@pytest.mark.parametrize("half", HALVES)
def test_wider_numbers_are_rounded_once(half):
    """Where `ml_dtypes` and XLA round to float32 first, and so to the wrong side sometimes."""
    numbers = [hard_numbers(half, kind) for kind in ("float32", "float64", *INTEGERS)]
    for array, found in zip(
        numbers, qjit(lambda xs: [x.astype(half) for x in xs])(numbers), strict=True
    ):
        expected = nearest(array, half)
        assert_same_bits(found, expected)
        if half == "float16" or array.dtype.itemsize < 4 or array.dtype == np.float32:
            assert_same_bits(found, array.astype(expected.dtype))  # rounded once by NumPy, too


def test_single_numbers():
    """A program without loops is compiled in another way."""

    @qjit
    def convert(x: float, n: int):
        halves = [number.astype(half) for half in HALVES for number in (x, n)]
        return halves, [half.astype("float64") for half in halves]

    for x, n in ((1 + 2**-11 + 2**-40, 2**40 + 2**32 + 1), (-(2.0**-25), -3), (np.nan, 70000)):
        halves, doubles = convert(x, n)
        expected = [nearest(np.array([value]), half)[0] for half in HALVES for value in (x, n)]
        for found, double, one in zip(halves, doubles, expected, strict=True):
            assert_same_bits(found, one)
            assert_same_bits(double, one.astype(np.float64))


FUNCTIONS = {
    "spacing": jnp.spacing,
    "compared": lambda x: (x < x[::-1], x == x, jnp.isnan(x), jnp.signbit(x)),
    "rounded": lambda x: (jnp.floor(x), jnp.ceil(x), jnp.round(x), jnp.trunc(x), jnp.abs(x), -x),
    "chosen": lambda x: (jnp.maximum(x, 2), jnp.minimum(x, x[::-1]), jnp.clip(x, -1, 1)),
    "sorted": lambda x: (jnp.sort(x[:300]), jnp.argmax(x[:300])),
    "infinities": lambda x: jnp.where(x == jnp.copysign(jnp.inf, x), jnp.nan_to_num(x), x),
    "arithmetic": lambda x: (x + x[::-1], x * x[::-1], x - 1, x / x[::-1]),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("half", HALVES)
def test_functions(half):
    def functions(x):
        return {name: function(x) for name, function in FUNCTIONS.items()}

    every = every_half(half)
    # XLA takes subnormal numbers for zero; differences and products of these are none.
    size = np.abs(every.astype(np.float64))
    least, most = {"float16": (2**-6, 2**6), "bfloat16": (2**-46, 2**52)}[half]
    numbers = every[(size == 0) | ((size > least) & (size < most)) | np.isinf(size)]
    numbers = np.concatenate([numbers, np.array([np.nan], every.dtype)])
    found, expected = qjit(functions)(numbers), jax.jit(functions)(numbers)
    for (path, one), other in zip(
        jax.tree.leaves_with_path(found), jax.tree.leaves(expected), strict=True
    ):
        if one.dtype == every.dtype:
            assert_same_bits(one, other)
        else:
            np.testing.assert_array_equal(one, other, err_msg=str(path))
