"""`loop_interchange`: contiguous loops innermost, and nothing but the order of loops changes."""

import re

import jax
import jax.numpy as jnp
import numpy as np

from diastase import qjit
from diastase_mlir.bindings import session
from diastase_mlir.dialects import parse
from diastase_mlir.passes.tensors.loop_interchange import best_order, loop_interchange

jax.config.update("jax_enable_x64", True)


def ordered(body, maps, kinds, types):
    """Loops of an operation on memory, and how it reads and writes, after the pass."""
    names = ", ".join(f"%a{number}: {kind}" for number, kind in enumerate(types))
    *inputs, result = (f"%a{number}" for number in range(len(types)))
    iterators = ", ".join(f'"{kind}"' for kind in kinds)
    text = f"""func.func @f({names}) {{
      linalg.generic {{
        indexing_maps = [{", ".join(f"affine_map<{one}>" for one in maps)}],
        iterator_types = [{iterators}]
      }} ins({", ".join(inputs)} : {", ".join(types[:-1])}) outs({result} : {types[-1]}) {{
        {body}
      }}
      return
    }}"""
    with session():
        module = parse(text.encode())
        loop_interchange(module)
        assert module.operation.verify()
        return str(module)


SUM = "^bb0(%x: f64, %s: f64): %t = arith.addf %s, %x : f64 linalg.yield %t : f64"
DIFFERENCE = "^bb0(%x: f64, %s: f64): %t = arith.subf %s, %x : f64 linalg.yield %t : f64"
QUOTIENT = "^bb0(%x: f64, %s: f64): %t = arith.divf %s, %x : f64 linalg.yield %t : f64"
COLUMNS = ("(i, j) -> (j, i)", "(i, j) -> (i)")


def test_a_sum_over_rows_walks_along_them():
    text = ordered(SUM, COLUMNS, ("parallel", "reduction"), ("memref<?x?xf64>", "memref<?xf64>"))
    assert 'iterator_types = ["reduction", "parallel"]' in text
    assert "arith.addf %out, %in fastmath<reassoc>" in text


def test_what_may_not_be_reordered_keeps_its_order():
    kinds = ("reduction", "reduction")
    types = ("memref<?x?xf64>", "memref<f64>")
    maps = ("(i, j) -> (j, i)", "(i, j) -> ()")
    assert "(d0, d1) -> (d1, d0)" in ordered(QUOTIENT, maps, kinds, types)
    assert "fastmath" not in ordered(QUOTIENT, maps, kinds, types)
    assert "(d0, d1) -> (d1, d0)" not in ordered(SUM, maps, kinds, types)


def test_what_is_subtracted_is_added_with_the_other_sign():
    text = ordered(
        DIFFERENCE, COLUMNS, ("parallel", "reduction"), ("memref<?x?xf64>", "memref<?xf64>")
    )
    assert "%0 = arith.negf %in" in text
    assert "arith.addf %out, %0 fastmath<reassoc>" in text
    assert 'iterator_types = ["reduction", "parallel"]' in text


def test_positions_in_the_body_follow_their_loops():
    body = """^bb0(%x: f64, %s: f64):
      %n = linalg.index 0 : index
      %m = linalg.index 1 : index
      %k = arith.subi %n, %m : index
      %i = arith.index_cast %k : index to i64
      %t = arith.sitofp %i : i64 to f64
      linalg.yield %t : f64"""
    maps = ("(i, j) -> (j, i)", "(i, j) -> (j, i)")
    text = ordered(body, maps, ("parallel", "parallel"), ("memref<?x?xf64>", "memref<?x?xf64>"))
    assert re.search(r"%0 = linalg.index 1.*\n.*%1 = linalg.index 0", text)


def test_orders():
    assert best_order([(0, 1), (0, 1)], 1) == [0, 1]
    assert best_order([(1, 0), (0, 1)], 1) == [0, 1]  # a transposition writes along rows
    assert best_order([(0, 2, 1), (0, 1)], 1) == [0, 2, 1]  # a sum over the middle axis
    assert best_order([(0, 1), (0,)], 1) == [0, 1]
    assert best_order([(0, 1), (0, 1)], 1, once={1}) == [1, 0]


def test_reductions_of_all_axes_equal_jax():
    """Each axis, for sizes at and around vector widths; integers wrap around."""

    def reductions(x, i):
        floats = [f(x, axis=axis) for axis in (0, 1, 2, (0, 2)) for f in (jnp.sum, jnp.max)]
        integers = [jnp.sum(i, axis=axis) for axis in (0, 1, 2, None)]
        return floats, integers, jnp.prod(x), jnp.min(x), jnp.transpose(x, (2, 0, 1)) + 1

    compiled = qjit(reductions, abstracted_axes=("n", "m", "k"))
    numbers = np.random.default_rng(0)
    for shape in [(1, 1, 1), (2, 3, 4), (7, 8, 9), (3, 16, 33)]:
        x = numbers.normal(size=shape)
        x[0, 0, 0] = np.nan if shape[0] == 7 else -0.0
        i = numbers.integers(-(2**62), 2**62, shape)
        for found, wanted in zip(
            jax.tree.leaves(compiled(x, i)), jax.tree.leaves(reductions(x, i)), strict=True
        ):
            np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)


def test_sums_are_as_accurate_as_sums_by_halves():
    numbers = np.random.default_rng(1).normal(size=100_000).astype(np.float32) + np.float32(1)
    exact = np.sum(numbers.astype(np.float64))
    found = float(qjit(jnp.sum)(numbers))
    assert abs(found - exact) <= 2 * abs(float(jnp.sum(numbers)) - exact) + 1e-6 * abs(exact)
