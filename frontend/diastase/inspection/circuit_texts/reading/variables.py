"""Variables: what loops carry and branches give, where no expression stands for it.

They are assigned in two places only: at the end of a loop's body and at the end of a branch.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from diastase.inspection.circuit_texts.expressions import (
    Choice,
    Expression,
    Scalar,
    expressed,
    names_in,
)
from diastase.inspection.circuit_texts.reading.reader import Reader
from diastase.inspection.circuit_texts.statements import Assign
from diastase.inspection.circuit_texts.values import (
    WIDE,
    Elements,
    Unsayable,
    Value,
    collapsed,
    scalar_value,
    scalars_of,
    too_narrow,
)

MOST_VARIABLES = 64
"""For what a loop carries, or branches give."""

_KINDS = "fiub"
_DTYPES = {"f": np.dtype(np.float64), "i": np.dtype(np.int64), "b": np.dtype(np.bool_)}


def variables_for(reader: Reader, aval: Any) -> Value:
    """A new variable for each element of a type."""
    shape = aval.shape
    is_known = all(isinstance(size, int) for size in shape)
    if not is_known or math.prod(shape) > MOST_VARIABLES:
        return Unsayable(
            f"depends on an array that changes, of more than {MOST_VARIABLES} elements"
        )
    if aval.dtype.kind not in _KINDS:
        return Unsayable("depends on numbers that change, and are complex")
    if str(aval.dtype) not in WIDE:
        return Unsayable(too_narrow(aval.dtype))
    kind = aval.dtype.kind
    made = [
        Expression(reader.new_name(), kind=kind, is_outcome=True) for _ in range(math.prod(shape))
    ]
    return collapsed(made, aval)


def declare(reader: Reader, variables: Value, value: Value | None = None) -> None:
    """Declare variables, with values if there are some."""
    for place, variable in enumerate(scalars_of(variables)):
        scalar: Scalar | None = None if value is None else scalars_of(value)[place]
        one = None if scalar is None or isinstance(scalar, Choice) else expressed(scalar)
        reader.write(Assign(variable, one, True))
        if isinstance(scalar, Choice):
            assign(reader, variable, scalar)


def assign_all(reader: Reader, variables: Value, value: Value) -> None:
    """Assign each element."""
    for variable, scalar in zip(scalars_of(variables), scalars_of(value), strict=True):
        assign(reader, variable, scalar)


def assign(reader: Reader, variable: Any, scalar: Scalar) -> None:
    """Assign a scalar, case by case where outcomes choose it."""
    if isinstance(scalar, Choice):
        cases = scalar.if_true, scalar.if_false
        blocks = [reader.captured(lambda c=case: assign(reader, variable, c)) for case in cases]
        reader.either(scalar.condition, *blocks)
    elif (value := expressed(scalar)).text != variable.text:
        reader.write(Assign(variable, value))


def update(reader: Reader, variables: Mapping[int, Value], results: Sequence[Value]) -> None:
    """Assign what the next turn takes, all at once."""
    everything = [
        (variable, scalar)
        for place, made in variables.items()
        for variable, scalar in zip(scalars_of(made), scalars_of(results[place]), strict=True)
    ]
    texts = {variable.text for variable, _ in everything}
    for number, (variable, scalar) in enumerate(everything):
        later = texts - {variable.text}
        if later & names_in(scalar):
            kept = Expression(reader.new_name(), kind=variable.kind, is_outcome=True)
            one = np.empty((), object)
            one[()] = kept
            declare(reader, Elements(one, None), scalar_value(scalar, _DTYPES[variable.kind]))
            everything[number] = variable, kept
    for variable, scalar in everything:
        assign(reader, variable, scalar)
