"""Turn `math.expm1` and `math.log1p` into calls of the C library.

`convert-math-to-llvm` expands them as `exp(x) - 1` and `log(1 + x)`, which for small `x` has no
correct digit, and `convert-math-to-libm` comes too late to do better. So this pass runs before it:

    %1 = math.expm1 %0 : f64    ->    %1 = func.call @expm1(%0) : (f64) -> f64

Other types than f32 and f64 do not get here: lowering computes 16-bit floats in 32 bits.
"""

from diastase_mlir.bindings import func, ir
from diastase_mlir.bindings.operations import operations_named

FUNCTIONS = {"math.expm1": "expm1", "math.log1p": "log1p"}
"""Operations and the C functions that compute them; with `f` at the end for f32."""


def expm1_log1p_to_libm(module: ir.Module) -> None:
    """Replace the operations, and declare the functions that are used."""
    found = operations_named(module.operation, *FUNCTIONS)
    declared: set[str] = set()
    for operation in found:
        _replace(module, operation, declared)


def _replace(module: ir.Module, operation: ir.Operation, declared: set[str]) -> None:
    kind = operation.results[0].type
    suffix = {"f32": "f", "f64": ""}.get(str(kind))
    if suffix is None:
        return
    name = FUNCTIONS[operation.name] + suffix
    if name not in declared:
        declared.add(name)
        _declare(module, name, kind)
    with ir.InsertionPoint(operation), operation.location:
        call = func.CallOp([kind], ir.FlatSymbolRefAttr.get(name), list(operation.operands))
    operation.results[0].replace_all_uses_with(call.results[0])
    operation.erase()


def _declare(module: ir.Module, name: str, kind: ir.Type) -> None:
    with ir.InsertionPoint.at_block_begin(module.body), ir.Location.unknown():
        function = func.FuncOp(name, ir.FunctionType.get([kind], [kind]), visibility="private")
    # As `convert-math-to-libm` declares them: calls may be moved and removed.
    function.attributes["llvm.readnone"] = ir.UnitAttr.get()
