"""`reductions_in_lanes`: rows are combined in lanes where their order does not matter."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax

from diastase import qjit
from diastase_mlir.bindings import session
from diastase_mlir.dialects import parse
from diastase_mlir.passes.buffers.reductions_in_lanes import reductions_in_lanes

jax.config.update("jax_enable_x64", True)

MAXIMUM = "%t = arith.maximumf %s, %x : f64"
SCALED = "%p = arith.mulf %x, %s : f64 %t = arith.addf %p, %k : f64"
CHOSEN = """%n = arith.cmpf uno, %x, %x : f64 %v = arith.select %n, %k, %x : f64
            %t = arith.maximumf %v, %s : f64"""
SUM = "%t = arith.addf %s, %x : f64"
DIFFERENCE = "%t = arith.subf %s, %x : f64"
UNEVEN = "%p = arith.mulf %s, %k : f64 %t = arith.addf %p, %x : f64"
SQUARES = "%q = arith.mulf %x, %x : f64 %p = arith.addf %s, %q : f64 %t = arith.mulf %p, %x : f64"


def passed(body: str, size: str, kinds: str = '"parallel", "reduction"') -> str:
    """Loops of a reduction of rows, after the pass."""
    text = f"""func.func @f(%a: memref<9x{size}xf64>, %b: memref<9xf64>) {{
      %k = arith.constant 2.0 : f64
      linalg.generic {{
        indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
        iterator_types = [{kinds}]
      }} ins(%a : memref<9x{size}xf64>) outs(%b : memref<9xf64>) {{
      ^bb0(%x: f64, %s: f64):
        {body}
        linalg.yield %t : f64
      }}
      return
    }}"""
    with session():
        module = parse(text.encode())
        reductions_in_lanes(module)
        assert module.operation.verify()
        return str(module)


@pytest.mark.parametrize("body", [MAXIMUM, SCALED, CHOSEN])
def test_rows_are_combined_in_lanes(body: str) -> None:
    text = passed(body, "1000")
    assert "linalg.generic" not in text
    assert "memref.alloca() {alignment = 64 : i64} : memref<64xf64>" in text
    assert text.count("scf.for") == 5  # rows; chunks, lanes; groups, lanes
    if body == CHOSEN:  # what is made of an element is made once
        assert text.count("arith.cmpf") == 1


@pytest.mark.parametrize("body", [SUM, DIFFERENCE, UNEVEN, SQUARES])
def test_what_llvm_does_and_what_has_an_order_stays(body: str) -> None:
    assert "scf.for" not in passed(body, "1000")


@pytest.mark.parametrize(("body", "least"), [(MAXIMUM, 256), (SCALED, 32), (CHOSEN, 32)])
def test_short_rows_stay(body: str, least: int) -> None:
    assert "scf.for" not in passed(body, str(least - 1))
    assert f"memref<{min(least, 64)}xf64>" in passed(body, str(least))


def test_a_size_known_at_run_time_decides_when_the_program_runs() -> None:
    text = passed(MAXIMUM, "?")
    assert text.index("arith.cmpi uge") < text.index("scf.if") < text.index("linalg.generic")


_SPECIAL = st.sampled_from([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -3.5])


@settings(max_examples=30, deadline=None)
@given(st.data(), st.integers(1, 400))
def test_extremes_of_any_numbers(data: st.DataObject, size: int) -> None:
    rng = np.random.default_rng(size)
    x = rng.normal(size=(3, size))
    for _ in range(data.draw(st.integers(0, 4))):
        place = data.draw(st.integers(0, x.size - 1))
        x.flat[place] = data.draw(_SPECIAL)
    for ours, theirs in zip(_extremes(x), _EXTREMES(x), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def _of_rows(x):
    chosen = jnp.where(jnp.isnan(x), -jnp.inf, x)
    return x.max(1), x.min(1), chosen.max(1), jnp.nanmin(x, 1), x.max(), x.argmax(1)


_EXTREMES = jax.jit(_of_rows)
_extremes = qjit(_of_rows, abstracted_axes={1: "n"})


@pytest.mark.parametrize("dtype", ["int8", "int16", "int64", "uint8", "float32", "float16"])
@pytest.mark.parametrize("size", [31, 32, 200])
def test_functions_of_the_user(dtype: str, size: int) -> None:
    def both(x):
        one, zero = jnp.ones((), x.dtype), jnp.zeros((), x.dtype)
        return (
            lax.reduce(x, one, lambda a, b: a * b + np.zeros((), dtype), (1,)),
            lax.reduce(x, zero, lambda a, b: lax.max(a, b) + np.zeros((), dtype), (0, 2)),
            x.max(2),
            x.min((1, 2)),
        )

    rng = np.random.default_rng(size)
    x = np.where(rng.uniform(size=(2, size, 3)) < 0.97, 1, rng.integers(0, 3, (2, size, 3)))
    x = np.concatenate([x] * 30, 2).astype(dtype)
    for ours, theirs in zip(qjit(both)(x), jax.jit(both)(x), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


def test_an_order_that_matters_is_kept() -> None:
    """Affine functions composed: associative, but their order matters."""

    def compose(x, y):
        def after(first, second):
            return first[0] * second[0], first[1] * second[0] + second[1]

        return lax.reduce((x, y), (1.0, 0.0), after, (1,))

    rng = np.random.default_rng(0)
    x, y = rng.uniform(0.9, 1.1, (4, 300)), rng.normal(size=(4, 300))
    expected = np.ones(4), np.zeros(4)
    for a, b in zip(x.T, y.T, strict=True):
        expected = expected[0] * a, expected[1] * a + b
    for ours, theirs in zip(qjit(compose)(x, y), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
