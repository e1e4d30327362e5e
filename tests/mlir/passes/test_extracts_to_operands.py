"""`extracts_to_operands`: what is read at a loop's own place is an operand if it fits."""

import jax
import jax.numpy as jnp
import numpy as np

from diastase import qjit
from diastase_mlir.bindings import session
from diastase_mlir.dialects import parse
from diastase_mlir.passes.tensors.extracts_to_operands import extracts_to_operands

jax.config.update("jax_enable_x64", True)


def after_pass(parameters, before, reads, result):
    """A loop that reads in its body, after the pass."""
    text = f"""func.func @f({parameters}) -> {result} {{
      {before}
      %r = linalg.generic {{
        indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]
      }} outs(%e : {result}) {{
      ^bb0(%out: f64):
        %i = linalg.index 0 : index
        %j = linalg.index 1 : index
        {reads}
        linalg.yield %x : f64
      }} -> {result}
      return %r : {result}
    }}"""
    with session():
        module = parse(text.encode())
        extracts_to_operands(module)
        assert module.operation.verify()
        return str(module)


def test_reads_of_arrays_of_the_same_size_are_operands():
    before = "%e = tensor.empty() : tensor<4x5xf64>"
    read = "%x = tensor.extract %a[%j, %i] : tensor<5x4xf64>"
    text = after_pass("%a: tensor<5x4xf64>", before, read, "tensor<4x5xf64>")
    assert "ins(%arg0 : tensor<5x4xf64>)" in text
    assert "affine_map<(d0, d1) -> (d1, d0)>" in text
    assert "tensor.extract" not in text


def test_larger_arrays_are_still_read_in_the_body():
    before = "%e = tensor.empty() : tensor<4x5xf64>"
    read = "%x = tensor.extract %a[%j, %i] : tensor<5x6xf64>"
    assert "tensor.extract" in after_pass("%a: tensor<5x6xf64>", before, read, "tensor<4x5xf64>")


def test_sizes_at_run_time_must_be_the_same_value():
    parameters = "%a: tensor<?x?xf64>, %n: index"
    sizes = """%c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n0 = tensor.dim %a, %c0 : tensor<?x?xf64>
      %n1 = tensor.dim %a, %c1 : tensor<?x?xf64>
    """
    read = "%x = tensor.extract %a[%i, %j] : tensor<?x?xf64>"
    for given, is_operand in (("%n0, %n1", True), ("%n1, %n0", False), ("%n0, %n", False)):
        before = sizes + f"%e = tensor.empty({given}) : tensor<?x?xf64>"
        text = after_pass(parameters, before, read, "tensor<?x?xf64>")
        assert ("tensor.extract" not in text) == is_operand, given


def test_an_initial_value_is_no_constant():
    """What a reduction starts from is written to, though it is one number everywhere before."""
    text = b"""func.func @f(%a: tensor<4xf64>, %x: f64) -> tensor<f64> {
      %e = tensor.empty() : tensor<f64>
      %z = linalg.fill ins(%x : f64) outs(%e : tensor<f64>) -> tensor<f64>
      %y = tensor.empty() : tensor<4xf64>
      %o = linalg.fill ins(%x : f64) outs(%y : tensor<4xf64>) -> tensor<4xf64>
      %r = linalg.generic {
        indexing_maps = [
          affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>
        ],
        iterator_types = ["reduction"]
      } ins(%a, %o : tensor<4xf64>, tensor<4xf64>) outs(%z : tensor<f64>) {
      ^bb0(%in: f64, %one: f64, %sum: f64):
        %p = arith.mulf %in, %one : f64
        %s = arith.addf %sum, %p : f64
        linalg.yield %s : f64
      } -> tensor<f64>
      return %r : tensor<f64>
    }"""
    with session():
        module = parse(text)
        extracts_to_operands(module)
        found = str(module)
    assert "arith.mulf %in, %arg1" in found
    assert "arith.addf %out, %" in found


def test_programs_equal_jax():
    """Broadcasts, gathers and reshapes of what was computed, for sizes of 0, 1 and more."""

    def program(x, i, s):
        column, total = s[:, None] * 2, jnp.cumsum(s)
        return (
            x * column - column,
            x[i % x.shape[0]] + jnp.broadcast_to(total[:, None], x.shape),
            jnp.where(jnp.arange(x.shape[1]) > 1, x.T.reshape(x.shape), jnp.ones(x.shape) * 3),
            jax.nn.one_hot(i, 3) + total[:, None],
            jax.nn.softmax(x, axis=0) * jnp.full(x.shape, 2.0) if x.shape[0] else x,
        )

    compiled = qjit(program)
    for shape in ((1, 1), (3, 2), (4, 7)):
        numbers = np.random.default_rng(shape[0])
        arguments = (
            numbers.normal(size=shape),
            numbers.integers(0, 3, shape[:1]),
            numbers.normal(size=shape[:1]),
        )  # fmt: skip
        for found, wanted in zip(compiled(*arguments), program(*arguments), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12)
