"""Many compilations in one process leave no memory behind; `test_sessions` has MLIR's contexts."""

import gc

import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit
from diastase_mlir import compile_module
from diastase_mlir.options import CompileOptions
from diastase_runtime.loader import Executable
from soak.measures import allocated

EACH = 20


@pytest.mark.skipif(allocated() is None, reason="glibc's malloc says what it has handed out")
def test_compilers_free_what_they_make():
    x = np.linspace(0, 1, 8)
    module = qjit(lambda x: jnp.sin(x) + x.sum()).lower(x).module

    def bytes_left() -> float:
        before = allocated()
        for _ in range(EACH):
            artifact = compile_module(module, CompileOptions(use_cache=False)).artifact
            (result,) = Executable(artifact, [])([x])
            np.testing.assert_allclose(result, np.sin(x) + x.sum(), rtol=1e-14)
        gc.collect()
        return (allocated() - before) / EACH

    bytes_left()
    # The least: other threads may have begun something.
    assert min(bytes_left() for _ in range(3)) < 1000
