"""`index_set_splitting`: no test of a position is left where a loop can be cut instead."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diastase import qjit
from diastase_mlir.bindings import session
from diastase_mlir.dialects import parse
from diastase_mlir.passes.buffers import index_set_splitting as module_of_pass
from diastase_mlir.passes.buffers.index_set_splitting import index_set_splitting

jax.config.update("jax_enable_x64", True)

GENERIC = """
func.func @f(%a: memref<{shape}xf64>, %b: memref<{shape}xf64>, %flag: i1) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4000 = arith.constant 4000 : index
  %zero = arith.constant 0.0 : f64
  linalg.generic {{
    indexing_maps = [affine_map<{map}>], iterator_types = [{kinds}]
  }} outs(%b : memref<{shape}xf64>) {{
  ^bb0(%out: f64):
    {body}
    linalg.yield %x : f64
  }}
  return
}}
"""
ROLLED = """
    %i = linalg.index 0 : index
    %is_first = arith.cmpi ult, %i, %c1 : index
    %x = scf.if %is_first -> (f64) {
      %y = memref.load %a[%c4000] : memref<4001xf64>
      scf.yield %y : f64
    } else {
      %before = arith.subi %i, %c1 : index
      %y = memref.load %a[%before] : memref<4001xf64>
      scf.yield %y : f64
    }
"""


def split(body, shape="4001", loops=1):
    """The module with a loop, after the pass."""
    names = ", ".join(f"d{number}" for number in range(loops))
    kinds = ", ".join(['"parallel"'] * loops)
    text = GENERIC.format(body=body, shape=shape, map=f"({names}) -> ({names})", kinds=kinds)
    with session():
        module = parse(text.encode())
        index_set_splitting(module)
        assert module.operation.verify()
        return str(module)


def test_a_test_of_the_position_becomes_a_loop_for_each_answer():
    text = split(ROLLED)
    assert text.count("linalg.generic") == 2
    assert "scf.if" not in text
    assert "cmpi" not in text
    assert "memref.subview %arg1[0] [1] [1]" in text
    assert "memref.subview %arg1[1] [4000] [1]" in text


def test_a_short_loop_and_one_of_unknown_size_stay():
    for size in ("100", "?"):
        text = split(ROLLED.replace("4001", size), size)
        assert text.count("linalg.generic") == 1
        assert "scf.if" in text


def test_all_tests_of_a_pad_go():
    """Sums of positions, signed and unsigned, and what `and` makes of the answers."""
    body = """
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %at = arith.subi %j, %c2 : index
    %p = arith.cmpi sge, %at, %c0 : index
    %q = arith.cmpi slt, %i, %c1 : index
    %r = arith.andi %p, %q : i1
    %s = arith.andi %r, %flag : i1
    %t = arith.cmpi eq, %j, %c4000 : index
    %y = arith.select %t, %out, %zero : f64
    %x = scf.if %s -> (f64) {
      %z = memref.load %a[%i, %at] : memref<40x90xf64>
      scf.yield %z : f64
    } else {
      scf.yield %y : f64
    }
"""
    text = split(body, "40x90", loops=2)
    assert text.count("linalg.generic") == 3  # %j < 2, then %i < 1, and the others
    assert text.count("scf.if") == 1  # by the flag, which is no position
    assert "arith.select" not in text
    assert "[0, 2] [40, 88]" in text


def test_ranges_of_few_positions_are_one_part():
    """Positions 0 and 1 differ; together they are one loop that goes on asking."""
    body = """
    %i = linalg.index 0 : index
    %p = arith.cmpi slt, %i, %c1 : index
    %q = arith.cmpi slt, %i, %c2 : index
    %y = arith.select %p, %out, %zero : f64
    %x = arith.select %q, %y, %out : f64
"""
    text = split(body)
    assert text.count("linalg.generic") == 2
    assert text.count("arith.cmpi") == 1


@pytest.mark.sample(4)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(
    shape=st.lists(st.integers(1, 30), min_size=1, max_size=3),
    seed=st.integers(0, 1000),
)
def test_any_formula_equals_jax(monkeypatch_small, shape, seed):
    """Rolls, pads, concatenations and slices, of which some are loops too short to be split."""
    random = np.random.default_rng(seed)
    x = random.normal(size=shape)
    axes = [int(axis) for axis in random.integers(0, len(shape), 3)]
    amounts = [int(amount) for amount in random.integers(-3, 4, 3)]
    pads = [
        (int(low), int(high), int(inner))
        for low, high, inner in random.integers(0, 3, (len(shape), 3))
    ]

    def function(x):
        y = x
        for axis, amount in zip(axes, amounts, strict=True):
            y = y + 2 * jnp.roll(x, amount, axis)
        z = jax.lax.pad(y * 3, 1.0, pads)
        joined = jnp.concatenate([x, y, y[:1], x * 2], 0)
        return y, z * z + 1, joined[::-1] - 1

    for one, other in zip(qjit(function)(x), function(x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


@pytest.fixture
def monkeypatch_small(monkeypatch):
    """Loops of any length are split."""
    monkeypatch.setattr(module_of_pass, "LEAST_ITERATIONS", 1)
    monkeypatch.setattr(module_of_pass, "SHORT", 1)


def test_a_stencil_in_a_loop_reads_what_was_before(monkeypatch_small):
    """All neighbours are those of the step before, whichever memory the step writes."""

    def step(x):
        return x + 0.1 * (jnp.roll(x, 1, 0) + jnp.roll(x, -1, 0) + jnp.roll(x, 1, 1) - 3 * x)

    def function(x):
        return jax.lax.fori_loop(0, 5, lambda _, y: step(y), x)

    x = np.random.default_rng(0).normal(size=(9, 7))
    kept, expected = x.copy(), x
    for _ in range(5):
        expected = step(expected)
    np.testing.assert_allclose(qjit(function)(x), expected, rtol=1e-13)
    np.testing.assert_array_equal(x, kept)
