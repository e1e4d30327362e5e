"""Functions of many loops are cut; what they compute is the same."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit
from diastase_mlir.passes.llvm.split_functions import LOOPS_OF_A_PART, MOST_LOOPS

TURNS = MOST_LOOPS + 2 * LOOPS_OF_A_PART


def _parts(text):
    return set(re.findall(r"@(diastase_entry\.part\d+)\(", text))


def _many(x, y, n):
    """Loops over arrays and loops of the user's; arrays from before are read long after."""
    first, kept = x, []
    for number in range(TURNS):
        match number % 4:
            case 0:
                x = jnp.roll(jnp.sin(x), number) * 0.5 + y
            case 1:
                x = jax.lax.fori_loop(0, n + number % 3, lambda i, x: x * 0.9 + i, x)
            case 2:
                y = jnp.where(x > y, x[::-1], y) * 0.1
            case _:
                x = x.at[number % 2].set(jnp.sum(y * first) * 0.01)
        if number % 9 == 0:
            kept.append(x[1] + y[0])
    return x, y, first * 2, jnp.stack(kept), jnp.concatenate([x, y])


@pytest.mark.thorough
def test_many_loops():
    compiled = qjit(_many, abstracted_axes=({0: "m"}, {0: "m"}, {}))
    text = compiled.lower(np.ones(3), np.ones(3), 1).as_text("llvm_dialect")
    parts = _parts(text)
    assert len(parts) > TURNS // LOOPS_OF_A_PART // 2
    for part in parts:  # each is called where it stood, and never put back there
        assert len(re.findall(rf"llvm\.call @{re.escape(part)}\(", text)) == 1
        assert re.search(rf"llvm\.func internal @{re.escape(part)}\(.*no_inline", text)
    for size, n in ((2, 0), (3, 1), (37, 3)):
        x, y = np.linspace(0.0, 1.0, size), np.linspace(2.0, 1.0, size)
        expected = _many(jnp.asarray(x), jnp.asarray(y), n)
        for own, wanted in zip(compiled(x, y, n), expected, strict=True):
            np.testing.assert_allclose(own, wanted, rtol=1e-12, atol=1e-13)


def test_few_loops_stay_in_one_function():
    def few(x):
        for number in range(5):
            x = jnp.roll(jnp.cos(x), number)
        return x

    assert not _parts(qjit(few).lower(np.ones(5)).as_text("llvm_dialect"))


@pytest.mark.thorough
def test_many_branches():
    def program(x):
        for number in range(3 * MOST_LOOPS):
            x = jax.lax.cond(x > number, jnp.sin, lambda x: x + 1.5, x)
        return x

    compiled = qjit(program)
    assert len(_parts(compiled.lower(0.3).as_text("llvm_dialect"))) > 1
    for x in (0.3, 40.0, 200.0):
        np.testing.assert_allclose(compiled(x), program(x), rtol=1e-12)
