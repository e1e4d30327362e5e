"""Values of Python's as C writes them: strings, and arrays as initialisers.

In: numpy arrays of the element types that programs know. Out: C; every number is read back as
exactly itself. Two reals make a complex number; formats of 16 bits, which C lacks, are their bits.
"""

import math
from typing import Any, NamedTuple

import numpy as np


class Element(NamedTuple):
    """How an element type is stored in C."""

    c_type: str
    size: int
    """Bytes of an element."""


ELEMENTS = {
    "bool": Element("bool", 1),
    **{f"int{bits}": Element(f"int{bits}_t", bits // 8) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": Element(f"uint{bits}_t", bits // 8) for bits in (8, 16, 32, 64)},
    "float16": Element("uint16_t", 2),
    "bfloat16": Element("uint16_t", 2),
    "float32": Element("float", 4),
    "float64": Element("double", 8),
    "complex64": Element("float", 8),
    "complex128": Element("double", 16),
}
"""By numpy's name of the type."""


def string(text: str) -> str:
    """Write a string literal of C."""
    plain = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "?": "\\?"}
    return '"' + "".join(plain.get(chr(byte)) or _character(byte) for byte in text.encode()) + '"'


def initialiser(array: np.ndarray) -> str:
    """Write the elements of an array; C has no empty arrays, so there is always one."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if array.dtype.name in ("float16", "bfloat16"):
        flat = flat.view(np.uint16)
    elif np.iscomplexobj(array):
        flat = flat.view(f"float{4 * flat.itemsize}")
    return ", ".join(map(_number, flat.tolist())) or "0"


def _character(byte: int) -> str:
    return chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}"


def _number(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return _integer(value)
    if math.isnan(value):
        return "NAN"
    return repr(value).replace("inf", "INFINITY")


def _integer(value: int) -> str:
    if value == -(2**63):  # C has no negative literals, and no such positive number
        return f"(-INT64_C({2**63 - 1}) - 1)"
    return f"UINT64_C({value})" if value >= 2**63 else f"INT64_C({value})"
