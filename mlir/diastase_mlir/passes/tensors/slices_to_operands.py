"""What is computed element by element, to be read in slices only, is computed for the slices.

    %1 = linalg.generic ins(%0 : tensor<9xf64>) outs(%e : tensor<9xf64>)
    %2 = tensor.extract_slice %1[1] [8] [1]             // and nothing else uses %1
    ->
    %s = tensor.extract_slice %0[1] [8] [1]
    %2 = linalg.generic ins(%s : tensor<8xf64>) outs(%e8 : tensor<8xf64>)

Fusion then sees what reads the slice, which it would not look through: differences of neighbours
need no array of what they are differences of. Before fusion, on values.

An array that is read in one slice, or in slices that have no more elements than it has, is no more
work then. One that is read in several which overlap is computed for each of them if that takes a
few additions or the like, as much as to write it and to read it again.
"""

from dataclasses import dataclass
from math import prod
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import create
from diastase_mlir.passes.operations import (
    QUOTIENTS,
    maps_of,
    operations_named,
    parallel_loops,
)

MOST_OPERATIONS = 8
"""Of all copies of a body, where elements are computed more than once."""

_PURE = ("arith", "math", "complex")
_NO_WORK = frozenset({"arith.constant", "linalg.yield"})
_SLICE = "tensor.extract_slice"
_DYNAMIC: int = ir.ShapedType.get_dynamic_size()
_BOUNDS = ("offsets", "sizes", "strides")


@dataclass(frozen=True)
class _Slice:
    """For each axis offset, size and stride: numbers, or values."""

    offsets: list[Any]
    sizes: list[Any]
    strides: list[Any]


def slices_to_operands(module: ir.Module) -> None:
    """Move slices above the loops over elements whose results they are of, last loops first."""
    pending = [(generic, 1) for generic in operations_named(module.operation, "linalg.generic")]
    while pending:
        generic, copies = pending.pop()
        if not _is_elementwise(generic):
            continue
        slices = _slices(generic)
        copies *= len(slices)
        if slices and _is_little_work(generic, slices, copies):
            pending.extend((_computed_for(generic, each), copies) for each in slices)
            generic.erase()


def _is_elementwise(generic: ir.Operation) -> bool:
    maps = maps_of(generic)
    if len(generic.results) != 1 or not all(parallel_loops(generic)):
        return False
    if maps[-1] != ir.AffineMap.get_identity(maps[-1].n_dims):
        return False
    block = generic.regions[0].blocks[0]
    names = [operation.operation.name for operation in block.operations][:-1]
    return (
        all(name.partition(".")[0] in _PURE for name in names)
        and all(each.is_projected_permutation for each in maps)
        and not list(block.arguments[len(block.arguments) - 1].uses)
    )


def _slices(generic: ir.Operation) -> list[ir.Operation]:
    """All uses of the result, if they are slices of full rank in the same block."""
    users = [use.owner.operation for use in generic.results[0].uses]
    plain = all(
        user.name == _SLICE
        and user.block == generic.operation.block
        and list(ir.RankedTensorType(user.results[0].type).shape)
        == list(ir.DenseI64ArrayAttr(user.attributes["static_sizes"]))
        for user in users
    )
    return users if plain else []


def _is_little_work(generic: ir.Operation, slices: list[ir.Operation], copies: int) -> bool:
    if len(slices) == 1:
        return True
    shapes = [list(ir.RankedTensorType(each.results[0].type).shape) for each in slices]
    whole = list(ir.RankedTensorType(generic.results[0].type).shape)
    if not any(_DYNAMIC in shape for shape in [whole, *shapes]):
        if sum(map(prod, shapes)) <= prod(whole):
            return True
    names = [each.operation.name for each in generic.regions[0].blocks[0].operations]
    work = [name for name in names if name not in _NO_WORK]
    quick = all(name.startswith("arith.") and name not in QUOTIENTS for name in work)
    return quick and max(len(work), 1) * copies <= MOST_OPERATIONS


def _computed_for(generic: ir.Operation, user: ir.Operation) -> ir.Operation:
    """Compute a slice of the result in the slice's place."""
    bounds, (kind,) = _bounds(user), [result.type for result in user.results]
    with ir.InsertionPoint(user), user.location:
        new = generic.clone()
        with ir.InsertionPoint(new):
            count = len(generic.operands)
            for place, (operand, walked) in enumerate(
                zip(generic.operands, maps_of(generic), strict=True)
            ):
                if place == count - 1:
                    unknown = [size for size in bounds.sizes if not isinstance(size, int)]
                    new.operands[place] = create("tensor.empty", [kind], unknown).result
                elif isinstance(operand.type, ir.RankedTensorType) and walked.results:
                    axes = [ir.AffineDimExpr(each).position for each in walked.results]
                    new.operands[place] = _sliced(operand, bounds, axes)
        new.results[0].set_type(kind)
    user.results[0].replace_all_uses_with(new.results[0])
    user.erase()
    return new.operation


def _bounds(user: ir.Operation) -> _Slice:
    values = list(user.operands)[1:]
    found = []
    for name in _BOUNDS:
        static = list(ir.DenseI64ArrayAttr(user.attributes[f"static_{name}"]))
        found.append([values.pop(0) if number == _DYNAMIC else number for number in static])
    return _Slice(*found)


def _sliced(array: ir.Value, bounds: _Slice, axes: list[int]) -> ir.Value:
    """The slice of an operand that has some of the axes."""
    attributes: dict[str, ir.Attribute] = {}
    operands, segments = [array], [1]
    for name in _BOUNDS:
        own = [getattr(bounds, name)[axis] for axis in axes]
        static = [number if isinstance(number, int) else _DYNAMIC for number in own]
        attributes[f"static_{name}"] = ir.DenseI64ArrayAttr.get(static)
        values = [number for number in own if not isinstance(number, int)]
        operands += values
        segments.append(len(values))
    attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get(segments)
    shape = list(ir.DenseI64ArrayAttr(attributes["static_sizes"]))
    kind = ir.RankedTensorType.get(shape, ir.RankedTensorType(array.type).element_type)
    return create(_SLICE, [kind], operands, attributes).result
