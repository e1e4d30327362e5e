"""Types of a circuit's values in its module: numbers and arrays of known sizes as such.

What nobody can compute with there is `none`: arrays whose sizes are known only at run time, keys.
"""

from typing import Any

import numpy as np

from diastase_mlir.bindings import ir

_FLOATS = {"float64": ir.F64Type, "float32": ir.F32Type}
_INTEGERS = {"int64": 64, "int32": 32, "bool": 1}


def type_of(aval: Any) -> ir.Type:
    """The MLIR type of an abstract value."""
    own = getattr(aval, "mlir_type", None)
    if own is not None:
        return ir.Type.parse(own)
    shape: Any = getattr(aval, "shape", (None,))
    element = _element_type(getattr(aval, "dtype", None))
    if element is None or not all(type(size) is int for size in shape):
        return ir.NoneType.get()
    return ir.RankedTensorType.get(list(shape), element) if shape else element


def is_register(aval: Any) -> bool:
    """Whether an abstract value is a quantum register."""
    return hasattr(aval, "mlir_type")


def is_number(aval: Any, dtype: str) -> bool:
    """Whether an abstract value is one number of this type."""
    return getattr(aval, "shape", None) == () and aval.dtype == dtype


def number_attribute(value: Any, aval: Any) -> ir.Attribute | None:
    """A number as an attribute; None if it is no number."""
    if getattr(aval, "shape", None) != () or str(aval.dtype) not in {*_FLOATS, *_INTEGERS}:
        return None
    kind = type_of(aval)
    number = np.asarray(value).item()
    if str(aval.dtype) in _FLOATS:
        return ir.FloatAttr.get(kind, number)
    return ir.IntegerAttr.get(kind, int(number))


def _element_type(dtype: Any) -> ir.Type | None:
    name = str(dtype)
    if name in _FLOATS:
        return _FLOATS[name].get()
    if name in _INTEGERS:
        return ir.IntegerType.get_signless(_INTEGERS[name])
    return ir.ComplexType.get(ir.F64Type.get()) if name == "complex128" else None
