"""Numbers are as exact as `docs/accuracy.md` says: samples of what is measured for it."""

import sys
from importlib import import_module
from pathlib import Path

import jax
import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
MODULES = (
    "arguments",
    "conversions",
    "derivatives",
    "exact",
    "functions",
    "measure",
    "page",
    "pairs",
    "units",
)
POINTS = 300

jax.config.update("jax_enable_x64", True)
sys.path.insert(0, str(BENCHMARKS))
try:
    accuracy = {name: import_module(f"accuracy.{name}") for name in MODULES}
finally:
    sys.path.remove(str(BENCHMARKS))

ROWS = accuracy["page"].figures("functions")
CASES = [
    (function, dtype)
    for function in accuracy["functions"].FUNCTIONS
    for dtype in function.dtypes
    if f"{function.name} {dtype}" in ROWS
]


def name_of(case):
    return case if isinstance(case, str) else case.name


@pytest.fixture(autouse=True)
def edges_are_meant():
    with np.errstate(all="ignore"):
        yield


@pytest.mark.sample(5)
@pytest.mark.parametrize(("function", "dtype"), CASES, ids=name_of)
def test_errors_are_not_above_those_of_the_page(function, dtype):
    """Other random numbers than those of the page, so a tenth more, or a quarter of a unit."""
    row, measure = ROWS[f"{function.name} {dtype}"], accuracy["measure"]
    columns = measure.drawn(function, measure.dtype_of(dtype), POINTS, seed=0)
    found = np.asarray(measure.qjit(function.program)(*columns))
    high, low = measure.exact_or_end(function, columns)
    off = np.where(high == 0, 0.0, accuracy["units"].errors(found, high, low))
    off = off[~measure._subnormal(columns, high, columns[0].dtype)]
    listed = row["errors"]["ours"]
    assert np.isinf(off).sum() == 0 or listed["wrong"]
    assert off[np.isfinite(off)].max(initial=0) <= 1.1 * listed["most"] + 0.25


def test_the_page_is_made_of_the_figures():
    page = accuracy["page"]
    assert page.page() == page.PAGE.read_text(), "run `python benchmarks/accuracy page`"


def test_errors_count_units_of_the_exact_result():
    errors, one = accuracy["units"].errors, np.ones(1)
    assert errors(one + 3 * 2.0**-52, one, np.zeros(1)) == 3
    assert errors(one, one, np.array([2.0**-54])) == 0.25
    assert errors(np.array([np.inf], np.float32), np.array([3.5e38]), np.zeros(1)) == 0
    assert errors(np.array([np.nan]), one, np.zeros(1)) == np.inf
    assert errors(np.array([1e-45], np.float32), np.zeros(1), np.zeros(1)) == 1
    assert errors(one + 1j * 2.0**-52, one + 0j, np.zeros(1)) == 1


def test_exact_values_have_more_digits_than_any_type():
    exact, (pi,) = accuracy["exact"].exact, (np.array([np.pi]),)
    high, low = exact(lambda x: x.sin(), [pi])
    assert high + low == 1.2246467991473532e-16  # sin of the float, not of pi
    assert abs(low) < 2.0**-53 * abs(high)
    assert np.isnan(exact(lambda x: x.log(), [-pi])[0])


@pytest.mark.sample(2)
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@pytest.mark.parametrize("source", accuracy["conversions"].TYPES[::-1])
def test_conversions_are_exact(source):
    """Rounded once, saturated, wrapped; also of subnormal numbers, which XLA flushes."""
    conversions = accuracy["conversions"]
    given = conversions.numbers(accuracy["measure"].dtype_of(source))
    found = accuracy["measure"].qjit(conversions.all_targets)(given)
    for target, result in zip(conversions.TYPES, found, strict=True):
        kind = accuracy["measure"].dtype_of(target)
        wrong = [
            (number, row)
            for number, row in zip(given, np.asarray(result), strict=True)
            if not conversions.is_same(row, conversions.exact_conversion(number, kind))
        ]
        assert wrong == [], target


def test_operations_of_edges_are_those_of_ieee_754():
    pairs, measure = accuracy["pairs"], accuracy["measure"]
    pair = accuracy["arguments"].pairs_of_edges(np.dtype(np.float64))
    found = measure.qjit(pairs.all_operations)(*pair)
    for (name, (_, numpy)), result in zip(pairs.OPERATIONS.items(), found, strict=True):
        wrong = ~pairs.is_right(name, np.asarray(result), numpy(*pair))
        assert [measure.shown(list(pair), row) for row in np.flatnonzero(wrong)] == [], name


DERIVATIVES = [*accuracy["derivatives"].POINTWISE, *accuracy["derivatives"].TIES]


@pytest.mark.sample(2)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("case", DERIVATIVES, ids=name_of)
def test_derivatives_at_edges_and_ties_are_those_of_jax(case):
    derivatives = accuracy["derivatives"]
    is_tie = case in derivatives.TIES
    of = derivatives.tie_differences if is_tie else derivatives.pointwise_differences
    differences = accuracy["page"].figures("derivatives")["differences"]
    listed = {(row["name"], row["by"], row["at"]) for row in differences}
    found = [row for row in of(case) if (row.name, row.by, row.at) not in listed]
    assert found == []


LARGEST = float(np.finfo(np.float64).max)


@pytest.mark.parametrize(
    ("name", "z", "expected"),
    [
        ("sinh", 1e-20 - 2e-34j, 1e-20 - 2e-34j),
        ("expm1", 1e-300 + 2j * np.pi, -2.4492935982947064e-16j),
        ("cosh", 1e-20 + 0.5j * np.pi, 6.123233995736766e-17 + 1e-20j),
        ("sqrt", LARGEST + 1j * LARGEST, 1.4730945569055655e154 + 6.101757441282702e153j),
        ("log1p", LARGEST - 1j * LARGEST, 710.1292864836639 - 0.7853981633974483j),
    ],
)
def test_complex_functions_keep_their_digits(name, z, expected):
    """They lost them near zeros of the function, or overflowed."""
    found = accuracy["measure"].qjit(getattr(jax.lax, name))(np.array([z]))
    np.testing.assert_allclose(found, [expected], rtol=4e-16, atol=1e-31)
