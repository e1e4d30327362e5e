"""Numbers that change nothing when they are combined with another: 0 in sums, -inf in maxima."""

import math
from typing import Any

from diastase_mlir.bindings import ir


def changes_nothing(operation: Any) -> bool:
    """Whether the initial value, combined with any number, gives that number."""
    block, initial = operation.regions[0].blocks[0], operation.operands[1].owner
    views = list(block.operations)
    if len(views) != 2 or isinstance(initial, ir.Block) or initial.name != "stablehlo.constant":
        return False
    combination = views[0].operation
    if [*combination.operands] not in ([*block.arguments], [*block.arguments][::-1]):
        return False
    number, element = number_of(initial), operation.operands[1].type.element_type
    name = combination.name.removeprefix("stablehlo.")
    if name in ("maximum", "minimum"):
        return number == _limit(element, largest=name == "minimum")
    return number == {"add": 0, "multiply": 1}.get(name)


def is_sum_of_floats(operation: Any) -> bool:
    """Whether what combines adds floating-point numbers: 0 changes the sign of -0.0."""
    combination = operation.regions[0].blocks[0].operations[0].operation
    element = combination.results[0].type.element_type
    return combination.name == "stablehlo.add" and not isinstance(element, ir.IntegerType)


def number_of(constant: Any) -> complex | int:
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
