"""Rules for `sort`, and for `top_k` and `approx_top_k`, which are the first elements of an order.

Order, as JAX has it: -0.0 equals 0.0, NaNs are equal to each other and come last, complex numbers
compare by real, then imaginary part. `top_k` has the total order of IEEE 754, in which -0.0 is less
than 0.0, and a NaN is beyond the infinity of its sign. Of equal elements the one in front comes
first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from jax import lax

from diastase_mlir.emit.operations import (
    array_attribute,
    binary,
    create,
    enumeration,
    number_type,
)
from diastase_mlir.emit.sort_keys import DESCENDING, FIRST, KEYS, POSITIONS
from diastase_mlir.emit.tensors import tensor_type
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.array_types import is_complex, is_floating, is_unsigned
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, lowers
from diastase_mlir.lowering.elementwise.elementwise import compared
from diastase_mlir.lowering.elementwise.regions import fill

Comes = Callable[[Sequence[tuple[ir.Value, ir.Value]]], ir.Value]
"""From pairs of elements, one pair for each array, whether the first ones come strictly before."""


@lowers("sort")
def lower_sort(context: LoweringContext, equation: Equation, *operands: ir.Value) -> list[ir.Value]:
    """Operands sorted together along an axis."""
    keys = equation.avals_in[: equation.params["num_keys"]]
    orders = Orders([order_name(key.dtype) for key in keys])

    def comes(pairs: Sequence[tuple[ir.Value, ir.Value]]) -> ir.Value:
        """Decided by the first keys that differ."""
        less, equal = order(*pairs[0], keys[0].dtype)
        for pair, aval in zip(pairs[1:], keys[1:], strict=False):
            next_less, next_equal = order(*pair, aval.dtype)
            less = _either(less, _both(equal, next_less))
            equal = _both(equal, next_equal)
        return less

    return sorted_by(context, operands, equation.params["dimension"], comes, orders)


@dataclass(frozen=True)
class Orders:
    """What a comparison says, in the words of `emit.sort_keys`."""

    names: list[str]
    is_descending: bool = False
    first: int | None = None

    def attributes(self, arrays: Sequence[ir.Value], axis: int) -> dict[str, ir.Attribute]:
        """As attributes of a sort of arrays."""
        positions = [number for number, array in enumerate(arrays) if _counts(array, axis)]
        attributes: dict[str, ir.Attribute] = {
            KEYS: ir.ArrayAttr.get([ir.StringAttr.get(name) for name in self.names]),
            POSITIONS: array_attribute("i64", positions),
        }
        if self.is_descending:
            attributes[DESCENDING] = ir.UnitAttr.get()
        if self.first is not None:
            attributes[FIRST] = enumeration(self.first)
        return attributes


def _counts(array: ir.Value, axis: int) -> bool:
    """Whether an array is known to be of integers 0, 1, … along an axis."""
    owner: Any = array.owner
    if not isinstance(tensor_type(array).element_type, ir.IntegerType):
        return False
    if isinstance(owner, ir.Block) or owner.name not in ("stablehlo.iota", _DYNAMIC_IOTA):
        return False
    return ir.IntegerAttr(owner.attributes["iota_dimension"]).value == axis


_DYNAMIC_IOTA = "stablehlo.dynamic_iota"


def order_name(dtype: Any) -> str:
    """How JAX orders elements of a type."""
    if is_floating(dtype):
        return "float"
    if is_complex(dtype):
        return "complex"
    return "unsigned" if is_unsigned(dtype) else "signed"


def sorted_by(
    context: LoweringContext,
    arrays: Sequence[ir.Value],
    axis: int,
    comes: Comes,
    orders: Orders,
) -> list[ir.Value]:
    """Arrays sorted together along an axis; what is equal stays in order."""
    kinds = [tensor_type(array) for array in arrays]
    attributes = {"dimension": enumeration(axis), "is_stable": ir.BoolAttr.get(True)}
    attributes |= orders.attributes(arrays, axis)
    operation = create("stablehlo.sort", kinds, arrays, attributes, regions=1)
    numbers = [number_type(kind.element_type) for kind in kinds for _ in range(2)]
    fill(
        context,
        operation.regions[0],
        numbers,
        lambda sides: [comes(list(zip(sides[::2], sides[1::2], strict=True)))],
    )
    return list(operation.results)


def order(left: ir.Value, right: ir.Value, dtype: Any) -> tuple[ir.Value, ir.Value]:
    """Whether left comes before right, and whether neither comes before the other."""
    if is_floating(dtype):
        return _float_order(left, right)
    if is_complex(dtype):
        part = number_type(ir.ComplexType(tensor_type(left).element_type).element_type)
        parts = [
            [create(f"stablehlo.{name}", [part], [value]).result for value in (left, right)]
            for name in ("real", "imag")
        ]
        (less, equal), (then_less, then_equal) = (_float_order(*pair) for pair in parts)
        return _either(less, _both(equal, then_less)), _both(equal, then_equal)
    kind = "UNSIGNED" if is_unsigned(dtype) else "SIGNED"
    return compared("lt", kind, left, right), compared("eq", kind, left, right)


def _float_order(left: ir.Value, right: ir.Value) -> tuple[ir.Value, ir.Value]:
    nans = [compared("ne", "FLOAT", value, value) for value in (left, right)]
    before_nan = _both(nans[1], compared("eq", "FLOAT", left, left))
    less = _either(compared("lt", "FLOAT", left, right), before_nan)
    return less, _either(compared("eq", "FLOAT", left, right), _both(*nans))


_both, _either = partial(binary, "stablehlo.and"), partial(binary, "stablehlo.or")


@lowers("top_k")
def lower_top_k(context: LoweringContext, equation: Equation, operand: ir.Value) -> list[ir.Value]:
    """The largest elements along an axis, in descending order, and where they are."""
    dtype = equation.avals_in[0].dtype
    kind = "UNSIGNED" if is_unsigned(dtype) else "SIGNED"

    def comes(pairs: Sequence[tuple[ir.Value, ir.Value]]) -> ir.Value:
        return compared("gt", "TOTALORDER" if is_floating(dtype) else kind, *pairs[0])

    axis = equation.params.get("axis", len(equation.avals_in[0].shape) - 1)
    name = "total" if is_floating(dtype) else order_name(dtype)
    return _first(context, equation, operand, axis, comes, Orders([name], is_descending=True))


@lowers("approx_top_k")
def lower_approx_top_k(
    context: LoweringContext, equation: Equation, operand: ir.Value
) -> list[ir.Value]:
    """The same, exactly, which is the best of approximations; or the smallest, ascending."""
    if not equation.params["aggregate_to_topk"]:
        return NotImplemented
    dtype = equation.avals_in[0].dtype

    def comes(pairs: Sequence[tuple[ir.Value, ir.Value]]) -> ir.Value:
        left, right = pairs[0]
        pair = (right, left) if equation.params["is_max_k"] else (left, right)
        return order(*pair, dtype)[0]

    axis = equation.params["reduction_dimension"] % len(equation.avals_in[0].shape)
    orders = Orders([order_name(dtype)], is_descending=equation.params["is_max_k"])
    return _first(context, equation, operand, axis, comes, orders)


def _first(
    context: LoweringContext,
    equation: Equation,
    operand: ir.Value,
    axis: int,
    comes: Comes,
    orders: Orders,
) -> list[ir.Value]:
    """The first elements of the order along an axis, as many as the result has, and positions."""
    (aval,), results = equation.avals_in, equation.avals_out

    def places(array: Any) -> tuple[Any, ...]:
        return (lax.broadcasted_iota(results[1].dtype, array.shape, axis),)

    def leading(*arrays: Any) -> tuple[Any, ...]:
        return tuple(lax.slice_in_dim(own, 0, results[0].shape[axis], axis=axis) for own in arrays)

    positions = context.lower_function(places, [aval], [operand])
    size = results[0].shape[axis]
    orders = replace(orders, first=size if isinstance(size, int) else None)
    ordered = sorted_by(context, [operand, *positions], axis, comes, orders)
    avals = [aval, results[1].update(shape=aval.shape)]
    return context.lower_function(leading, avals, ordered)
