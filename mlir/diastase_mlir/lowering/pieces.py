"""Moving of single numbers and short vectors, deferred (`deferred`).

In: an equation that moves elements, and its operand as it lies in the environment. Out: a deferred
value; None where sizes are not known now, or elements are not numbers as `arith` has them, and the
equation is lowered as any other.

What is concatenated is seen through: the numbers of vectors that are lists of numbers stand side by
side in one list, however they were put together, so that a program of n numbers has n operations.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.deferred import Elements, Number, Slice, elements_of, scalar_of
from diastase_mlir.lowering.loops import if_else
from diastase_mlir.lowering.operations import (
    compare_integers,
    index_binary,
    index_constant,
    to_signless,
)
from diastase_mlir.lowering.registry import Equation, Value
from diastase_mlir.lowering.tensors import element_type, extract, generate

_DTYPES = frozenset(
    map(
        np.dtype,
        "bool int8 int16 int32 int64 float16 float32 float64 complex64 complex128".split(),
    )
)

_FEW = 4
"""Arrays that are told apart one after the other; of more, each choice leaves out half."""


def as_vector(equation: Equation, value: Value) -> Value | None:
    """A number as a vector of one element."""
    aval, wanted = equation.avals_in[0], equation.avals_out[0]
    if aval.dtype not in _DTYPES or aval.shape != () or wanted.shape != (1,):
        return None
    return Elements([scalar_of(value)])


def as_number(equation: Equation, value: Value) -> Value | None:
    """The element of an array that has one."""
    aval, wanted = equation.avals_in[0], equation.avals_out[0]
    if aval.dtype not in _DTYPES or wanted.shape != () or not is_static(aval):
        return None
    if not aval.shape:
        return value
    if isinstance(value, Elements):
        return Number(value.scalars[0])
    if isinstance(value, Slice):
        return Number(value.scalar)
    tensor = value if isinstance(value, ir.Value) else value.materialise()
    return Number(extract(tensor, [index_constant(0)] * len(aval.shape)))


def as_numbers(equation: Equation, value: Value) -> list[Value] | None:
    """The elements of a vector, each by itself."""
    aval = equation.avals_in[0]
    if len(aval.shape) != 1:
        return None
    numbers: list[Value] = []
    for place in range(len(equation.avals_out)):
        part = _part(aval, value, (place,), (1,), (1,))
        scalars = None if part is None else elements_of(part)
        if scalars is None:
            return None
        numbers.append(Number(scalars[0]))
    return numbers


def is_element(equation: Equation) -> bool:
    """Whether a slice is a vector of one element."""
    return equation.avals_in[0].dtype in _DTYPES and equation.avals_out[0].shape == (1,)


def as_slice(equation: Equation, value: Value) -> Value | None:
    """A strided slice with bounds known now, of one element or more."""
    starts, sizes = equation.params["start_indices"], equation.avals_out[0].shape
    strides = equation.params["strides"] or (1,) * len(sizes)
    return _part(equation.avals_in[0], value, starts, sizes, strides)


def as_slices(equation: Equation, value: Value) -> list[Value] | None:
    """Consecutive parts along an axis."""
    axis = equation.params["axis"]
    parts: list[Value] = []
    begins = accumulate(equation.params["sizes"], initial=0)
    for begin, aval in zip(begins, equation.avals_out, strict=False):
        starts = [begin if a == axis else 0 for a in range(len(aval.shape))]
        part = _part(equation.avals_in[0], value, starts, aval.shape, (1,) * len(starts))
        if part is None:
            return None
        parts.append(part)
    return parts


def _part(
    aval: Any, value: Value, starts: Sequence[Any], sizes: Sequence[Any], strides: Sequence[Any]
) -> Value | None:
    known = all(isinstance(number, int) for number in (*starts, *sizes, *strides))
    if not known or 0 in sizes or not sizes or aval.dtype not in _DTYPES:
        return None
    if isinstance(value, Elements):
        (start,), (size,), (stride,) = starts, sizes, strides
        return Elements(value.scalars[start : start + size * stride : stride])
    if isinstance(value, Slice):
        return value.part(starts, sizes, strides)
    tensor = value if isinstance(value, ir.Value) else value.materialise()
    return Slice(tensor, starts, sizes, strides)


class Piece(NamedTuple):
    """A part of what is concatenated."""

    size: Any
    """Along the axis."""
    value: Value


def as_elements(equation: Equation, values: Sequence[Value]) -> Value | None:
    """Numbers side by side as a vector."""
    (result,) = equation.avals_out
    if len(result.shape) != 1 or result.dtype not in _DTYPES:
        return None
    return Elements([scalar_of(value) for value in values])


def joined(equation: Equation, values: Sequence[Value]) -> list[Piece]:
    """What is concatenated, with neighbouring numbers in one vector."""
    (result,), axis = equation.avals_out, equation.params["dimension"]
    is_vector = len(result.shape) == 1 and result.dtype in _DTYPES
    pieces: list[Piece] = []
    for aval, value in zip(equation.avals_in, values, strict=True):
        scalars = elements_of(value) if is_vector else None
        before = pieces[-1].value if pieces else None
        if scalars is None:
            pieces.append(Piece(aval.shape[axis], value))
            continue
        if isinstance(before, Elements):
            pieces.pop()
            scalars = [*before.scalars, *scalars]
        pieces.append(Piece(len(scalars), Elements(scalars)))
    return pieces


def chosen(context: LoweringContext, equation: Equation, pieces: Sequence[Piece]) -> ir.Value:
    """Arrays, concatenated: for each element of the result, halving finds the array it is from."""
    axis, shape = equation.params["dimension"], equation.avals_out[0].shape
    arrays = [to_signless(context.value(piece.value)) for piece in pieces]
    kind = element_type(arrays[0])
    starts = [context.dimension(start) for start in _starts(piece.size for piece in pieces)]

    def element(position: list[ir.Value], first: int, last: int) -> ir.Value:
        if last - first == 1:
            place = list(position)
            place[axis] = index_binary("subi", place[axis], starts[first])
            return extract(arrays[first], place)
        middle = (first + last) // 2
        is_before = compare_integers("slt", position[axis], starts[middle])
        return if_else(
            context,
            is_before,
            [kind],
            lambda: [element(position, first, middle)],
            lambda: [element(position, middle, last)],
        )[0]

    extents = [context.size(size) for size in shape]
    return generate(extents, kind, lambda position: element(position, 0, len(arrays)))


def _starts(sizes: Iterable[Any]) -> Iterator[Any]:
    start: Any = 0
    for size in sizes:
        yield start
        start = start + size


def is_worthwhile(pieces: Sequence[Piece], values: Sequence[Value]) -> bool:
    """Whether JAX's rule would make more of it."""
    return len(pieces) > _FEW or len(pieces) < len(values)


def is_static(aval: Any) -> bool:
    """Whether all sizes are known now."""
    return all(isinstance(size, int) for size in aval.shape)
