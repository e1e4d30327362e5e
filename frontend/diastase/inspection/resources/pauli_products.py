"""Rotations and measurements of Pauli words: of which kind they are, and on which wires.

A rotation `exp(-i angle/2 P)` is named, after D. Litinski, "A Game of Surface Codes",
arXiv:1808.02892, by half its angle: `pi8` (odd multiples of pi/8, such as T) is not in the Clifford
group, `pi4` is, `pi2` is a Pauli operator (or the identity, up to a phase); any other angle, and
one that is known only when the program runs, is `arbitrary`.
"""

import math
from typing import Any, Literal

from diastase.inspection.resources.interpretation.regions import Operation
from diastase_mlir import word_of as word_of_name

Kind = Literal["pi2", "pi4", "pi8", "arbitrary", "ppm"]

_TOLERANCE = 1e-9


def word_of(equation: Any) -> str | None:
    """The letters of a rotation or a measurement, one for each target; None for other gates."""
    if equation.primitive.name == "measure":
        return equation.params["word"]
    return word_of_name(equation.params.get("name", ""))


def kind_of(operation: Operation) -> Kind:
    """Of which kind the rotation or measurement of a word is; a rotation on condition is one."""
    if operation.equation.primitive.name == "measure":
        return "ppm"
    given = operation.operands[0]
    angle = given.or_zero if given.number is None else given.number
    if not isinstance(angle, int | float):
        return "arbitrary"
    quarters = angle / (math.pi / 4)
    if abs(quarters - round(quarters)) > _TOLERANCE:
        return "arbitrary"
    return ("pi2", "pi8", "pi4", "pi8")[round(quarters) % 4]
