"""Rules for arithmetic on single numbers: one operation of `arith` or `math` each; and on sizes.

In: operations all of whose operands and results are single floats, integers or flags
(`Conversion.kind`). What is not in the tables is left as it is. Sizes that are known at run time
only are such numbers, too: those of arrays, and what is computed from them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import (
    binary,
    compare_floats,
    compare_integers,
    create,
    index_constant,
    index_type,
    integer_type,
    negate,
    saturated,
    scalar_constant,
    select,
)
from diastase_mlir.emit.tensors import hidden
from diastase_mlir.passes.tensors.scalarize.conversion import (
    Conversion,
    Number,
    Rule,
    Value,
    materialised,
    scalar_of,
)
from diastase_mlir.passes.tensors.scalarize.regions import carried, uncarried

_POINTWISE: Mapping[str, Mapping[str, str]] = {
    "abs": {"float": "math.absf"},
    "add": {"float": "arith.addf", "integer": "arith.addi"},
    "and": {"flag": "arith.andi", "integer": "arith.andi"},
    "atan2": {"float": "math.atan2"},
    "cbrt": {"float": "math.cbrt"},
    "ceil": {"float": "math.ceil"},
    "cosine": {"float": "math.cos"},
    "divide": {"float": "arith.divf"},
    "exponential": {"float": "math.exp"},
    "exponential_minus_one": {"float": "math.expm1"},
    "floor": {"float": "math.floor"},
    "log": {"float": "math.log"},
    "log_plus_one": {"float": "math.log1p"},
    "maximum": {"float": "arith.maximumf", "integer": "arith.maxsi"},
    "minimum": {"float": "arith.minimumf", "integer": "arith.minsi"},
    "multiply": {"float": "arith.mulf", "integer": "arith.muli"},
    "negate": {"float": "arith.negf"},
    "or": {"flag": "arith.ori", "integer": "arith.ori"},
    "power": {"float": "math.powf"},
    "remainder": {"float": "arith.remf"},
    "rsqrt": {"float": "math.rsqrt"},
    "sine": {"float": "math.sin"},
    "sqrt": {"float": "math.sqrt"},
    "subtract": {"float": "arith.subf", "integer": "arith.subi"},
    "tan": {"float": "math.tan"},
    "tanh": {"float": "math.tanh"},
    "xor": {"flag": "arith.xori", "integer": "arith.xori"},
}

_DIRECTIONS = {
    "float": {"EQ": "oeq", "NE": "une", "LT": "olt", "LE": "ole", "GT": "ogt", "GE": "oge"},
    "integer": {"EQ": "eq", "NE": "ne", "LT": "slt", "LE": "sle", "GT": "sgt", "GE": "sge"},
}
"""Predicates of `arith.cmpf` (ordered; `NE` holds for a NaN) and `arith.cmpi` (signed)."""

_CONVERSIONS = {
    ("flag", "float"): "arith.uitofp",
    ("flag", "integer"): "arith.extui",
    ("integer", "float"): "arith.sitofp",
}


def _pointwise(names: Mapping[str, str]) -> Rule:
    def rule(
        conversion: Conversion, operation: Any, operands: list[Value]
    ) -> Sequence[Value] | None:
        kind = conversion.kind(operation.operands[0].type)  # the result's may be another: `abs`
        name = names.get(kind or "")
        if name is None or conversion.kind(operation.results[0].type) != kind:
            return None
        scalars = [scalar_of(operand) for operand in operands]
        result = create(name, [scalars[0].type], scalars).result
        if name in _BOUNDED:
            _bound(conversion, name, scalars, result)
        return [Number(result)]

    return rule


_BOUNDED = {"arith.addi": 1, "arith.subi": -1}


def _bound(
    conversion: Conversion, name: str, operands: Sequence[ir.Value], result: ir.Value
) -> None:
    """Between which numbers a sum or a difference lies, unless it might wrap around."""
    left, right = (conversion.bounds.get(operand) for operand in operands)
    if left is None or right is None:
        return
    least, most = right if _BOUNDED[name] == 1 else (-right[1], -right[0])
    width = ir.IntegerType(result.type).width
    low, high = left[0] + least, left[1] + most
    if -(2 ** (width - 1)) <= low and high < 2 ** (width - 1):
        conversion.bounds[result] = low, high


def _constant(conversion: Conversion, operation: Any, _: list[Value]) -> Sequence[Value] | None:
    """A number; the tensor stays for whoever needs it."""
    tensor = operation.results[0]
    if conversion.kind(tensor.type) is None:
        return None
    value: Any = ir.DenseElementsAttr(operation.attributes["value"]).get_splat_value()
    scalar = create("arith.constant", [tensor.type.element_type], [], {"value": value}).result
    conversion.define(tensor, Number(scalar, tensor))
    if conversion.kind(tensor.type) == "integer":
        conversion.bounds[scalar] = value.value, value.value
    return None


def _compare(
    conversion: Conversion, operation: Any, operands: list[Value]
) -> Sequence[Value] | None:
    kind = conversion.kind(operation.operands[0].type)
    direction = str(operation.attributes["comparison_direction"]).split()[-1].rstrip(">")
    if kind is None or direction not in _DIRECTIONS.get(kind, ()):
        return None
    sides = [*map(scalar_of, operands)]
    attributes = operation.attributes
    if "compare_type" in attributes and "TOTALORDER" in str(attributes["compare_type"]):
        kind, sides = "integer", [_key_in_total_order(side) for side in sides]
    return [Number(_compared(kind, direction, *sides))]


def _key_in_total_order(number: ir.Value) -> ir.Value:
    """An integer that is greater for whatever comes later in the total order of floats."""
    width = ir.FloatType(number.type).width
    bits = create("arith.bitcast", [integer_type(width)], [number]).result
    # Of a negative number all bits but the sign are flipped.
    flipped = binary("arith.xori", bits, scalar_constant(bits.type, (1 << (width - 1)) - 1))
    is_negative = compare_integers("slt", bits, scalar_constant(bits.type, 0))
    return select(is_negative, flipped, bits)


def _compared(kind: str, direction: str, left: ir.Value, right: ir.Value) -> ir.Value:
    compare = compare_floats if kind == "float" else compare_integers
    return compare(_DIRECTIONS[kind][direction], left, right)


def _select(
    conversion: Conversion, operation: Any, operands: list[Value]
) -> Sequence[Value] | None:
    if conversion.kind(operation.results[0].type) is None:
        return None
    return [Number(select(*map(scalar_of, operands)))]


def _convert(
    conversion: Conversion, operation: Any, operands: list[Value]
) -> Sequence[Value] | None:
    """From one type to another, where one operation does it."""
    before, after = (
        conversion.kind(value.type) for value in (operation.operands[0], operation.results[0])
    )
    if before is None or after is None:
        return None
    wanted: Any = operation.results[0].type.element_type
    if after == "flag":
        return [Number(_is_not_zero(before, scalar_of(operands[0])))]
    own: Any = operation.operands[0].type.element_type
    if own == wanted:
        return [operands[0]]
    if (before, after) == ("float", "integer"):
        return [Number(saturated(scalar_of(operands[0]), wanted, unsigned=False))]
    name = _CONVERSIONS.get((before, after))
    if before == after:
        widened = wanted.width > own.width
        floats, integers = ("arith.extf", "arith.truncf"), ("arith.extsi", "arith.trunci")
        name = (floats if before == "float" else integers)[0 if widened else 1]
    if name is None:
        return None
    return [Number(create(name, [wanted], [scalar_of(operands[0])]).result)]


def _not(conversion: Conversion, operation: Any, operands: list[Value]) -> Sequence[Value] | None:
    if conversion.kind(operation.results[0].type) != "flag":
        return None
    return [Number(negate(scalar_of(operands[0])))]


def _is_not_zero(kind: str, number: ir.Value) -> ir.Value:
    if kind == "flag":
        return number
    return _compared(kind, "NE", number, scalar_constant(number.type, 0))


# --- sizes known at run time ---------------------------------------------------------------------

_MOST_ELEMENTS = 2**58
"""More than any memory holds. Larger products are taken to be this: allocating it fails, and it is
equal to nothing that exists, whereas a product that wraps around would be the size of a small
array under the shape of a large one."""


def _dim(_: Conversion, operation: Any, operands: list[Value]) -> Sequence[Value]:
    axis = index_constant(ir.IntegerAttr(operation.attributes["axis"]).value)
    size = create("tensor.dim", [index_type()], [materialised(operands[0]), axis]).result
    return [Number(create("arith.index_cast", [integer_type(64)], [size]).result)]


def _product(conversion: Conversion, _: Any, operands: list[Value]) -> Sequence[Value]:
    left, right = map(scalar_of, operands)
    bounds = conversion.bounds.get(right)
    product = binary("arith.muli", left, right)
    if bounds is not None and bounds[0] == bounds[1] != 0:
        return [Number(_multiple(left, bounds[0], product))]
    double = ir.F64Type.get()
    factors = [create("arith.sitofp", [double], [own]).result for own in (left, right)]
    about = binary("arith.mulf", *factors)
    most = float(_MOST_ELEMENTS)
    too_large = compare_floats("oge", about, scalar_constant(double, most))
    too_small = compare_floats("ole", about, scalar_constant(double, -most))
    return [Number(_bounded(product, too_large, too_small))]


def _multiple(number: ir.Value, coefficient: int, multiple: ir.Value) -> ir.Value:
    """A multiple of a number, bounded like a product."""
    most = _MOST_ELEMENTS // abs(coefficient)
    beyond = compare_integers("sgt", number, scalar_constant(number.type, most))
    below = compare_integers("slt", number, scalar_constant(number.type, -most))
    return _bounded(multiple, *((beyond, below) if coefficient > 0 else (below, beyond)))


def _bounded(number: ir.Value, too_large: ir.Value, too_small: ir.Value) -> ir.Value:
    most, least = (scalar_constant(number.type, own) for own in (_MOST_ELEMENTS, -_MOST_ELEMENTS))
    return select(too_large, most, select(too_small, least, number))


def _floor_divide(_: Conversion, __: Any, operands: list[Value]) -> Sequence[Value]:
    """-1, which is no size, where the divisor is 0: the processor would trap."""
    left, right = map(scalar_of, operands)
    zero, none = (scalar_constant(right.type, own) for own in (0, -1))
    quotient = binary("arith.floordivsi", left, _divisor(right))
    return [Number(select(compare_integers("eq", right, zero), none, quotient))]


def _modulo(_: Conversion, __: Any, operands: list[Value]) -> Sequence[Value]:
    """Python's: the sign of the divisor."""
    left, right = map(scalar_of, operands)
    divisor = _divisor(right)
    multiple = binary("arith.muli", binary("arith.floordivsi", left, divisor), divisor)
    return [Number(binary("arith.subi", left, multiple))]


def _divisor(number: ir.Value) -> ir.Value:
    """1 in place of 0; what is left of a division is 0 then, as in JAX for empty arrays."""
    zero, one = (scalar_constant(number.type, own) for own in (0, 1))
    return select(compare_integers("eq", number, zero), one, number)


def _scalar(_: Conversion, operation: Any, operands: list[Value]) -> Sequence[Value]:
    scalar, wanted = scalar_of(operands[0]), operation.results[0].type
    if scalar.type == wanted:
        return [scalar]
    return [create("arith.index_cast", [wanted], [scalar]).result]


def _number(_: Conversion, operation: Any, operands: list[Value]) -> Sequence[Value]:
    wanted: Any = operation.results[0].type.element_type
    return [Number(create("arith.index_cast", [wanted], [materialised(operands[0])]).result)]


def _resizable(_: Conversion, operation: Any, operands: list[Value]) -> Sequence[Value]:
    return [uncarried(hidden(carried(operands[0])), operation.results[0].type)]


RULES: dict[str, Rule] = {
    **{f"stablehlo.{name}": _pointwise(names) for name, names in _POINTWISE.items()},
    "stablehlo.constant": _constant,
    "stablehlo.compare": _compare,
    "stablehlo.select": _select,
    "stablehlo.not": _not,
    "stablehlo.convert": _convert,
    "runtime.scalar": _scalar,
    "runtime.number": _number,
    "runtime.resizable": _resizable,
    "runtime.dim": _dim,
    "runtime.product": _product,
    "runtime.floor_divide": _floor_divide,
    "runtime.modulo": _modulo,
}
