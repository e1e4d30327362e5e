"""`expm1` and `log1p` keep their digits for small arguments, in every shape they come in."""

import numpy as np
import pytest


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["expm1", "log1p"])
def test_small_arguments(load_mlir, name, dtype):
    element = {"float32": "f32", "float64": "f64"}[dtype]
    operation = {"expm1": "exponential_minus_one", "log1p": "log_plus_one"}[name]
    kind = f"tensor<4x{element}>"
    executable = load_mlir(
        f"""(%x: {kind}) -> {kind} {{
          %y = stablehlo.{operation} %x : {kind}
          %z = stablehlo.{operation} %y : {kind}
          return %z : {kind}
        }}""",
        f"{dtype}[1]",
        f"{dtype}[1]",
    )
    numbers = np.array([1e-12, -1e-6, 0.5, 3.0], dtype)
    function = getattr(np, name)
    (found,) = executable([numbers])
    np.testing.assert_allclose(found, function(function(numbers)), rtol=8 * np.finfo(dtype).eps)
