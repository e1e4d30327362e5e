"""What a rule is, and what rules ask of an operation: its sizes, and its region as a function."""

from collections.abc import Callable, Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import index_binary, to_signless
from diastase_mlir.emit.tensors import Size, as_index
from diastase_mlir.passes.operations import number_in
from diastase_mlir.passes.tensors.scalarize import RULES
from diastase_mlir.passes.tensors.scalarize.conversion import Conversion, scalar_of
from diastase_mlir.passes.tensors.scalarize.regions import uncarried

Rule = Callable[[Any], Sequence[ir.Value] | None]
"""From an operation to values for its results, emitted at its place."""


def numbers(operation: Any, name: str, otherwise: Sequence[int] = ()) -> list[int]:
    """An attribute that is a list of numbers, or what it is taken to be where it is not given."""
    if name not in operation.attributes:
        return list(otherwise)
    return list(ir.DenseI64ArrayAttr(operation.attributes[name]))


def by_axis(
    operation: Any, names: Sequence[str], vectors: Sequence[ir.Value], rank: int
) -> list[Sequence[Size]]:
    """Numbers for each axis: attributes, or vectors where they are known at run time only."""
    if vectors:
        return [[number_in(vector, axis) for axis in range(rank)] for vector in vectors]
    return [numbers(operation, name) for name in names]


def is_of_one_type(operation: Any) -> bool:
    """Whether operands and results have the same elements."""
    values = (*operation.operands, *operation.results)
    return len({value.type.element_type for value in values}) == 1


def signless_operands(operation: Any) -> list[ir.Value]:
    """The operands, their integers read as signless ones."""
    return [to_signless(operand) for operand in operation.operands]


def sizes_known(operation: Any) -> list[int | None]:
    """The sizes of the result, as far as its type knows them."""
    kind = operation.results[0].type
    return [
        None if kind.is_dynamic_dim(axis) else kind.get_dim_size(axis) for axis in range(kind.rank)
    ]


def sizes_given(operation: Any, shape: ir.Value) -> list[Size]:
    """The sizes of the result; those that its type does not know are in a vector of sizes."""
    return [
        number_in(shape, axis) if size is None else size
        for axis, size in enumerate(sizes_known(operation))
    ]


def minus(left: Size, right: Size) -> Size:
    """A difference of sizes."""
    if isinstance(left, int) and isinstance(right, int):
        return left - right
    return left if right == 0 else index_binary("subi", as_index(left), as_index(right))


def quotient(name: str, left: Size, right: Size) -> Size:
    """`divsi` of what is not negative, `floordivsi`, or `ceildivsi`."""
    if right == 1:
        return left
    if isinstance(left, int) and isinstance(right, int):
        return -(-left // right) if name == "ceildivsi" else left // right
    return index_binary(name, as_index(left), as_index(right))


Function = Callable[..., list[ir.Value]]
"""Scalars in, scalars out; integers are signless."""


def function_of(region: Any) -> Function:
    """A region of one block, whose arguments and results are numbers, as what emits its body.

    What `scalarize` has no rule for stays as it is, on arrays of rank 0.
    """
    (block,) = region.blocks

    def emit(*scalars: ir.Value) -> list[ir.Value]:
        conversion = Conversion(RULES)
        for argument, scalar in zip(block.arguments, scalars, strict=True):
            conversion.define(argument, uncarried(scalar, argument.type))
        *operations, last = list(block.operations)
        for view in operations:
            operation = view.operation
            copy = operation.clone()
            conversion.operations([copy])
            for own, result in zip(operation.results, copy.results, strict=True):
                conversion.define(own, conversion.value(result))
        results = [conversion.value(value) for value in last.operands]
        emitted = [_scalar(value) for value in results]
        conversion.erase()
        return emitted

    return emit


def _scalar(value: Any) -> ir.Value:
    return scalar_of(to_signless(value) if isinstance(value, ir.Value) else value)
