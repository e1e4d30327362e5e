"""Elementary functions of arrays: below one unit of error, the same bits in every lane."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit
from diastase_engine.vector_math import ELEMENTARY_FUNCTIONS
from diastase_mlir.codegen import import_table
from diastase_toolchain.checked.switch import checks
from diastase_toolchain.machine_code import widths

jax.config.update("jax_enable_x64", True)

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, -2.0, 5e-324, -5e-324, 1e308, -1e308]
needs_vectors = pytest.mark.skipif(not widths("f64"), reason="no fma on this processor")
as_optimised = pytest.mark.skipif(
    bool(checks()), reason="passes that a checked build leaves out make these calls"
)
needs_extended = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 63, reason="nothing more accurate to compare with"
)


def all_functions(x):
    """Every elementary function of one array."""
    return {name: getattr(jnp, name)(x) for name in ELEMENTARY_FUNCTIONS}


@pytest.fixture(name="compiled", scope="module")
def compiled_fixture():
    """One program for all functions, all sizes, and either precision."""
    return qjit(all_functions, abstracted_axes=("n",))


def arguments(dtype):
    """Numbers of all magnitudes, and those where something special happens."""
    numbers, size = np.random.default_rng(0), 60001
    exponents = np.finfo(dtype).minexp, np.finfo(dtype).maxexp - 1
    everywhere = np.ldexp(numbers.uniform(1, 2, size), numbers.integers(*exponents, size))
    halves = np.arange(1, 2000) * np.pi / 2
    parts = [numbers.uniform(-scale, scale, size) for scale in (1e-9, 0.1, 1, 2, 20, 700, 1e6)]
    tiny = np.arange(1, 50) * float(np.finfo(dtype).smallest_subnormal)
    near = [halves, -halves, np.log(2) * np.arange(-30, 30) / 2, 1 + parts[0], -1 - parts[1] / 10]
    return np.concatenate([everywhere, -everywhere, tiny, *parts, *near]).astype(dtype)


def units_off(found, name, x):
    """Errors in units of the last place, of finite results."""
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(x.astype(np.longdouble))
        unit = np.spacing(np.abs(exact).astype(x.dtype)).astype(np.longdouble)
        finite = np.isfinite(exact.astype(x.dtype))
    usual = finite & np.isfinite(unit)
    np.testing.assert_array_equal(np.isfinite(found), finite, err_msg=name)
    return np.abs(found.astype(np.longdouble)[usual] - exact[usual]) / unit[usual]


MOST_UNITS_OFF = {
    "float64": {"exp": 0.9, "expm1": 0.95, "tanh": 1.05, "log": 0.9, "log1p": 0.9, "cbrt": 0.6},
    "float32": {"exp": 0.9, "expm1": 0.95, "tanh": 1.0, "log": 0.91, "log1p": 0.91, "cbrt": 0.6},
}
"""What was found where they are largest, rounded up; 0.95 and 0.85 of trigonometric functions."""


@needs_vectors
@needs_extended
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_errors_are_below_one_unit(compiled, dtype):
    x = arguments(dtype)
    trigonometric = 0.95 if dtype == "float64" else 0.85
    for name, found in compiled(x).items():
        errors = units_off(np.asarray(found), name, x)
        assert errors.max() < MOST_UNITS_OFF[dtype].get(name, trigonometric), name


def ends(dtype):
    """Where results overflow, are subnormal, 0 or 1, the numbers beside these, and the smallest."""
    info = np.finfo(dtype)
    least, tiny = float(info.smallest_subnormal), float(info.tiny)
    corners = [np.log(float(info.max)), np.log(tiny), np.log(least) - np.log(2), np.log(2.0), 1.0]
    middle = np.array([*corners, *np.log(least * np.arange(1, 400)), 9.01, 19.06], dtype)
    beside = [np.nextafter(middle, dtype(way)) for way in (-np.inf, np.inf)]
    small = [tiny * np.arange(-30, 30), least * np.arange(-9, 9)]
    return np.concatenate([middle, -middle, *beside, -beside[0], -beside[1], *small]).astype(dtype)


@needs_vectors
@needs_extended
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_functions_end_where_the_range_of_numbers_does(compiled, dtype):
    x = ends(dtype)
    every = {name: np.asarray(found) for name, found in compiled(x).items()}
    with np.errstate(all="ignore"):
        for name in MOST_UNITS_OFF[np.dtype(dtype).name]:
            expected = getattr(np, name)(x.astype(np.longdouble)).astype(dtype)
            close = np.abs(every[name] - expected) <= np.spacing(np.abs(expected))
            same = (every[name] == expected) | (np.isnan(every[name]) & np.isnan(expected))
            assert (close | same).all(), name
            assert (np.signbit(every[name]) == np.signbit(expected))[~np.isnan(expected)].all()
    assert np.abs(every["tanh"]).max() == 1
    assert every["expm1"].min() == -1


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_ends_and_signs_are_those_of_the_c_library(compiled, dtype):
    with np.errstate(all="ignore"):
        x = np.array(SPECIAL * 3).astype(dtype)
        for name, found in compiled(x).items():
            expected = getattr(np, name)(x)
            finite = np.isfinite(expected)
            np.testing.assert_array_equal(finite, np.isfinite(found), err_msg=name)
            np.testing.assert_allclose(found, expected, rtol=2e-7, err_msg=name)
            same = np.signbit(expected) == np.signbit(found)
            assert same[~np.isnan(expected)].all(), name


def test_equal_numbers_have_equal_functions_wherever_they_stand(compiled):
    """Vectors of all widths, and what is left over, compute the same bits."""
    for number in (0.7, -3.3, 1e7, 123.456):
        for size in (1, 2, 3, 5, 8, 13, 16, 31):
            for name, found in compiled(np.full(size, number)).items():
                assert np.unique(np.asarray(found)).size == 1, (name, number, size)


@as_optimised
@needs_vectors
def test_loops_call_vector_forms_and_scalars_the_c_library():
    def both(x):
        return jnp.exp(x) + 1, jnp.exp(x[0])

    text = qjit(both).lower(np.zeros(1000)).as_text("llvm_ir")
    assert re.search(r"call <\d+ x double> @\S+exp_f64x\d", text)
    assert "@llvm.exp.f64" in text


@as_optimised
def test_without_vector_forms_the_c_library_is_called(monkeypatch):
    """As on processors that do not multiply and add in one step."""
    monkeypatch.setattr(import_table, "widths", lambda kind: ())
    text = qjit(lambda x: jnp.expm1(jnp.exp(x))).lower(np.zeros(9)).as_text("llvm_ir")
    assert "call double @exp(" in text
    assert "call double @expm1(" in text
    assert "elementary" not in text


@needs_vectors
def test_complex_exponentials_call_functions_of_vectors():
    text = qjit(lambda x: jnp.exp(1j * x)).lower(np.ones(100)).as_text("to-llvm")
    for name in ("exp", "sin", "cos"):
        assert f"diastase_import__elementary__{name}_f64" in text


@pytest.mark.parametrize("function", [jnp.exp, jnp.tanh, jnp.log, jnp.sin])
def test_complex_functions_are_those_of_jax(function):
    parts = np.array([0.0, -0.0, 1.5, -700.0, 0.1, np.pi])
    z = (parts[:, None] + 1j * parts).ravel()
    np.testing.assert_allclose(qjit(function)(z), jax.jit(function)(z), rtol=1e-13)
