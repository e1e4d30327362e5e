"""Cosine, sine and logarithm in kernels: of a number by the C library, of a vector in all lanes.

In a vector no angle may be larger than `LARGEST_ANGLE`, so that the sum of two is not either what
`vector_math.trigonometric` cannot reduce; NaN gives NaN.
"""

from collections.abc import Callable
from functools import partial
from typing import Any
from typing import cast as as_type

from diastase_engine.language import *
from diastase_engine.language.arithmetic import convert
from diastase_engine.language.functions import External, Intrinsic
from diastase_engine.language.instructions import Frame
from diastase_engine.language.types import F64
from diastase_engine.language.values import Dynamic
from diastase_engine.vector_math import logarithms, trigonometric
from diastase_engine.vector_math.numbers import Number

LARGEST_ANGLE = trigonometric.LIMIT / 4

cos_of_number = external("cos", [f64], f64)
sin_of_number = external("sin", [f64], f64)
log_of_number = external("log", [f64], f64)


def _function(
    of_number: Callable[..., Any], formula: Callable[[Number], Number]
) -> Callable[[Any], Any]:
    def build(frame: Frame, argument: Any) -> Dynamic:
        if isinstance(argument, Dynamic) and argument.type.is_vector:
            number = Number(frame.builder, argument.type.lanes, argument.value)
            return Dynamic(argument.type, formula(number).value)
        function = frame.declare(as_type("External", of_number))
        value = convert(frame.builder, argument, F64).value
        return Dynamic(F64, frame.builder.call(function, [value]))

    return as_type("Callable[[Any], Any]", Intrinsic(build))


cos = _function(cos_of_number, partial(trigonometric.cos, single=False))
sin = _function(sin_of_number, partial(trigonometric.sin, single=False))
log = _function(log_of_number, logarithms.log)
