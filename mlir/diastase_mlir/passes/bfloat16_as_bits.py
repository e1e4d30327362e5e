"""Turn conversions of bfloat16 into integer arithmetic on its bits.

LLVM cannot be trusted with the type: on processors that have instructions for 16-bit floats, its
instruction selection aborts the process for some comparisons, and on those that have none,
conversions become calls of functions that few C libraries have. So passes before this one do all
arithmetic in f32, and after it bfloat16 is a name for 16 bits that are loaded, stored and chosen
between (`codegen.llvm_text` then writes `i16` for it).

    %1 = arith.extf %0 : bf16 to f32    ->    %a = arith.bitcast %0 : bf16 to i16
                                              %b = arith.extui %a : i16 to i32
                                              %c = arith.shli %b, %sixteen : i32
                                              %1 = arith.bitcast %c : i32 to f32
"""

from diastase_mlir.bindings import arith, ir

_CONVERSIONS = ("arith.extf", "arith.truncf")


def bfloat16_as_bits(module: ir.Module) -> None:
    """Replace every conversion from and to bfloat16."""
    found: list[ir.Operation] = []

    def collect(operation: ir.Operation) -> ir.WalkResult:
        if operation.name in _CONVERSIONS and _concerns_bfloat16(operation):
            found.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(collect)
    for operation in found:
        with ir.InsertionPoint(operation), operation.location:
            convert = _extended if operation.name == "arith.extf" else _rounded
            result = convert(operation.operands[0], operation.results[0].type)
        operation.results[0].replace_all_uses_with(result)
        operation.erase()


def _concerns_bfloat16(operation: ir.Operation) -> bool:
    types = (operation.operands[0].type, operation.results[0].type)
    return any(isinstance(kind, ir.BF16Type) for kind in types)


def _extended(number: ir.Value, wanted: ir.Type) -> ir.Value:
    """A bfloat16 as a wider float: its bits are the upper half of those of an f32."""
    bits = arith.extui(_bits(32), arith.bitcast(_bits(16), number))
    single = arith.bitcast(ir.F32Type.get(), arith.shli(bits, _constant(32, 16)))
    return single if isinstance(wanted, ir.F32Type) else arith.extf(wanted, single)


def _rounded(number: ir.Value, wanted: ir.Type) -> ir.Value:
    """The nearest bfloat16, of two the even one; a NaN stays one, and becomes quiet."""
    if not isinstance(number.type, ir.F32Type):
        number = arith.truncf(ir.F32Type.get(), number)
    bits = arith.bitcast(_bits(32), number)
    odd = arith.andi(arith.shrui(bits, _constant(32, 16)), _constant(32, 1))
    nearest = arith.addi(bits, arith.addi(odd, _constant(32, 0x7FFF)))
    quiet = arith.ori(bits, _constant(32, 0x400000))
    is_nan = arith.cmpf(arith.CmpFPredicate.UNO, number, number)
    chosen = arith.shrui(arith.select(is_nan, quiet, nearest), _constant(32, 16))
    return arith.bitcast(wanted, arith.trunci(_bits(16), chosen))


def _bits(width: int) -> ir.Type:
    return ir.IntegerType.get_signless(width)


def _constant(width: int, value: int) -> ir.Value:
    return arith.constant(_bits(width), value)
