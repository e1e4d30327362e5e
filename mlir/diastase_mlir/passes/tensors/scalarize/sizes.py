"""Rules for sizes known at run time: those of arrays, and arithmetic on them."""

from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import (
    binary,
    compare_floats,
    compare_integers,
    create,
    scalar_constant,
    select,
)
from diastase_mlir.emit.tensors import hidden
from diastase_mlir.passes.tensors.scalarize.conversion import (
    Conversion,
    Number,
    Rule,
    Value,
    index_constant,
    materialised,
    scalar_of,
)
from diastase_mlir.passes.tensors.scalarize.regions import carried, uncarried

_MOST_ELEMENTS = 2**58
"""More than any memory holds. Larger products are taken to be this: allocating it fails, and it is
equal to nothing that exists, whereas a product that wraps around would be the size of a small
array under the shape of a large one."""


def _dim(_: Conversion, operation: Any, operands: list[Value]) -> Sequence[Value]:
    axis = index_constant(ir.IntegerAttr(operation.attributes["axis"]).value)
    size = create("tensor.dim", [ir.IndexType.get()], [materialised(operands[0]), axis]).result
    return [Number(create("arith.index_cast", [ir.IntegerType.get_signless(64)], [size]).result)]


def _product(conversion: Conversion, _: Any, operands: list[Value]) -> Sequence[Value]:
    left, right = map(scalar_of, operands)
    bounds = conversion.bounds.get(right)
    product = binary("arith.muli", left, right)
    if bounds is not None and bounds[0] == bounds[1] != 0:
        return [Number(_multiple(left, bounds[0], product))]
    double = ir.F64Type.get()
    factors = [create("arith.sitofp", [double], [own]).result for own in (left, right)]
    about = create("arith.mulf", [double], factors).result
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
    "runtime.scalar": _scalar,
    "runtime.number": _number,
    "runtime.resizable": _resizable,
    "runtime.dim": _dim,
    "runtime.product": _product,
    "runtime.floor_divide": _floor_divide,
    "runtime.modulo": _modulo,
}
