"""Several threads compile different programs at the same time, failing ones among them."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from diastase_mlir import CompileOptions, FailedPassError, compile_module
from diastase_runtime import Executable


def test_different_programs_in_many_threads(mlir_program, tmp_path):
    def work(number: int) -> None:
        operation = "stablehlo.add" if number % 5 else "stablehlo.no_such_operation"
        lowered = mlir_program(
            f"""(%x: tensor<{number}xf64>) -> tensor<{number}xf64> {{
                %constant = stablehlo.constant dense<{number}.0> : tensor<{number}xf64>
                %result = {operation} %x, %constant : tensor<{number}xf64>
                return %result : tensor<{number}xf64>
            }}""",
            "float64[1]",
            "float64[1]",
        )
        options = CompileOptions(use_cache=False, workspace=tmp_path / str(number))
        if number % 5 == 0:
            with pytest.raises(FailedPassError, match="no_such_operation"):
                compile_module(lowered, options)
            return
        program = Executable(compile_module(lowered, options).artifact)
        np.testing.assert_array_equal(program([np.ones(number)])[0], np.full(number, number + 1.0))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(1, 41)))
