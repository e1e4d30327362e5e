"""Tensors that lie in an argument of the program as they are: contiguous pieces, reshaped.

In: a tensor. Out: the argument and the element at which the piece begins, or None. The caller's
arrays are contiguous and never written (`bufferization.writable = false`), so such a piece can be
handed to the engine where it lies; a copy of each would cost a loop, memory and time to compile.
The same is true of arguments of the module's other functions.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from diastase_mlir.bindings import ir

_RESHAPES = ("tensor.expand_shape", "tensor.collapse_shape")


def piece_of_argument(tensor: ir.Value) -> tuple[ir.Value, int] | None:
    """The argument in which a tensor lies, and the number of elements before it."""
    begin = 0
    while not isinstance(tensor.owner, ir.Block):
        operation: Any = tensor.owner
        source = operation.operands[0] if len(operation.operands) == 1 else None
        if source is None or not isinstance(source.type, ir.RankedTensorType):
            return None
        if operation.name == "tensor.extract_slice":
            before = _before(operation, ir.RankedTensorType(source.type))
            if before is None:
                return None
            begin += before
        elif operation.name not in _RESHAPES:
            return None
        tensor = source
    return (tensor, begin) if _is_the_callers(tensor) else None


def _is_the_callers(value: Any) -> bool:
    """Whether an argument of a block is one of the program, of known shape."""
    function = value.owner.owner.operation
    if function.name != "func.func" or not isinstance(value.type, ir.RankedTensorType):
        return False
    if (
        not ir.RankedTensorType(value.type).has_static_shape
        or "arg_attrs" not in function.attributes
    ):
        return False
    attributes = function.attributes["arg_attrs"][ir.BlockArgument(value).arg_number]
    return "bufferization.writable" in attributes and not attributes["bufferization.writable"].value


def _before(slice_operation: Any, source: ir.RankedTensorType) -> int | None:
    """How many elements of the source come before a slice; None unless it is contiguous."""
    if not source.has_static_shape:
        return None
    offsets, sizes, steps = (
        list(slice_operation.attributes[f"static_{name}"])
        for name in ("offsets", "sizes", "strides")
    )
    if any(step != 1 for step in steps) or not _is_contiguous(sizes, source.shape):
        return None
    return int(np.ravel_multi_index(offsets, source.shape))


def _is_contiguous(sizes: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether only axes after the first with more than one element are complete."""
    first = next((axis for axis, size in enumerate(sizes) if size != 1), len(sizes))
    return list(sizes[first + 1 :]) == list(shape[first + 1 :]) and 0 not in shape
