"""Rules for cumulative operations along one axis: each element combined with all before it.

The combining function is traced by JAX for scalars, so it means exactly what it means elsewhere,
for every element type. Elements are combined one after another, on whatever thread.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.loops import Values, for_range
from diastase_mlir.lowering.operations import (
    compare_integers,
    create,
    enumeration,
    index_binary,
    index_constant,
    index_type,
    scalar_constant,
    select,
    to_signless,
)
from diastase_mlir.lowering.registry import Equation, lowers
from diastase_mlir.lowering.scalar_functions import ScalarFunction, scalar_aval, scalar_function
from diastase_mlir.lowering.tensors import (
    Size,
    as_index,
    element_type,
    empty,
    extract,
    generate,
    generic,
    insert,
)

CUMULATIVE: dict[str, Callable[[Any, Any], Any]] = {
    "cumsum": lax.add,
    "cumprod": lax.mul,
    "cummax": lax.max,
    "cummin": lax.min,
    "cumlogsumexp": jnp.logaddexp,
}
"""What combines the result so far with the next element."""


@lowers(*CUMULATIVE)
def lower_cumulative(
    context: LoweringContext, equation: Equation, operand: ir.Value
) -> list[ir.Value]:
    """Each element combined with all before it (after it, if reversed) along an axis."""
    aval = equation.avals_in[0]
    axis, backwards = equation.params["axis"], equation.params["reverse"]
    operand = to_signless(operand)
    sizes = [context.size(size) for size in aval.shape]
    function = CUMULATIVE[equation.primitive.name]
    combine = scalar_function(context, function, [scalar_aval(aval)] * 2)
    if len(sizes) == 1:
        return [_along_line(context, operand, sizes[0], combine, backwards)]
    if not backwards:
        return [_along_lines(operand, sizes, axis, combine)]
    turned = _reversed(operand, sizes, axis)
    return [_reversed(_along_lines(turned, sizes, axis, combine), sizes, axis)]


def _along_line(
    context: LoweringContext, array: ir.Value, size: Size, combine: ScalarFunction, backwards: bool
) -> ir.Value:
    """A loop that carries the result so far."""
    element = element_type(array)
    last = index_binary("subi", as_index(size), index_constant(1))

    def step(index: ir.Value, inner: Values) -> Values:
        total, result = inner
        place = index_binary("subi", last, index) if backwards else index
        value = extract(array, [place])
        total = _next(index, total, value, combine)
        return [total, insert(total, result, [place])]

    initial = [scalar_constant(element, 0), empty([size], element)]
    return for_range(context, (0, size, 1), initial, step)[1]


def _next(index: ir.Value, total: ir.Value, value: ir.Value, combine: ScalarFunction) -> ir.Value:
    """The result at a place: at the first, the element itself."""
    is_first = compare_integers("eq", index, index_constant(0))
    return select(is_first, value, *combine(total, value))


def _along_lines(
    array: ir.Value, sizes: Sequence[Size], axis: int, combine: ScalarFunction
) -> ir.Value:
    """Many lines at once: the results so far are an array, and no line minds the others."""
    rank, element = len(sizes), element_type(array)
    whole = ir.AffineMap.get_identity(rank)
    others = [number for number in range(rank) if number != axis]
    across = ir.AffineMap.get(rank, 0, [ir.AffineExpr.get_dim(number) for number in others])

    def body(elements: list[ir.Value]) -> list[ir.Value]:
        value, total, _ = elements
        index = create("linalg.index", [index_type()], [], {"dim": enumeration(axis)}).result
        return [_next(index, total, value, combine)] * 2

    targets = [empty([sizes[number] for number in others], element), empty(sizes, element)]
    are_parallel = [number != axis for number in range(rank)]
    return generic([array], targets, [whole, across, whole], are_parallel, body)[1]


def _reversed(array: ir.Value, sizes: Sequence[Size], axis: int) -> ir.Value:
    last = index_binary("subi", as_index(sizes[axis]), index_constant(1))

    def formula(position: list[ir.Value]) -> ir.Value:
        place = index_binary("subi", last, position[axis])
        return extract(array, [*position[:axis], place, *position[axis + 1 :]])

    return generate(sizes, element_type(array), formula)
