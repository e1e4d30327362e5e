"""`reuse_destinations`: loops update what they carry in place, where nobody can tell."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit
from diastase_mlir.bindings import session
from diastase_mlir.dialects import parse
from diastase_mlir.passes.tensors.reuse_destinations import reuse_destinations

jax.config.update("jax_enable_x64", True)

STEP = """
  %e = tensor.empty() : tensor<9xf64>
  %l = scf.for %i = %c0 to %n step %c1 iter_args(%c = %x) -> (tensor<9xf64>) {{
    %r = linalg.generic {{
      indexing_maps = [affine_map<(d0) -> ({read})>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]
    }} ins(%c : tensor<9xf64>) outs(%e : tensor<9xf64>) {{
    ^bb0(%in: f64, %out: f64):
      %s = arith.addf %in, {second} : f64
      linalg.yield %s : f64
    }} -> tensor<9xf64>
    scf.yield %r : tensor<9xf64>
  }}
  return %l : tensor<9xf64>
"""


def after_pass(read="d0", second="%in", step=STEP):
    """The loop, after the pass."""
    text = step.format(read=read, second=second)
    with session():
        module = parse(
            f"""func.func @f(%x: tensor<9xf64>, %n: index) -> tensor<9xf64> {{
              %c0 = arith.constant 0 : index
              %c1 = arith.constant 1 : index
              {text} }}""".encode()
        )
        reuse_destinations(module)
        assert module.operation.verify()
        return str(module)


def test_what_a_loop_carries_is_the_destination():
    assert "outs(%arg3 :" in after_pass()


def test_other_reads_need_memory_of_their_own_in_each_iteration():
    for text in (after_pass(read="8 - d0"), after_pass(second="%out"), after_pass(read="0")):
        assert "outs(%arg2 :" not in text
        assert "outs(%arg3 :" not in text
        assert "tensor.empty" in text[text.index("scf.for") :]


def test_parts_that_the_body_reads_need_memory_of_their_own():
    """Else bufferization copies each part, to write over what it is a part of."""
    part = """%p = tensor.extract_slice %c[1] [8] [1] : tensor<9xf64> to tensor<8xf64>
    %r = linalg.generic"""
    text = STEP.replace("%r = linalg.generic", part).replace(
        "%s = arith", "%second = tensor.extract %p[%c1] : tensor<8xf64>\n      %s = arith"
    )
    assert "outs(%arg3 :" in after_pass()
    assert "outs(%arg3 :" not in after_pass(second="%second", step=text)


def swapped(x, y):
    return jax.lax.fori_loop(0, 5, lambda _, s: (s[1] * 2, s[0] + 1), (x, y))


def read_again(x, y):
    def step(_, state):
        a, b = state
        c = a * b + 1
        return c, a[::-1] + c

    return jax.lax.fori_loop(0, 5, step, (x, y))


def of_constants(x, _):
    def step(state, row):
        state = state * 0.5 + row
        return state, state + 1

    return jax.lax.scan(step, jnp.arange(1.0 * len(x)), jnp.outer(x, x))


def argument_stays(x, y):
    return jax.lax.fori_loop(0, 3, lambda _, s: jnp.sin(s), x), x, y


def nested(x, y):
    def inner(i, s):
        return s * (i + 1)

    def outer(i, s):
        return jax.lax.fori_loop(0, 3, inner, s + i) + s * y

    return jax.lax.fori_loop(0, 4, outer, x)


@pytest.mark.sample(2)
@pytest.mark.parametrize("function", [swapped, read_again, of_constants, argument_stays, nested])
def test_loops_equal_jax(function):
    """Carried arrays that swap, that are read after they were replaced, and that are constants."""
    compiled = qjit(function, abstracted_axes=("n",))
    for size in (1, 3, 8, 17):
        arguments = np.linspace(-1, 1, size), np.linspace(1, 2, size)
        kept = [argument.copy() for argument in arguments]
        found = jax.tree.leaves(compiled(*arguments))
        for one, other in zip(found, jax.tree.leaves(function(*arguments)), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13)
        for argument, copy in zip(arguments, kept, strict=True):
            np.testing.assert_array_equal(argument, copy)


def test_a_part_is_no_destination():
    """Bufferization would copy the part before it is written over."""
    part = """%p = tensor.extract_slice %c[0] [9] [1] : tensor<9xf64> to tensor<9xf64>
    %r = linalg.generic"""
    text = STEP.replace("%r = linalg.generic", part).replace("ins(%c :", "ins(%p :")
    assert "outs(%extracted_slice" not in after_pass(step=text)
