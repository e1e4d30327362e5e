"""Abstract values as the array types of the ABI, and the element types that programs can hold."""

from functools import cache
from typing import Any

import jax
import numpy as np

from diastase_mlir import jax_compat
from diastase_mlir.emit.operations import to_type
from diastase_mlir.errors import UnsupportedTypeError
from diastase_mlir.jax_compat import ir
from diastase_runtime.abi import ArrayType

ELEMENT_TYPES = frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
    "float16 bfloat16 float32 float64 complex64 complex128".split()
)
"""Numpy names of all element types that the loader can hand over."""

_SMALL = {"int2": "int8", "int4": "int8", "uint2": "uint8", "uint4": "uint8"}
"""Integers of values that stay inside of a program, and the ones that take as much memory."""


def array_type(aval: Any) -> ArrayType:
    """Element type and rank of the array that represents a value at the border of a program."""
    name = element_type(aval)
    if name not in ELEMENT_TYPES:
        raise UnsupportedTypeError(what=f"{name} as arguments or results")
    return ArrayType(name, len(jax_compat.physical_aval(aval).shape))


def element_type(aval: Any) -> str:
    """Numpy name of the elements of the array that represents a value inside of a program."""
    aval = jax_compat.physical_aval(aval)
    if not hasattr(aval, "dtype"):
        raise UnsupportedTypeError(what=str(aval))
    return element_name(aval.dtype)


@cache
def element_name(dtype: Any) -> str:
    """Numpy name of the element type that represents a dtype."""
    if dtype == jax.dtypes.float0:  # the tangent type of integers; holds nothing
        return "bool"
    name = np.dtype(dtype).name
    if name not in ELEMENT_TYPES and name not in _SMALL:
        raise UnsupportedTypeError(what=name)
    return name


def whole_bytes(dtype: Any) -> np.dtype:
    """The dtype itself, or the smallest one of whole bytes that holds its values."""
    name = element_name(dtype)
    return np.dtype(_SMALL[name]) if name in _SMALL else np.dtype(dtype)


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


def is_static(aval: Any) -> bool:
    """Whether all sizes of an array are known now."""
    return all(isinstance(size, int) for size in aval.shape)


def retyped(value: ir.Value, kind: ir.Type) -> ir.Value:
    """The array under a type that knows other sizes of it, or sees its integers as (un)signed."""
    return to_type(value, kind, "stablehlo.convert")
