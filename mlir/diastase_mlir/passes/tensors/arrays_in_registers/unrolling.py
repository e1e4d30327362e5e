"""A loop over a few elements, written out: the operations of its body, once for each turn.

    %1 = linalg.generic ins(%0 : tensor<2xf64>) { ^bb0(%in, %out):        %a = arith.negf %x : f64
           %2 = arith.negf %in : f64                                 ->   %b = arith.negf %y : f64
           linalg.yield %2 } -> tensor<2xf64>

Sums and products, which may be added up in any order (`loop_interchange`), are so in pairs: no more
of them wait for each other than must.
"""

from collections.abc import Callable
from itertools import product
from math import prod
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.passes.bodies import Body, combined, linear, sizes_of_loops
from diastase_mlir.passes.operations import combining, maps_of, operands_of
from diastase_mlir.passes.tensors.arrays_in_registers.elements import Elements, as_array, is_small

OVER_ELEMENTS = frozenset({"linalg.generic", "linalg.contract"})
MOST_TURNS = 128
VECTOR = 4
"""Numbers for which a vector gains more than it takes to put them together."""

Place = tuple[int, ...]


def turns_of(loop: Any) -> list[int] | None:
    """How often each of an operation's loops runs; None if they are many, or it is not known."""
    turns = [0 if own is None else own for own in sizes_of_loops(loop)]
    return turns if 1 <= prod(turns) <= MOST_TURNS else None


def may_be_written_out(loop: Any) -> bool:
    """Whether an operation is a loop over a few elements of small arrays."""
    return (
        len(loop.results) > 0
        and all(_is_small_or_number(own.type) for own in operands_of(loop))
        and turns_of(loop) is not None
        and all(linear(own, one.n_dims) for one in maps_of(loop) for own in one.results)
    )


def is_side_by_side(loop: Any) -> bool:
    """Whether neighbours in a result are computed alike, and as many as stand in a vector."""
    shape = list(loop.results[0].type.shape)
    return len(shape) > 0 and shape[-1] % VECTOR == 0 and prod(shape) >= 2 * VECTOR


def written_out(loop: Any, elements: Elements) -> list[ir.Value]:
    """The results, as arrays of numbers; emitted where the operation stands."""
    kinds = [result.type for result in loop.results]
    block, combines = loop.regions[0].blocks[0], combining(loop)
    body, arguments = Body(block, elements.constants, elements.element), list(block.arguments)
    arrays = [
        _elements_read(operand, argument, elements)
        for operand, argument in zip(operands_of(loop), arguments, strict=True)
    ]
    places = [
        _place_in(own.type, one) for own, one in zip(operands_of(loop), maps_of(loop), strict=True)
    ]
    results = arrays[len(arrays) - len(kinds) :]
    terms: dict[int, list[ir.Value]] = {}
    for turn in product(*map(range, turns_of(loop) or ())):
        at = [place(turn) for place in places]
        values: Any = {
            argument: array[place]
            for argument, array, place in zip(arguments, arrays, at, strict=True)
            if array[place] is not None
        }
        emitted = body.emit(turn, values, combines)
        if combines is not None:
            of_result = list(combines.operands).index(arguments[-1])
            terms.setdefault(at[-1], []).append(emitted[1 - of_result])
            continue
        for array, place, number in zip(results, at[-len(kinds) :], emitted, strict=True):
            array[place] = number
    for place, own in terms.items():
        results[0][place] = combined(str(combines and combines.name), [results[0][place], *own])
    return [as_array(kind, array) for kind, array in zip(kinds, results, strict=True)]


def _elements_read(operand: Any, argument: Any, elements: Elements) -> list[Any]:
    """The elements of an operand; None each, where nobody reads them."""
    if not isinstance(operand.type, ir.RankedTensorType):
        return [operand]
    if next(iter(argument.uses), None) is None:
        return [None] * prod(operand.type.shape)
    return list(elements.of(operand))


def _place_in(kind: Any, affine_map: ir.AffineMap) -> Callable[[Place], int]:
    """The number of the element of an operand in a turn."""
    if not isinstance(kind, ir.RankedTensorType):
        return lambda _: 0
    factors = [0] * (affine_map.n_dims + 1)
    for size, result in zip(kind.shape, affine_map.results, strict=True):
        own = linear(result, affine_map.n_dims) or []
        factors = [factor * size + part for factor, part in zip(factors, own, strict=True)]
    used = [(number, factor) for number, factor in enumerate(factors[:-1]) if factor]
    return lambda turn: factors[-1] + sum(turn[number] * factor for number, factor in used)


def _is_small_or_number(kind: Any) -> bool:
    return not isinstance(kind, ir.ShapedType) or is_small(kind)
