"""Rule for `reduce_window`: windows along a whole axis are a running combination.

    %0 = stablehlo.reduce_window %a, %zero, window = [n], padding = [[n - 1, 0]] { add }

adds up, for each place, all elements before it, and zeros. Where what stands in the padding changes
nothing, that is one loop along the axis; MLIR's own conversion, which takes all other windows,
combines each window by itself.
"""

import math
from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.running import running
from diastase_mlir.emit.tensors import sizes_of
from diastase_mlir.passes.arrays_to_loops.inlined import function_of
from diastase_mlir.passes.arrays_to_loops.rules import SCOPE, Rule, numbers, signless_operands


def _reduce_window(operation: Any) -> Sequence[ir.Value] | None:
    if len(operation.results) != 1:
        return None
    along = _whole_axis(operation)
    if along is None or not _changes_nothing(operation):
        return None
    axis, backwards = along
    operand = signless_operands(operation)[0]
    function = function_of(operation.regions[0])

    def combine(total: ir.Value, value: ir.Value) -> ir.Value:
        return function(total, value)[0]

    return [running(SCOPE, operand, sizes_of(operand), axis, combine, backwards)]


def _whole_axis(operation: Any) -> tuple[int, bool] | None:
    """The axis along which each window ends (begins: True) at its place, and has all before it."""
    kind, names = operation.operands[0].type, ("window_strides", "base_dilations")
    if not kind.has_static_shape or operation.results[0].type.shape != kind.shape:
        return None
    given = [name for name in (*names, "window_dilations") if name in operation.attributes]
    if any(number != 1 for name in given for number in numbers(operation, name)):
        return None
    window = numbers(operation, "window_dimensions")
    axes = [axis for axis, size in enumerate(window) if size != 1]
    if len(axes) != 1 or window[axes[0]] != kind.shape[axes[0]]:
        return None
    if "padding" not in operation.attributes:
        return None
    amounts: Any = ir.DenseIntElementsAttr(operation.attributes["padding"])
    padding, (axis,) = [int(number) for number in amounts], axes
    size = window[axis] - 1
    for backwards in (False, True):
        wanted = [0] * (2 * len(window))
        wanted[2 * axis + backwards] = size
        if padding == wanted:
            return axis, backwards
    return None


def _changes_nothing(operation: Any) -> bool:
    """Whether the initial value, combined with any number, gives that number."""
    block, initial = operation.regions[0].blocks[0], operation.operands[1].owner
    views = list(block.operations)
    if len(views) != 2 or isinstance(initial, ir.Block) or initial.name != "stablehlo.constant":
        return False
    combination = views[0].operation
    if [*combination.operands] not in ([*block.arguments], [*block.arguments][::-1]):
        return False
    number, element = _number(initial), operation.operands[1].type.element_type
    name = combination.name.removeprefix("stablehlo.")
    if name in ("maximum", "minimum"):
        return number == _limit(element, largest=name == "minimum")
    return number == {"add": 0, "multiply": 1}.get(name)


def _number(constant: Any) -> complex | int:
    """The number that a constant of rank 0 is."""
    if isinstance(constant.results[0].type.element_type, ir.ComplexType):
        # The bindings have no class for its value.
        parts = str(constant).partition("dense<(")[2].partition(")")[0].split(",")
        # One that is no number is in hexadecimal digits.
        return complex(*(math.nan if "x" in part else float(part) for part in parts))
    number: Any = ir.DenseElementsAttr(constant.attributes["value"]).get_splat_value()
    return number.value


def _limit(element: Any, largest: bool) -> float | int:
    """The least number of a type, or the largest."""
    if not isinstance(element, ir.IntegerType):
        return math.inf if largest else -math.inf
    if element.is_unsigned or element.width == 1:
        return 2**element.width - 1 if largest else 0
    return 2 ** (element.width - 1) - 1 if largest else -(2 ** (element.width - 1))


RULES: dict[str, Rule] = {"stablehlo.reduce_window": _reduce_window}
