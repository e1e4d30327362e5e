"""Choose the order of the loops of each `linalg.generic`, and let sums be added up in any order.

In: operations on memory, with loops in the order of the axes of their results, so that a sum over
the first axis of a matrix would walk down its columns. Out: the same with loops in the order of
the axes of what they read and write, and innermost the one that finds most of it contiguous:

    iterator_types = ["parallel", "reduction"], input at (d1, d0), result at (d0)
    ->
    iterator_types = ["reduction", "parallel"], input at (d0, d1), result at (d1)

No result depends on the order of parallel loops, nor on where they stand among the others. Loops
over what is combined keep their order among each other, unless every order gives the same.

What is subtracted from a result is added with the other sign, which is the same number.
Sums and products of floats become `reassoc`: LLVM adds several partial sums then, a vector of
them, which is faster and more accurate than one sum after another. XLA does the same. Minima and
maxima need no permission.
"""

from collections.abc import Collection, Sequence

from diastase_mlir.bindings import arith, ir
from diastase_mlir.emit.operations import create, scalar_constant
from diastase_mlir.passes.operations import (
    combining,
    defining,
    last_of,
    maps_of,
    operations_named,
    parallel_loops,
)

_SUMS = {"arith.subf": "arith.addf", "arith.subi": "arith.addi"}
_REASSOCIATED = frozenset({"arith.addf", "arith.mulf"})

Axes = tuple[int, ...]
"""For each axis of an operand, the loop that walks along it."""


def loop_interchange(module: ir.Module) -> None:
    """Order the loops of every `linalg.generic`, in place."""
    found = operations_named(module.operation, "linalg.generic")
    for generic in found:
        _order(generic)


def _order(generic: ir.Operation) -> None:
    kinds = list(ir.ArrayAttr(generic.attributes["iterator_types"]))
    reductions = [loop for loop, parallel in enumerate(parallel_loops(generic)) if not parallel]
    if reductions:
        _add_negated(generic)
    combines = combining(generic) if reductions else None
    if combines is not None and combines.name in _REASSOCIATED:
        combines.attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<reassoc>")
    if len(kinds) < 2:
        return
    maps = maps_of(generic)
    if not all(affine_map.is_projected_permutation for affine_map in maps):
        return
    _, written = ir.DenseI32ArrayAttr(generic.attributes["operandSegmentSizes"])
    operands = [_axes(affine_map) for affine_map in maps]
    order = best_order(operands, written, _once(generic, operands))
    if [loop for loop in order if loop in reductions] != reductions and combines is None:
        return
    if order != list(range(len(kinds))):
        _permute(generic, maps, kinds, order)


def _add_negated(generic: ir.Operation) -> None:
    """Make a sum of what is subtracted from the result so far, if nothing else is done with it."""
    block = generic.regions[0].blocks[0]
    so_far = block.arguments[len(block.arguments) - 1]
    ends = last_of(block).operands
    last = defining(ends[0]) if len(ends) == 1 else None
    if last is None or last.name not in _SUMS or last.operands[0] != so_far:
        return
    if [use.owner for use in so_far.uses] != [last]:
        return
    number = last.operands[1]
    with ir.InsertionPoint(last), last.location:
        if last.name == "arith.subf":
            negated = create("arith.negf", [number.type], [number]).result
        else:
            negated = arith.subi(scalar_constant(number.type, 0), number)
        total = create(_SUMS[last.name], [number.type], [so_far, negated]).result
    last.results[0].replace_all_uses_with(total)
    last.operation.erase()


def best_order(operands: Sequence[Axes], written: int, once: Collection[int] = ()) -> list[int]:
    """Loops from the outermost to the innermost.

    The last `written` operands are results; loops that run `once` are innermost only if all are.
    """
    costs = {}
    for loop in {loop for axes in operands for loop in axes}:
        strided = [loop in axes and axes[-1] != loop for axes in operands]
        costs[loop] = sum(strided) + sum(strided[-written:])  # writing across rows costs twice
        costs[loop] += 3 * len(operands) * (loop in once)
    # By the axes of the operand that has most of them, of the results if they have as many.
    widest = max(reversed(operands), key=len)
    order = [*widest, *sorted(costs.keys() - set(widest))]
    cheapest = min(costs.values())
    innermost = next(loop for loop in reversed(order) if costs[loop] == cheapest)
    return [*(loop for loop in order if loop != innermost), innermost]


def _axes(affine_map: ir.AffineMap) -> Axes:
    return tuple(ir.AffineDimExpr(result).position for result in affine_map.results)


def _once(generic: ir.Operation, operands: Sequence[Axes]) -> set[int]:
    """Loops that are known to run once."""
    found: set[int] = set()
    for operand, axes in zip(generic.operands, operands, strict=True):
        shape = ir.MemRefType(operand.type)
        found.update(
            loop
            for axis, loop in enumerate(axes)
            if not shape.is_dynamic_dim(axis) and shape.get_dim_size(axis) == 1
        )
    return found


def _permute(
    generic: ir.Operation, maps: list[ir.AffineMap], kinds: list[ir.Attribute], order: list[int]
) -> None:
    positions = [order.index(loop) for loop in range(len(kinds))]
    renaming = ir.AffineMap.get(len(kinds), 0, [ir.AffineDimExpr.get(at) for at in positions])
    renamed = [
        ir.AffineMap.get(len(kinds), 0, [result.compose(renaming) for result in old.results])
        for old in maps
    ]
    generic.attributes["indexing_maps"] = ir.ArrayAttr.get(
        [ir.AffineMapAttr.get(affine_map) for affine_map in renamed]
    )
    generic.attributes["iterator_types"] = ir.ArrayAttr.get([kinds[loop] for loop in order])
    for operation in generic.regions[0].blocks[0].operations:
        if operation.operation.name == "linalg.index":
            dimension = operation.operation.attributes["dim"]
            number = positions[ir.IntegerAttr(dimension).value]
            operation.operation.attributes["dim"] = ir.IntegerAttr.get(dimension.type, number)
