"""Every elementwise primitive of `jax.lax`, for every element type that plain JAX takes it for.

One program per primitive holds all of its element types. Values include zeros of both signs,
infinities, NaN and the ends of integer ranges.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from diastase import qjit

FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
ALL = (*FLOATS, *COMPLEX, *SIGNED, *UNSIGNED, "bool")
SOME = ("bfloat16", "float32", "float64", "complex128", "int8", "int64", "uint8", "uint32", "bool")

_REALS = [0.0, -0.0, 1, -1, 0.5, -0.5, 2.5, -3.7, 1e-3, 30, -30, np.inf, -np.inf, np.nan, 1e4]
_PARTS = [0.0, 1, -1, 0.5, -2.5, 1e-3, 10.0]


def values(dtype):
    """Telling values of an element type."""
    if dtype == "bool":
        return np.array([True, False, True, True, False, False])
    if dtype in COMPLEX:
        real, imaginary = np.meshgrid(_PARTS, _PARTS)
        return (real + 1j * imaginary).ravel().astype(dtype)
    if dtype in FLOATS:
        return np.array(_REALS).astype(jnp.dtype(dtype))
    limits = np.iinfo(dtype)
    numbers = [0, 1, 2, 7, limits.max, limits.min, limits.max - 3, 5, 100]
    return np.array([*numbers, *([-1, -8] if dtype in SIGNED else [])], dtype)


def pairs(dtype):
    """All pairs of telling values, as two arrays; some of the complex ones."""
    numbers = values(dtype)[:: 6 if dtype in COMPLEX else 1]
    left, right = np.meshgrid(numbers, numbers)
    return left.ravel(), right.ravel()


def accepted(function, arguments):
    """Whether plain JAX takes the function for these arguments."""
    try:
        jax.eval_shape(function, *arguments)
    except (TypeError, ValueError, NotImplementedError):
        return False
    return True


@pytest.fixture
def check(compile_function, assert_same):
    """`check(function, argument_lists)` compares one program for all element types."""

    def compare(function, argument_lists):
        taken = [
            [jnp.asarray(argument) for argument in arguments]
            for arguments in argument_lists
            if accepted(function, arguments)
        ]
        arity = len(taken[0])

        def all_types(*flat):
            return [function(*flat[at : at + arity]) for at in range(0, len(flat), arity)]

        flat = [argument for arguments in taken for argument in arguments]
        found = compile_function(all_types, *flat)(*flat)
        for arguments, one in zip(taken, found, strict=True):
            assert_same(one, function(*arguments), str(arguments[0].dtype))

    return compare


UNARY = """
    abs acos acosh asin asinh atan atanh bessel_i0e bessel_i1e bitwise_not cbrt ceil clz conj cos
    cosh erf erf_inv erfc exp exp2 expm1 floor imag is_finite lgamma log log1p logistic neg
    population_count real round rsqrt sign sin sinh sqrt square tan tanh
""".split()

BINARY = """
    add bitwise_and bitwise_or bitwise_xor complex div eq ge gt le lt max min mul ne pow rem
    shift_left shift_right_arithmetic shift_right_logical sub
""".split()

FUNCTIONS = {
    "integer_pow": lambda x: lax.integer_pow(x, 3),
    "integer_pow_negative": lambda x: lax.integer_pow(x, -2),
    "round_to_even": jnp.round,
    "round_from_zero": lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
    "reduce_precision": lambda x: lax.reduce_precision(x, 4, 3),
    "nextafter": lambda x: lax.nextafter(x, x + 1),
    "isnan": jnp.isnan,
    # Not at zero, where JAX gives NaN before 0.12 and minus infinity since.
    "digamma": lambda x: lax.digamma(jnp.where(x == 0, 1, x)),
    "clamp": lambda x: lax.clamp(x[2], x, x[3]),
}


# JAX computes 2**x as exp(x * log 2) in 16 bits, and is 4 % off for 30.
_INEXACT = {"exp2": ("float16", "bfloat16")}

# As little optimised as it is for tests, XLA has no clamp of these.
_NO_REFERENCE = {"clamp": ("bool", "complex64", "complex128")}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", UNARY)
def test_unary(check, name):
    types = [dtype for dtype in ALL if dtype not in _INEXACT.get(name, ())]
    check(getattr(lax, name), [(values(dtype),) for dtype in types])


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(check, name):
    types = [dtype for dtype in ALL if dtype not in _NO_REFERENCE.get(name, ())]
    check(FUNCTIONS[name], [(values(dtype),) for dtype in types])


def test_clamp_of_complex_numbers():
    """By the real parts, as XLA does it where it has it; of equal ones the lower bound is taken."""
    for dtype in ("complex64", "complex128"):
        x = np.array([0, 1 + 1j, 1 + 3j, -1, 2 - 5j, 2 + 1j, 5j, 1 + 2j, 3], dtype)
        low, high = np.array([1 + 1j, 2 + 1j], dtype)
        raised = np.where(x.real > low.real, x, low)
        expected = np.where(raised.real > high.real, high, raised)
        np.testing.assert_array_equal(qjit(lax.clamp)(low, x, high), expected)


def test_clamp_of_flags():
    flags = np.array([False, True])
    for low, high in ((False, False), (False, True), (True, True)):
        clamped = qjit(lax.clamp)(np.bool_(low), flags, np.bool_(high))
        np.testing.assert_array_equal(clamped, (flags | low) & high)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", BINARY)
def test_binary(check, name):
    check(getattr(lax, name), [pairs(dtype) for dtype in SOME])


BINARY_FLOAT = {
    "atan2": lax.atan2,
    "igamma": lambda x, y: lax.igamma(jnp.abs(x), jnp.abs(y)),
    "igammac": lambda x, y: lax.igammac(jnp.abs(x), jnp.abs(y)),
    "zeta": lambda x, y: lax.zeta(jnp.minimum(x, 9.0), y),
    "hypot": jnp.hypot,
    "logaddexp": jnp.logaddexp,
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", BINARY_FLOAT)
def test_binary_float(check, name):
    types = ("float64",) if name.startswith("igamma") else ("float32", "float64")
    check(BINARY_FLOAT[name], [pairs(dtype) for dtype in types])


# JAX's gcd does not end for the least signed number.
@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["floor_divide", "mod", "gcd", "power", "fmod"])
def test_integer_arithmetic(check, name):
    types = ("uint8", "uint32") if name == "gcd" else ("int8", "int64", "uint8", "uint32")
    check(getattr(jnp, name), [pairs(dtype) for dtype in types])


@pytest.mark.sample(2)
@pytest.mark.filterwarnings("ignore:Casting complex values")
@pytest.mark.parametrize("target", ALL)
def test_conversion(check, target):
    def convert(x):
        return lax.convert_element_type(x, target)

    check(convert, [(values(dtype),) for dtype in ALL])


@pytest.mark.parametrize("dtype", COMPLEX)
def test_branch_cut_of_the_square_root(compare, compile_function, dtype):
    """Signs of zeros included, where both parts are numbers."""
    parts = [0.0, -0.0, 1, -1, -4, np.inf, -np.inf, np.nan, 1e-3, 1e30]
    with np.errstate(invalid="ignore"):
        numbers = np.array([complex(x, y) for x in parts for y in parts]).astype(dtype)
    compare(lax.sqrt, numbers)
    (found,) = compile_function(lax.sqrt, numbers)(numbers)
    expected, known = np.asarray(lax.sqrt(numbers)), ~np.isnan(found)
    for part in (np.real, np.imag):
        np.testing.assert_array_equal(
            np.signbit(part(found)[known]), np.signbit(part(expected)[known])
        )


def test_logarithms_of_complex_numbers_keep_their_digits(compile_function):
    """Near a size of one, far from it, and at the edges; numpy computes with longer numbers."""
    random = np.random.default_rng(0)
    edges = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        np.inf,
        -np.inf,
        np.nan,
        1e-10,
        1 + 1e-10,
        0.6,
        0.8,
        1e308,
        1e-320,
    ]
    real, imaginary = (part.reshape(-1) for part in np.meshgrid(edges, edges))
    angles = random.uniform(-np.pi, np.pi, 500)
    near = np.exp(1j * angles) * (1 + random.normal(size=500) * 1e-6)
    scales = 10.0 ** random.integers(-300, 300, (2, 500))
    parts = random.normal(size=(2, 500)) * scales
    numbers = np.concatenate([np.empty(len(real), complex), near, parts[0] + 1j * parts[1]])
    numbers.real[: len(real)], numbers.imag[: len(real)] = real, imaginary
    logarithm = compile_function(lax.log, numbers)
    with np.errstate(all="ignore"):
        expected = np.log(numbers.astype(np.clongdouble)).astype(complex)
    (found,) = jax.tree.leaves(logarithm(numbers))
    np.testing.assert_allclose(found.real, expected.real, rtol=3e-15, atol=0)
    np.testing.assert_allclose(found.imag, expected.imag, rtol=3e-15, atol=0)
