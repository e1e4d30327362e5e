"""What moves elements: padding by negative amounts alone is a part, not a copy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from diastase import qjit

jax.config.update("jax_enable_x64", True)


def padded(x, *amounts):
    return lax.pad(x, jnp.zeros((), x.dtype), amounts)


@pytest.mark.parametrize("rows", [(0, 0, 0), (-1, -2, 0), (-3, 0, 0), (-2, 1, 0), (-1, -1, 1)])
@pytest.mark.parametrize("columns", [(0, -1, 0), (-5, 0, 0), (-2, -2, 2)])
def test_negative_amounts(rows, columns):
    x = np.arange(15.0).reshape(3, 5)
    expected = lax.pad(x, 0.0, (rows, columns))
    for axes in (None, ({0: "n"},)):
        compiled = qjit(lambda x: padded(x, rows, columns) + 0.5, abstracted_axes=axes)
        np.testing.assert_array_equal(compiled(x), expected + 0.5)


def test_a_gradient_of_padding_reads_a_part():
    gradient = jax.grad(lambda x: (jnp.pad(x, ((1, 2), (3, 0))) ** 3).sum())
    x = np.arange(12.0).reshape(3, 4)
    compiled = qjit(gradient)
    np.testing.assert_allclose(compiled(x), jax.jit(gradient)(x), rtol=1e-14)
    text = compiled.lower(x).as_text("bufferize")
    assert text.count("scf.if") == 1
    assert "memref.subview" in text
