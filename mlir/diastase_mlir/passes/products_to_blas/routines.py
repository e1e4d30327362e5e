"""Functions that call a routine of BLAS by value: they put into memory what Fortran wants there.

Each is made once for a module, on its first use. What it keeps on the stack is gone when it
returns, so calls may stand in loops, and run on several threads.
"""

from collections.abc import Sequence

from diastase_mlir.bindings import func, ir
from diastase_runtime.abi import import_symbol

IMPORT_PREFIX = import_symbol("blas", "")

PREFIXES = {"f32": "s", "f64": "d", "complex<f32>": "c", "complex<f64>": "z"}
"""First letter of a routine's name, by the type of its matrices."""

_GEMM = "letter letter size size size number array size array size number array size"
_GEMV = "letter size size number array size array size number array size"
_PARAMETERS = {"gemm": _GEMM.split(), "gemv": _GEMV.split()}
_TYPES = {"letter": "i8", "size": "i64", "array": "!llvm.ptr"}


def call_routine(
    module: ir.Module, name: str, element: ir.Type, arguments: Sequence[ir.Value]
) -> None:
    """Call a routine; letters are `i8`, sizes `i64`, numbers real, arrays pointers."""
    symbol = f"diastase_{PREFIXES[str(element)]}{name}"
    if not _is_defined(module, symbol):
        made = ir.Module.parse(_definition(symbol, name, element))
        module.body.append(made.body.operations[1].operation.detach_from_parent())
    func.CallOp([], ir.FlatSymbolRefAttr.get(symbol), list(arguments))


def _is_defined(module: ir.Module, symbol: str) -> bool:
    names = (operation.attributes["sym_name"] for operation in module.body.operations)
    return any(ir.StringAttr(name).value == symbol for name in names)


def _definition(symbol: str, name: str, element: ir.Type) -> str:
    """A module's text: what is imported, and the function."""
    kinds = _PARAMETERS[name]
    is_complex = str(element).startswith("complex")
    real = str(element)[8:-1] if is_complex else str(element)
    types = [_TYPES.get(kind, real) for kind in kinds]
    lines = ["%one = llvm.mlir.constant(1 : i64) : i64"]
    pointers: list[str] = []
    for number, (kind, given) in enumerate(zip(kinds, types, strict=True)):
        if kind == "array":
            pointers.append(f"%{number}")
            continue
        pointers.append(f"%slot{number}")
        lines += _stored(number, kind, given, is_complex)
    imported = f"@{IMPORT_PREFIX}{PREFIXES[str(element)]}{name}"
    arrays = ", ".join(["!llvm.ptr"] * len(kinds))
    lines += [f"func.call {imported}({', '.join(pointers)}) : ({arrays}) -> ()", "func.return"]
    parameters = ", ".join(f"%{number}: {given}" for number, given in enumerate(types))
    body = "\n  ".join(lines)
    declaration = f"func.func private {imported}({arrays})"
    return f"{declaration}\nfunc.func private @{symbol}({parameters}) {{\n  {body}\n}}"


def _stored(number: int, kind: str, given: str, is_complex: bool) -> list[str]:
    """What puts an argument into a slot of its own."""
    slot, value, stored = f"%slot{number}", f"%{number}", given
    lines: list[str] = []
    if kind == "size":
        value, stored = f"%small{number}", "i32"
        lines.append(f"{value} = llvm.trunc %{number} : i64 to i32")
    room = f"!llvm.array<2 x {stored}>" if kind == "number" and is_complex else stored
    lines.append(f"{slot} = llvm.alloca %one x {room} : (i64) -> !llvm.ptr")
    lines.append(f"llvm.store {value}, {slot} : {stored}, !llvm.ptr")
    if kind == "number" and is_complex:
        lines += [
            f"%zero{number} = llvm.mlir.constant(0.0 : {stored}) : {stored}",
            f"%second{number} = llvm.getelementptr {slot}[1] : (!llvm.ptr) -> !llvm.ptr, {stored}",
            f"llvm.store %zero{number}, %second{number} : {stored}, !llvm.ptr",
        ]
    return lines
