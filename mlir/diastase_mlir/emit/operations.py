"""The MLIR operations that are emitted on scalars: constants, arithmetic, comparisons, conversions.

Operations are made by name, at the current insertion point and location: half of the dialects we
use (`linalg`, `bufferization`, `quantum`) are not registered on jaxlib's side, so their Python
classes do not exist there, and one way for all is simpler than two.

Integers are *signless* here, as `arith` wants them; `to_signless` and `to_type` cross over from
and to the unsigned types in which JAX and StableHLO speak.

The trap: conversion of floats to integers saturates in JAX (NaN gives 0), where LLVM's is undefined
outside the target's range; an integer becomes a `bfloat16` by way of an `f32`, rounded once.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from diastase_mlir.emit.bindings import ir

INTEGER_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
"""In the order of `arith`'s enumeration."""

FLOAT_PREDICATES = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord",
    "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
)  # fmt: skip
"""In the order of `arith`'s enumeration."""

INSIDE = "runtime.inside"
"""An attribute of a part of an array at a computed place: that it is known to lie inside."""


def create(
    name: str,
    results: Sequence[ir.Type] = (),
    operands: Sequence[ir.Value] = (),
    attributes: Mapping[str, ir.Attribute] | None = None,
    regions: int = 0,
) -> ir.Operation:
    """Any operation, by name."""
    return ir.Operation.create(
        name,
        results=list(results),
        operands=list(operands),
        attributes=dict(attributes or {}),
        regions=regions,
    )


def index_type() -> ir.Type:
    """The type of sizes and positions."""
    return ir.IndexType.get()


def integer_type(width: int) -> ir.Type:
    """A signless integer type."""
    return ir.IntegerType.get_signless(width)


def array_attribute(kind: str, numbers: Sequence[int]) -> ir.Attribute:
    """`array<i32: 1, 2>` and the like."""
    body = ": " + ", ".join(map(str, numbers)) if numbers else ""
    return ir.Attribute.parse(f"array<{kind}{body}>")


def enumeration(value: int) -> ir.Attribute:
    """An enumerator as the plain `i64` that generic creation takes."""
    return ir.IntegerAttr.get(integer_type(64), value)


def number_type(element_type: ir.Type) -> ir.Type:
    """The type of a number as an array of rank 0."""
    return ir.RankedTensorType.get([], element_type)


def integer_constant(number: int, width: int = 64) -> ir.Value:
    """A number known now, as an array of rank 0."""
    kind = integer_type(width)
    attribute = ir.DenseElementsAttr.get_splat(number_type(kind), ir.IntegerAttr.get(kind, number))
    return create("stablehlo.constant", [number_type(kind)], [], {"value": attribute}).result


def scalar_constant(element_type: ir.Type, number: Any) -> ir.Value:
    """A number of any scalar type; Python's `inf` and `nan` included."""
    if isinstance(element_type, ir.ComplexType):
        part = element_type.element_type
        number = complex(number)
        parts = [scalar_constant(part, number.real), scalar_constant(part, number.imag)]
        return create("complex.create", [element_type], parts).result
    if isinstance(element_type, (ir.IntegerType, ir.IndexType)):
        attribute: ir.Attribute = ir.IntegerAttr.get(element_type, _wrapped(element_type, number))
    else:
        attribute = ir.FloatAttr.get(element_type, float(number))
    return create("arith.constant", [element_type], [], {"value": attribute}).result


def _wrapped(element_type: ir.Type, number: Any) -> int:
    """The number as a signed one of the same bits, which is what an attribute holds."""
    number = int(number)
    if isinstance(element_type, ir.IndexType):
        return number
    width = ir.IntegerType(element_type).width
    number &= (1 << width) - 1
    return number - (1 << width) if width > 1 and number >> (width - 1) else number


def index_constant(number: int) -> ir.Value:
    """A size or position known now."""
    return scalar_constant(index_type(), number)


def flag_constant(flag: bool) -> ir.Value:
    """An `i1`."""
    attribute = ir.BoolAttr.get(flag)
    return create("arith.constant", [integer_type(1)], [], {"value": attribute}).result


def binary(name: str, left: ir.Value, right: ir.Value) -> ir.Value:
    """A binary operation whose result has the type of its operands."""
    return create(name, [left.type], [left, right]).result


def index_binary(name: str, left: ir.Value, right: ir.Value) -> ir.Value:
    """`addi`, `subi`, `muli`, `minsi`, `floordivsi`… of `arith`."""
    return binary(f"arith.{name}", left, right)


def compare_integers(predicate: str, left: ir.Value, right: ir.Value) -> ir.Value:
    """`arith.cmpi`, for integers and indices."""
    attributes = {"predicate": enumeration(INTEGER_PREDICATES.index(predicate))}
    return create("arith.cmpi", [integer_type(1)], [left, right], attributes).result


def compare_floats(predicate: str, left: ir.Value, right: ir.Value) -> ir.Value:
    """`arith.cmpf`."""
    attributes = {"predicate": enumeration(FLOAT_PREDICATES.index(predicate))}
    return create("arith.cmpf", [integer_type(1)], [left, right], attributes).result


def select(condition: ir.Value, if_true: ir.Value, if_false: ir.Value) -> ir.Value:
    """One of two values; both are computed."""
    return create("arith.select", [if_true.type], [condition, if_true, if_false]).result


def all_of(conditions: Sequence[ir.Value]) -> ir.Value:
    """Conjunction of at least one `i1`."""
    return reduce(lambda left, right: binary("arith.andi", left, right), conditions)


def any_of(conditions: Sequence[ir.Value]) -> ir.Value:
    """Disjunction of at least one `i1`."""
    return reduce(lambda left, right: binary("arith.ori", left, right), conditions)


def negate(condition: ir.Value) -> ir.Value:
    """`not` of an `i1`."""
    return binary("arith.xori", condition, flag_constant(True))


def clamp_index(position: ir.Value, last: ir.Value, unsigned: bool = False) -> ir.Value:
    """The position, moved into `0..last`; 0 where `last` is negative.

    `unsigned`: it is none that is negative, but one of 2**63 or more.
    """
    if unsigned:
        return index_binary("minui", position, index_binary("maxsi", last, index_constant(0)))
    return index_binary("maxsi", index_binary("minsi", position, last), index_constant(0))


def signless_type(value_type: ir.Type) -> ir.Type:
    """The type with unsigned integers made signless; scalars and tensors."""
    if isinstance(value_type, ir.RankedTensorType):
        element = signless_type(value_type.element_type)
        if element == value_type.element_type:
            return value_type
        return ir.RankedTensorType.get(value_type.shape, element)
    if isinstance(value_type, ir.IntegerType) and not value_type.is_signless:
        return integer_type(value_type.width)
    return value_type


def to_signless(value: ir.Value) -> ir.Value:
    """The value, its integers read as signless ones."""
    return reinterpret(value, signless_type(value.type))


def reinterpret(value: ir.Value, wanted: ir.Type) -> ir.Value:
    """The same bits under a type that differs in signedness only."""
    if value.type == wanted:
        return value
    return create("builtin.unrealized_conversion_cast", [wanted], [value]).result


def to_type(value: ir.Value, wanted: ir.Type, cast: str = "tensor.cast") -> ir.Value:
    """A tensor under an equivalent type: signedness and statically known sizes may differ.

    `cast`: the operation that tells other sizes.
    """
    if value.type == wanted or not isinstance(wanted, ir.RankedTensorType):
        return value
    own = ir.RankedTensorType(value.type)
    value = reinterpret(value, ir.RankedTensorType.get(own.shape, wanted.element_type))
    if value.type == wanted:
        return value
    return create(cast, [wanted], [value]).result


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
