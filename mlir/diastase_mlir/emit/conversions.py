"""Conversions of numbers where `arith` has no operation that does them as JAX does.

Conversion of floats to integers saturates in JAX (NaN gives 0), where LLVM's is undefined outside
the target's range. An integer becomes a `bfloat16` by way of an `f32`, rounded once.
"""

from diastase_mlir.emit.bindings import ir
from diastase_mlir.emit.operations import (
    binary,
    compare_floats,
    compare_integers,
    create,
    scalar_constant,
    select,
)


def real_part(number: ir.Value) -> ir.Value:
    """The real part of a complex number; real ones unchanged, with at least 32 bits."""
    if isinstance(number.type, ir.ComplexType):
        return create("complex.re", [number.type.element_type], [number]).result
    if isinstance(number.type, (ir.F16Type, ir.BF16Type)):
        return create("arith.extf", [ir.F32Type.get()], [number]).result
    return number


def saturated(number: ir.Value, element: ir.Type, unsigned: bool) -> ir.Value:
    """A float as an integer: towards zero, within the range of the type, 0 for NaN."""
    width = ir.IntegerType(element).width
    least, most = (0, 2**width - 1) if unsigned else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)
    name = "arith.fptoui" if unsigned else "arith.fptosi"
    converted = create(name, [element], [number]).result

    def bounded(predicate: str, limit: float, bound: int, otherwise: ir.Value) -> ir.Value:
        beyond = compare_floats(predicate, number, scalar_constant(number.type, limit))
        return select(beyond, scalar_constant(element, bound), otherwise)

    # `most` may not be a float, the next power of two always is.
    converted = bounded("oge", float(most + 1), most, converted)
    converted = bounded("ole", float(least), least, converted)
    is_nan = compare_floats("uno", number, number)
    return select(is_nan, scalar_constant(element, 0), converted)


def integer_as_bfloat16(number: ir.Value, unsigned: bool) -> ir.Value:
    """The nearest bfloat16, by way of an f32 that holds the integer or decides as it would."""
    if ir.IntegerType(number.type).width > 24:
        number = _in_24_bits(number, unsigned)
    single, wanted = ir.F32Type.get(), ir.BF16Type.get()
    name = "arith.uitofp" if unsigned else "arith.sitofp"
    exact = create(name, [single], [number]).result
    return create("arith.truncf", [wanted], [exact]).result


def _in_24_bits(number: ir.Value, unsigned: bool) -> ir.Value:
    """Cut off what an f32 cannot hold; the last bit that is left tells whether anything was set."""
    kind, width = number.type, ir.IntegerType(number.type).width

    def constant(value: int) -> ir.Value:
        return scalar_constant(kind, value)

    sign = constant(0) if unsigned else binary("arith.shrsi", number, constant(width - 1))
    size = binary("arith.xori", number, sign)
    zeros = create("math.ctlz", [kind], [size]).result
    excess = binary("arith.subi", constant(width - 24), zeros)
    dropped = binary("arith.maxsi", excess, constant(0))
    last = binary("arith.shli", constant(1), dropped)
    below = binary("arith.subi", last, constant(1))
    lost = binary("arith.andi", number, below)
    is_exact = compare_integers("eq", lost, constant(0))
    kept = binary("arith.xori", number, lost)
    return select(is_exact, number, binary("arith.ori", kept, last))
