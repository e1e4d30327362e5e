"""Arrays are aligned, and LLVM knows that those of one program are apart."""

import jax
import jax.numpy as jnp
import numpy as np

from diastase import qjit

jax.config.update("jax_enable_x64", True)


def test_loops_over_several_arrays_need_no_check_that_they_are_apart():
    """Arguments, results and what is between them."""

    def program(x, y):
        total = jnp.cumsum(x)
        return total[::-1] * y + x, (total + y).sum()

    compiled = qjit(program)
    text = compiled.lower(np.ones(100), np.ones(100)).as_text("llvm_ir")
    assert "x double>" in text
    assert "memcheck" not in text
    assert "inttoptr" not in text
    x, y = np.arange(9.0), np.linspace(0, 1, 9)
    for found, wanted in zip(compiled(x, y), program(x, y), strict=True):
        np.testing.assert_allclose(found, wanted)


def test_results_are_aligned():
    compiled = qjit(lambda x: (x + 1, x * 2), abstracted_axes=("n",))
    for size in (1, 3, 100, 100_000):
        for result in compiled(np.ones(size)):
            assert result.unsafe_buffer_pointer() % 64 == 0
