"""Loops that resize start from arrays whose sizes are known: no pass may take them for final."""

import re

import jax.numpy as jnp
import numpy as np
import pytest

from diastase import cond, for_loop, qjit, while_loop

CAST = re.compile(r"unrealized_conversion_cast.* : tensor<\?xf64>, i1 to tensor<\?xf64>")


def doubled(i, x):
    return jnp.concatenate([x, x])


STARTS = {
    "a constant": lambda a, n: jnp.arange(3.0),
    "an argument": lambda a, n: a,
    "made of an argument": lambda a, n: a * 2 + 1,
    "nothing": lambda a, n: a[:0],
    "a loop's result": lambda a, n: for_loop(0, n, 1)(lambda i, x: x + 1)(a),
    "a branch's result": lambda a, n: cond(n > 1)(lambda: a).otherwise(lambda: a + 1)(),
    "a number that folds": lambda a, n: jnp.ones(jnp.array(2) + 1),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", STARTS)
def test_initial_values_of_known_size(name):
    start = STARTS[name]

    def counted(a, n):
        return for_loop(0, n, 1, allow_array_resizing=True)(doubled)(start(a, n))

    def conditional(a, n):
        @while_loop(lambda x, k: k < n, allow_array_resizing=True)
        def loop(x, k):
            return doubled(k, x), k + 1

        return loop(start(a, n), 0)[0]

    a = np.array([1.5, 2.5, 3.5])
    for function in (counted, conditional):
        compiled = qjit(function)
        for n in (0, 1, 3):
            np.testing.assert_array_equal(compiled(a, n), function(a, n))


def test_the_cast_is_there_only_where_a_size_changes():
    """The loop's type has no size from the beginning; nothing of the cast is left at the end."""
    lowered = qjit(lambda n: for_loop(0, n, 1, True)(doubled)(jnp.ones(3))).lower(2)
    assert re.search(r"runtime\.resizable.* -> tensor<\?xf64>", lowered.as_text("stablehlo"))
    assert CAST.search(lowered.as_text("scalarize"))
    assert "unrealized_conversion_cast" not in lowered.as_text("llvm_dialect")
    kept = qjit(lambda n: for_loop(0, n, 1, True)(lambda i, x: x + i)(jnp.ones(3))).lower(2)
    assert "runtime.resizable" not in kept.as_text("stablehlo")
    assert not CAST.search(kept.as_text("scalarize"))
