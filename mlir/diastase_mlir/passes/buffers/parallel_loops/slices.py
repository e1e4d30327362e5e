"""An operation on a part of its iterations, with the values of another function."""

from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import arith, ir
from diastase_mlir.bindings.operations import operations_named
from diastase_mlir.passes.buffers.parallel_loops.choose import Cut
from diastase_mlir.passes.buffers.parallel_loops.emit import index, size_of_axis, slice_of
from diastase_mlir.passes.buffers.parallel_loops.partial_results import result_of, run_parts

_CONSTANT = "arith.constant"


def emit_part(
    cut: Cut,
    outside: Sequence[ir.Value],
    inside: Sequence[ir.Value],
    first: ir.Value,
    last: ir.Value,
) -> None:
    """Emit what a function does between its bounds, on its own values."""
    values = dict(zip(outside, inside, strict=True))
    if cut.combines is None:
        _slice(cut, values, first, arith.subi(last, first))
        return

    def run(start: ir.Value, count: ir.Value, result: ir.Value) -> None:
        _slice(cut, {**values, result_of(cut): result}, start, count)

    run_parts(cut, inside[-3:], (first, last), run)


def _slice(cut: Cut, values: dict[ir.Value, ir.Value], first: ir.Value, count: ir.Value) -> None:
    """Emit the operation on `count` iterations of its loop from `first`."""
    copy = _copy(cut.operation, values)
    with ir.InsertionPoint(copy):
        for position, operand in enumerate(cut.operands):
            if operand is not None and cut.loop in operand.axes:
                axis = operand.axes.index(cut.loop)
                copy.operands[position] = slice_of(values[operand.array], axis, first, count)
    _shift_index(copy, cut.loop, first)


def _copy(operation: ir.Operation, values: dict[ir.Value, ir.Value]) -> ir.Operation:
    """The operation at the insertion point, on other values, with constants of its own."""
    copy = operation.operation.clone()
    constants: dict[ir.Value, ir.Value] = {}

    def replace(nested: ir.Operation) -> ir.WalkResult:
        for position, value in enumerate(nested.operands):
            if value in values:
                nested.operands[position] = values[value]
            elif _is_outside_constant(value, copy):
                if value not in constants:
                    owner: Any = value.owner
                    constants[value] = owner.operation.clone(ir.InsertionPoint(copy)).results[0]
                nested.operands[position] = constants[value]
        return ir.WalkResult.ADVANCE

    copy.walk(replace)
    return copy


def used_values(operation: ir.Operation) -> list[ir.Value]:
    """Values from outside that an operation uses, without constants."""
    captured: dict[ir.Value, None] = {}

    def collect(nested: ir.Operation) -> ir.WalkResult:
        for value in nested.operands:
            if not _is_inside(value, operation) and not _is_outside_constant(value, operation):
                captured[value] = None
        return ir.WalkResult.ADVANCE

    operation.walk(collect)
    return list(captured)


def _is_outside_constant(value: ir.Value, operation: ir.Operation) -> bool:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != _CONSTANT:
        return False
    return not _is_inside(value, operation)


def _is_inside(value: ir.Value, operation: ir.Operation) -> bool:
    """Whether a value is made in a region of the operation."""
    owner = value.owner
    around = owner.owner if isinstance(owner, ir.Block) else owner.operation.parent
    while around is not None:
        if around.operation == operation.operation:
            return True
        around = around.operation.parent
    return False


def _shift_index(operation: ir.Operation, loop: int, first: ir.Value) -> None:
    """What the body takes for the number of the iteration counts from the start of the whole."""
    found = [
        nested
        for nested in operations_named(operation, "linalg.index")
        if ir.IntegerAttr(nested.attributes["dim"]).value == loop
    ]
    for number in found:
        uses = [(use.owner.operation, use.operand_number) for use in number.results[0].uses]
        with ir.InsertionPoint.after(number), number.location:
            shifted = arith.addi(number.results[0], first)
        for owner, position in uses:
            owner.operands[position] = shifted


def loop_size(cut: Cut, loop: int) -> ir.Value:
    """How often a loop of the operation runs."""
    if cut.sizes[loop] >= 0:
        return index(cut.sizes[loop])
    for operand in cut.operands:
        if operand is not None and loop in operand.axes:
            return size_of_axis(operand.array, operand.axes.index(loop))
    return index(1)
