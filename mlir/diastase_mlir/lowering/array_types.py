"""Abstract values as the array types of the ABI, and the element types that programs can hold."""

from functools import cache
from typing import Any

import jax
import numpy as np

from diastase_mlir import jax_internals
from diastase_mlir.errors import UnsupportedTypeError
from diastase_runtime.abi import ArrayType

ELEMENT_TYPES = frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
    "float16 bfloat16 float32 float64 complex64 complex128".split()
)
"""Numpy names of all element types that the loader can hand over."""


def array_type(aval: Any) -> ArrayType:
    """Element type and rank of the array that represents a value at run time."""
    aval = jax_internals.physical_aval(aval)
    if not hasattr(aval, "dtype"):
        raise UnsupportedTypeError(what=str(aval))
    return ArrayType(element_name(aval.dtype), len(aval.shape))


@cache
def element_name(dtype: Any) -> str:
    """Numpy name of the element type that represents a dtype."""
    if dtype == jax.dtypes.float0:  # the tangent type of integers; holds nothing
        return "bool"
    name = np.dtype(dtype).name
    if name not in ELEMENT_TYPES:
        raise UnsupportedTypeError(what=name)
    return name


def is_floating(dtype: Any) -> bool:
    """Whether a dtype is a real floating-point type, `bfloat16` included."""
    return element_name(dtype) in ("float16", "bfloat16", "float32", "float64")


def is_complex(dtype: Any) -> bool:
    """Whether a dtype is complex."""
    return element_name(dtype).startswith("complex")


def is_unsigned(dtype: Any) -> bool:
    """Whether order comparisons are unsigned; as a signed number, the `i1` true is -1."""
    return element_name(dtype).startswith(("uint", "bool"))


def is_known_empty(aval: Any) -> bool:
    """Whether an array has a size that is known to be 0."""
    return any(isinstance(size, int) and size == 0 for size in aval.shape)
