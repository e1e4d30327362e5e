"""Hundreds of compilations in one process leave no memory behind."""

import gc
import sys
from pathlib import Path

import numpy as np
import pytest


def resident_memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_stays_flat_over_many_compilations(load_mlir):
    def compile_and_call(number: int) -> None:
        program = load_mlir(
            f"""(%x: tensor<{number}xf64>) -> tensor<{number}xf64> {{
                %constant = stablehlo.constant dense<{number}.0> : tensor<{number}xf64>
                %result = stablehlo.add %x, %constant : tensor<{number}xf64>
                return %result : tensor<{number}xf64>
            }}""",
            "float64[1]",
            "float64[1]",
        )
        np.testing.assert_array_equal(program([np.zeros(number)])[0], np.full(number, number))

    for number in range(1, 100):  # what is made once and kept, and the allocator's pools
        compile_and_call(number)
    gc.collect()
    before = resident_memory()
    for number in range(100, 200):
        compile_and_call(number)
    gc.collect()
    assert resident_memory() - before < 3 * 2**20
