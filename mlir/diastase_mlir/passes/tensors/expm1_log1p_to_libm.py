"""Turn `math.expm1` and `math.log1p` into calls of the C library.

`convert-math-to-llvm` expands them as `exp(x) - 1` and `log(1 + x)`, which for small `x` has no
correct digit, and `convert-math-to-libm` comes too late to do better. So this pass runs before it:

    %1 = math.expm1 %0 : f64    ->    %1 = func.call @expm1(%0) : (f64) -> f64

Other types than f32 and f64 do not get here: lowering computes 16-bit floats in 32 bits.
"""

from diastase_mlir.bindings import ir
from diastase_mlir.passes.operations import (
    Signatures,
    declare_pure,
    operations_named,
    replace_by_call,
)

FUNCTIONS = {"math.expm1": "expm1", "math.log1p": "log1p"}
"""Operations and the C functions that compute them; with `f` at the end for f32."""


def expm1_log1p_to_libm(module: ir.Module) -> None:
    """Replace the operations, and declare the functions that are used."""
    declared: Signatures = {}
    for operation in operations_named(module.operation, *FUNCTIONS):
        suffix = {"f32": "f", "f64": ""}.get(str(operation.results[0].type))
        if suffix is not None:
            replace_by_call(operation, FUNCTIONS[operation.name] + suffix, declared)
    declare_pure(module, declared)
