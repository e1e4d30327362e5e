"""`bounded_fusion`: however many loops over elements there are, at most `MOST` become one."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit
from diastase_mlir.passes.tensors.bounded_fusion import MOST

jax.config.update("jax_enable_x64", True)


def chain(a, b):
    """Each loop reads the last one's array, and another."""
    for k in range(600):
        a = a * (1 + b / (k + 1))
    return a


def tree(a, b):
    """Halves that are as long as each other."""
    leaves = [jnp.sin(a * (k + 1)) - b for k in range(400)]
    while len(leaves) > 1:
        leaves = [sum(leaves[k : k + 2]) for k in range(0, len(leaves), 2)]
    return leaves[0]


def into_a_sum(a, b):
    """A reduction takes part, but gives nothing that is fused."""
    return chain(a, b).sum() + jnp.zeros(3)


@pytest.mark.sample(2)
@pytest.mark.parametrize("function", [chain, tree, into_a_sum])
@pytest.mark.parametrize("size", [0, 1, 17])
def test_parts_compute_what_the_whole_does(function, size):
    a, b = np.linspace(0.1, 1.0, size), np.linspace(-0.3, 0.4, size)
    expected = jax.jit(function)(a, b)
    for axes in (None, ({0: "n"}, {0: "n"})):
        compiled = qjit(function, abstracted_axes=axes) if axes else qjit(function)
        np.testing.assert_allclose(compiled(a, b), expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("function", [chain, tree])
def test_few_loops_remain_and_none_is_long(function):
    a = np.linspace(0.1, 1.0, 17)
    lowered = qjit(function).lower(a, a)
    before = lowered.as_text("scalars").count("linalg.generic")
    after = lowered.as_text("bufferize")
    assert 1 < after.count("linalg.generic") <= before / MOST * 3
    assert "unrealized_conversion_cast" not in after
    for body in re.findall(r"\^bb0.*?linalg\.yield", after, re.DOTALL):
        assert body.count("arith.") <= 4 * MOST
