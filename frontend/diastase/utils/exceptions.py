"""Catalyst's exceptions, under its names: the base classes of ours where the cause is the same.

    try:
        circuit(0.1)
    except CompileError as error:  # an `UnsupportedOperationError`, say
        print(error)

`docs/errors.md` lists the classes that derive from each.
"""

from diastase.autograph.staging.errors import AutoGraphError
from diastase.namespace.lazy_names import lazy_names, public_names
from diastase_runtime.errors import (
    CompileError,
    DifferentiableCompileError,
    PlxprCaptureCFCompatibilityError,
)

__all__ = [
    "AutoGraphError",
    "CompileError",
    "DifferentiableCompileError",
    "PlxprCaptureCFCompatibilityError",
]

__getattr__ = lazy_names(__name__, {})
__dir__ = public_names(__name__)
