"""The list of classical programs holds what issue 17 asks of it, and judges results rightly."""

import sys
from collections import defaultdict
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
LEVELS = (
    {"small", "cache", "large"},
    {"f32", "f64"},
    {"forward", "gradient"},
    {"alone", "loop"},
)
MODULES = ("numpy", "lax", "scipy", "nn", "random", "numpy.fft", "numpy.linalg")


@pytest.fixture(scope="module")
def modules():
    """The modules of `benchmarks/`, which find each other on the path."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        names = ("rows", "table", "worker", "listing")
        found = {name: import_module(f"classical_200.{name}") for name in names}
        yield found | {"make": found["rows"], "rows": found["listing"].ROWS}
    finally:
        sys.path.remove(str(BENCHMARKS))


def test_there_are_200_programs_with_names_of_their_own(modules):
    names = [(row.family, row.title) for row in modules["rows"]]
    assert len(names) >= 200
    assert len(set(names)) == len(names)


def test_every_family_meets_every_size_precision_direction_and_setting(modules):
    met = defaultdict(lambda: [set(), set(), set(), set()])
    for row in modules["rows"]:
        for levels, level in zip(met[row.family], row.cell, strict=True):
            levels.add(level)
    for family, of_family in met.items():
        for expected, found in zip(LEVELS, of_family, strict=True):
            assert expected <= found, family
            assert found <= expected | {"i32", "i64"}, family
    for module in MODULES:
        assert any(family.startswith(f"jax.{module}") for family in met), module


@pytest.mark.sample(2)
@pytest.mark.parametrize("part", range(4))
def test_every_program_traces_in_its_precision(modules, part):
    allowed = {"f32": (np.float32, np.complex64), "f64": (np.float64, np.complex128)}
    with jax.enable_x64(True):
        for row in modules["rows"][part::4]:
            for found in jax.tree.leaves(jax.eval_shape(row.program, *row.arguments())):
                if jnp.issubdtype(found.dtype, jnp.inexact) and row.dtype in allowed:
                    assert found.dtype in allowed[row.dtype] or row.name == "rankdata", row.title


def test_loops_depend_on_their_function_in_each_step(modules):
    make = modules["make"]
    with jax.enable_x64(True):
        x = jnp.arange(1.0, 5.0)
        for function in (jnp.square, jnp.outer, lambda x: (x > 0, x)):
            given = (function, *([x] if function is jnp.outer else []))
            states = [make.in_loop(given[0], times)(x, *given[1:]) for times in range(4)]
            assert all(bool((one != other).all()) for one, other in pairwise(states))
        down = make.downhill(make.gradient(jnp.sin), 50)(x)
        assert jnp.sum(jnp.sin(down) ** 3) < jnp.sum(jnp.sin(x) ** 3)


def test_arguments_are_the_same_each_time(modules):
    for row in modules["rows"][::20]:
        for one, other in zip(row.arguments(), row.arguments(), strict=True):
            np.testing.assert_array_equal(one, other)


def test_wrong_results_are_told_from_rounding(modules):
    difference = modules["worker"].difference
    row = next(row for row in modules["rows"] if row.name == "sum axis 0")
    x = np.linspace(1.0, 2.0, 9)
    assert difference(row, [x], [x * (1 + 1e-12)]) == ""
    assert "×" in difference(row, [x], [x * (1 + 1e-6)])
    assert "float32(9,) instead of float64(9,)" in difference(row, [x.astype(np.float32)], [x])
    holes = np.where(x > 1.5, np.nan, x)
    assert difference(row, [holes], [holes]) == ""
    assert "inf" in difference(row, [holes], [x])
    assert "inf" in difference(row, [np.arange(3)], [np.array([0, 1, 3])])
    drawn = next(row for row in modules["rows"] if row.name == "poisson")
    most = np.arange(10**5)
    assert difference(drawn, [np.where(most == 7, 0, most)], [most]) == ""
    assert "×" in difference(drawn, [np.where(most % 2, 0, most)], [most])


def test_of_float32_the_results_in_float64_decide(modules):
    difference = modules["worker"].difference
    row = next(row for row in modules["rows"] if row.name == "sum axis 1")
    (x,) = row.arguments()
    exact = x.astype(np.float64).sum(1).astype(np.float32)
    assert difference(row, exact, exact * np.float32(1.001)) == ""
    assert "from float64: ours" in difference(row, exact * np.float32(1.001), exact)


def test_table_names_what_is_wrong_and_what_is_worst(modules):
    table = modules["table"]
    machine = {"time": "t", "commit": "c", "minutes": 1, "processor": "p", "cores": 2}
    machine |= {"load_before": 1, "load_after": 1}
    both = {"ours": 2.0, "xla": 1.0}
    rows = [
        table.Figures("jax.nn", "a|b", 1, both, {"ours": 5.0, "xla": 3.0}, ["fft"]),
        table.Figures("jax.nn", "c", 1, {"ours": 0.5, "xla": 1.0}, {"ours": 1.5, "xla": 3.0}),
        table.Figures("jax.nn", "d", 1, {"ours": 2.0}, {"ours": 3.0}, problems=["WRONG: x"]),
    ]
    text = table.markdown(rows, machine)
    assert "jax.nn: d: WRONG: x" in text
    assert "| jax.nn | d | 2 s |  |  |  |  |  |  | WRONG: x |" in text
    assert "geometric mean 1.00 ×; 1 above 1.3" in text
    assert "| jax.nn | a\\|b | 2 s | 1 s | 2.00 | 3 s | 2 s | 1.50 | fft |  |" in text
    assert "3 programs, 2 measured, 1 of them with problems, 1 call the host" in text
