"""Which inner loops are written out, and what programs with such loops compute."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit
from diastase_mlir.bindings import ir, session
from diastase_mlir.passes.buffers.short_loops import short_loops

jax.config.update("jax_enable_x64", True)

NEGATIVE = "^bb0(%x: f64, %out: f64): %y = arith.negf %x : f64 linalg.yield %y : f64"
SUM = "^bb0(%x: f64, %s: f64): %t = arith.addf %s, %x : f64 linalg.yield %t : f64"
LAST = "^bb0(%x: f64, %s: f64): %t = arith.subf %x, %s : f64 linalg.yield %t : f64"
SAME, TURNED = "(i, j) -> (i, j)", "(i, j) -> (j, i)"


def after(body, maps, types, kinds=("parallel", "parallel"), before=""):
    """An operation on memory after the pass."""
    names = [f"%a{number}" for number in range(len(types))]
    own = ", ".join(f"{name}: {kind}" for name, kind in zip(names, types, strict=True))
    text = f"""func.func @f({own}) {{
      {before}
      linalg.generic {{
        indexing_maps = [{", ".join(f"affine_map<{one}>" for one in maps)}],
        iterator_types = [{", ".join(f'"{kind}"' for kind in kinds)}]
      }} ins({", ".join(names[:-1])} : {", ".join(types[:-1])}) outs({names[-1]} : {types[-1]}) {{
        {body}
      }}
      return
    }}"""
    with session():
        module = ir.Module.parse(text)
        short_loops(module)
        assert module.operation.verify()
        return str(module)


@pytest.mark.parametrize(
    ("rows", "columns", "copies"),
    [
        ("100", 3, 3),
        ("?", 7, 7),
        ("100", 4, 0),
        ("100", 8, 0),
        ("100", 1, 0),
        ("1", 3, 0),
        ("15", 3, 0),
    ],
)
def test_loops_that_fill_no_vector_are_written_out(rows, columns, copies):
    kinds = (f"memref<{columns}x{rows}xf64>", f"memref<{rows}x{columns}xf64>")
    text = after(NEGATIVE, (TURNED, SAME), kinds)
    assert ("linalg.generic" in text) == (copies == 0)
    assert text.count("memref.store") == copies
    assert text.count("scf.for") == (copies > 0)


def test_contiguous_operands_are_one_loop():
    text = after(NEGATIVE, (SAME, SAME), ("memref<?x3xf64>", "memref<?x3xf64>"))
    assert text.count("memref.collapse_shape") == 2
    assert 'iterator_types = ["parallel"]' in text


def test_parts_of_rows_are_no_contiguous_operands():
    kinds = ("memref<20x3xf64, strided<[5, 1]>>", "memref<20x3xf64>")
    assert "collapse_shape" not in after(NEGATIVE, (SAME, SAME), kinds)


@pytest.mark.parametrize(("body", "added"), [(SUM, 3), (LAST, 0)])
def test_sums_are_added_up_in_registers(body, added):
    kinds = ("memref<20x3xf64>", "memref<20xf64>")
    text = after(body, (SAME, "(i, j) -> (i)"), kinds, ("parallel", "reduction"))
    assert (text.count("memref.load"), text.count("memref.store")) == (4, 1)
    assert text.count("arith.addf") == added


@pytest.mark.parametrize(("between", "loads"), [("", 3), ("memref.store %c, %a1[%i] : KIND", 4)])
def test_a_sum_begins_with_what_its_result_is_filled_with(between, loads):
    kind = "memref<20xf64>"
    before = f"""%c = arith.constant 0.5 : f64 %i = arith.constant 0 : index
      linalg.fill ins(%c : f64) outs(%a1 : {kind}) {between.replace("KIND", kind)}"""
    maps, kinds = (SAME, "(i, j) -> (i)"), ("parallel", "reduction")
    text = after(SUM, maps, ("memref<20x3xf64>", kind), kinds, before)
    assert text.count("memref.load") == loads
    assert ("linalg.fill" in text) == (loads == 4)


def test_calls_stay_loops():
    body = "^bb0(%x: f64, %out: f64): %y = math.exp %x : f64 linalg.yield %y : f64"
    assert "linalg.generic" in after(body, (SAME, SAME), ("memref<20x3xf64>", "memref<20x3xf64>"))


def drawn(*shape, dtype=np.float64):
    return np.random.default_rng(0).normal(size=shape).astype(dtype)


@pytest.mark.sample(24)
@pytest.mark.parametrize("n", [1, 2, 3, 5, 6, 7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128, np.int32])
@pytest.mark.parametrize("rows", [0, 1, 100])
def test_batches_of_small_arrays(rows, n, dtype):
    x = drawn(rows, n, n, dtype=np.float64).astype(dtype)

    def program(x):
        y = x @ x.transpose(0, 2, 1) - x.sum(1)[:, None] * x
        z = jnp.flip(jnp.where(jnp.real(y) > 0, y, x), 2) + jnp.arange(n, dtype=dtype)
        return z, jnp.concatenate([x[:, :, :1], z], 2), jnp.roll(z, 1, 0) - z.max(2, keepdims=True)

    tolerance = 1e-4 if dtype == np.float32 else 1e-10
    found = qjit(program)(x)
    for own, other in zip(found, jax.jit(program)(x), strict=True):
        np.testing.assert_allclose(own, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_updates_in_place(dtype):
    x = drawn(50, 3, dtype=dtype)

    def program(x):
        def step(i, x):
            x = x + 0.01 * jnp.cross(x, jnp.roll(x, 1, 0))
            return x.at[i % 50].set(x[(7 * i) % 50] / 2) - 0.001 * x[:, ::-1]

        return jax.lax.fori_loop(0, 40, step, x)

    tolerance = 1e-4 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(qjit(program)(x), jax.jit(program)(x), tolerance, tolerance)


def test_sizes_known_only_at_run_time():
    program = qjit(abstracted_axes={0: "n"})(lambda x: (x - x.mean(0)) @ x[:3] + x[:, ::-1].T.T)
    for rows in (3, 5, 40):
        x = drawn(rows, 3)
        np.testing.assert_allclose(program(x), (x - x.mean(0)) @ x[:3] + x[:, ::-1], 1e-12)
