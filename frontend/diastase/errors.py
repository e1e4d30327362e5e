"""Errors of programs that cannot be traced, and the base classes of all errors, for `except`.

They are defined beside what raises them; `docs/errors.md` lists all there are.
"""

from diastase.capture.tracer_errors import (
    DeepNestingError,
    LeakedTracerError,
    RefusedCallError,
    TracedArrayError,
    TracedConditionError,
    TracedIndexError,
    TracedValueError,
)
from diastase.dynamic_shapes.errors import (
    MappedSizeError,
    SizeEscapesError,
    UndecidableDimensionError,
    UnknownSizesDifferError,
    UnknownSizeUnsupportedError,
)
from diastase.primitives.errors import (
    NoDerivativeError,
    NotTransformableError,
    TransformationUseError,
)
from diastase_runtime.errors import CompileError, DiastaseError, DifferentiableCompileError

__all__ = [
    "CompileError",
    "DeepNestingError",
    "DiastaseError",
    "DifferentiableCompileError",
    "LeakedTracerError",
    "MappedSizeError",
    "NoDerivativeError",
    "NotTransformableError",
    "RefusedCallError",
    "SizeEscapesError",
    "TracedArrayError",
    "TracedConditionError",
    "TracedIndexError",
    "TracedValueError",
    "TransformationUseError",
    "UndecidableDimensionError",
    "UnknownSizeUnsupportedError",
    "UnknownSizesDifferError",
]
