"""Rules for arithmetic on single numbers: one operation of `arith` or `math` each.

In: operations all of whose operands and results are single floats, integers or flags
(`Conversion.kind`). What is not in the tables is left as it is.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.bindings.operations import create
from diastase_mlir.emit.operations import (
    binary,
    compare_integers,
    integer_type,
    saturated,
    scalar_constant,
    select,
)
from diastase_mlir.passes.tensors.scalarize.conversion import Conversion, Rule
from diastase_mlir.passes.tensors.scalarize.deferred import Number, Value, scalar_of

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
    "float": {"EQ": 1, "GT": 2, "GE": 3, "LT": 4, "LE": 5, "NE": 13},
    "integer": {"EQ": 0, "NE": 1, "LT": 2, "LE": 3, "GT": 4, "GE": 5},
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
    predicate = _DIRECTIONS.get(kind or "", {}).get(direction)
    if predicate is None:
        return None
    sides = [*map(scalar_of, operands)]
    attributes = operation.attributes
    if "compare_type" in attributes and "TOTALORDER" in str(attributes["compare_type"]):
        kind, sides = "integer", [_key_in_total_order(side) for side in sides]
        predicate = _DIRECTIONS[kind][direction]
    name = "arith.cmpf" if kind == "float" else "arith.cmpi"
    return [Number(_compared(name, predicate, *sides))]


def _key_in_total_order(number: ir.Value) -> ir.Value:
    """An integer that is greater for whatever comes later in the total order of floats."""
    width = ir.FloatType(number.type).width
    bits = create("arith.bitcast", [integer_type(width)], [number]).result
    # Of a negative number all bits but the sign are flipped.
    flipped = binary("arith.xori", bits, scalar_constant(bits.type, (1 << (width - 1)) - 1))
    is_negative = compare_integers("slt", bits, scalar_constant(bits.type, 0))
    return select(is_negative, flipped, bits)


def _compared(name: str, predicate: int, left: ir.Value, right: ir.Value) -> ir.Value:
    attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicate)
    flag = ir.IntegerType.get_signless(1)
    return create(name, [flag], [left, right], {"predicate": attribute}).result


def _select(
    conversion: Conversion, operation: Any, operands: list[Value]
) -> Sequence[Value] | None:
    if conversion.kind(operation.results[0].type) is None:
        return None
    which, if_true, if_false = map(scalar_of, operands)
    return [Number(create("arith.select", [if_true.type], [which, if_true, if_false]).result)]


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
    flag = scalar_of(operands[0])
    true = create("arith.constant", [flag.type], [], {"value": ir.BoolAttr.get(True)}).result
    return [Number(create("arith.xori", [flag.type], [flag, true]).result)]


def _is_not_zero(kind: str, number: ir.Value) -> ir.Value:
    if kind == "flag":
        return number
    floats = kind == "float"
    zero = ir.FloatAttr.get(number.type, 0.0) if floats else ir.IntegerAttr.get(number.type, 0)
    operand = create("arith.constant", [number.type], [], {"value": zero}).result
    name = "arith.cmpf" if floats else "arith.cmpi"
    return _compared(name, _DIRECTIONS[kind]["NE"], number, operand)


RULES: dict[str, Rule] = {
    **{f"stablehlo.{name}": _pointwise(names) for name, names in _POINTWISE.items()},
    "stablehlo.constant": _constant,
    "stablehlo.compare": _compare,
    "stablehlo.select": _select,
    "stablehlo.not": _not,
    "stablehlo.convert": _convert,
}
