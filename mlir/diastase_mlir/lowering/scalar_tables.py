"""Many scalars of one form (`scalar_forms`), computed by one loop over a table of their columns.

The loop's body is the form, emitted once by the rules of its equations; a column is an array of
constants that the body reads at the loop's position, or a constant where it never changes. So a
program does not grow with the number of its scalars, only its tables do.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from diastase_mlir.emit.loops import Values
from diastase_mlir.emit.operations import integer_constant
from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.moves import element_at, row_at, with_row_at
from diastase_mlir.lowering.regions import counted_loop, on_numbers
from diastase_mlir.lowering.registry import Read, Value
from diastase_mlir.lowering.scalar_forms import Scalar

Column = Callable[[ir.Value], ir.Value]
"""From the loop's counter to a number."""


def insert_scalars(
    context: LoweringContext, scalars: Sequence[Scalar], read: Read, target: ir.Value, first: int
) -> ir.Value:
    """The vector `target` with scalars of one form in it, from position `first` on."""
    rows = [scalar.columns for scalar in scalars]
    columns = [_column(context, numbers) for numbers in zip(*rows, strict=True)]
    # Before the loop, in which a deferred value would be emitted again.
    known = {atom: context.value(read(atom)) for atom in scalars[0].needs}

    def given(atom: Any) -> Value:
        return read(atom) if hasattr(atom, "val") else known[atom]

    def body(counter: ir.Value, carry: Values) -> Values:
        numbers = (column(counter) for column in columns)
        scalar = _emit(context, scalars[0], given, numbers)
        place = on_numbers("add", counter, integer_constant(first))
        return [with_row_at(context, carry[0], scalar, place)]

    return counted_loop(context, len(rows), [target], body)[0]


def _column(context: LoweringContext, numbers: Sequence[Any]) -> Column:
    """The numbers in one place of the form: a table, or a constant where all are the same."""
    values = np.array(numbers)
    if values.tobytes() == values[:1].tobytes() * len(values):
        return lambda _: context.constant(values[0])
    table = context.constant(values)
    return lambda counter: row_at(context, table, counter)


def _emit(
    context: LoweringContext, scalar: Scalar, read: Read, numbers: Iterator[ir.Value]
) -> ir.Value:
    """A scalar by its form, with these numbers in it; the order is that of `Forms`."""
    name = scalar.form[0]
    if name == "number":
        return context.typed(next(numbers), scalar.aval)
    if name == "element":
        root = context.value(read(scalar.atom))
        position = [next(numbers) for _ in scalar.atom.aval.shape]
        return context.typed(element_at(root, position), scalar.aval)
    if name in ("variable", "literal"):
        return context.value(read(scalar.atom))
    operands = [_emit(context, operand, read, numbers) for operand in scalar.operands]
    avals = [operand.aval for operand in scalar.operands], [scalar.aval]
    (result,) = context.lower_one(scalar.equation, operands, avals)
    return context.typed(context.value(result), scalar.aval)
