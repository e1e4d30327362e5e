"""Arrays of more bytes than 64 bits count are refused, however many sizes that takes."""

import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit
from diastase_mlir import CompileOptions, FailedPassError, compile_module

SHAPES = {
    "one": lambda n: jnp.ones(n),
    "two": lambda n: jnp.ones((n, n)),
    "with a known one": lambda n: jnp.ones((n, 3, n), jnp.complex64),
    "inside": lambda n: jnp.sort(jnp.ones((n, 2), bool), axis=0).sum(),
    "product": lambda n: jnp.ones(n * 2),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", SHAPES)
def test_too_many_bytes(name):
    function = SHAPES[name]
    compiled = qjit(function)
    np.testing.assert_array_equal(compiled(2), function(2))
    for n in (2**61, 2**62 - 1):
        with pytest.raises(MemoryError, match="Out of memory"):
            compiled(n)
    np.testing.assert_array_equal(compiled(3), function(3))


def test_products_that_wrap_around_to_something_small():
    compiled = qjit(lambda n: jnp.ones((n, n), jnp.int8))
    for n in (2**32, 2**32 + 1, 2**33):
        with pytest.raises(MemoryError):
            compiled(n)


def test_known_sizes_that_are_too_large(mlir_program, tmp_path):
    kind = f"tensor<{2**61}xf64>"
    program = mlir_program(
        f"""() -> {kind} {{
          %one = arith.constant 1.0 : f64
          %empty = tensor.empty() : {kind}
          %result = linalg.fill ins(%one : f64) outs(%empty : {kind}) -> {kind}
          return %result : {kind}
        }}""",
        "",
        "float64[1]",
    )
    options = CompileOptions(use_cache=False, workspace=tmp_path)
    with pytest.raises(FailedPassError, match="more than 2\\^62 bytes"):
        compile_module(program, options)
