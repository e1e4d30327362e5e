"""Checks that only the kernel language can write, in checked builds (`DIASTASE_CHECKED=address`).

LLVM IR does not tell an index into an array inside of a record from any other address, a product
that must not overflow from one that may, nor does it mind a shift by more bits than there are. The
functions that are called are defined where accesses to memory are checked
(`diastase_toolchain.checked`); what fails ends the process.
"""

from typing import Any, Literal

from llvmlite import ir

from diastase_toolchain.checked.switch import checks

Guard = Literal["index", "product", "shift"]
_I64 = ir.IntType(64)


def guard(builder: Any, what: Guard, *numbers: ir.Value) -> None:
    """Have numbers checked at run time: an index and a length, two factors, a count of bits."""
    if checks() != "address" or all(isinstance(number, ir.Constant) for number in numbers):
        return
    module, name = builder.module, f"diastase_{what}"
    function = module.globals.get(name)
    if function is None:
        kind = ir.FunctionType(ir.VoidType(), [_I64] * len(numbers))
        function = ir.Function(module, kind, name)
    builder.call(function, numbers)
