"""Rule for the singular value decomposition."""

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import (
    all_of,
    compare_integers,
    index_constant,
    integer_type,
    scalar_constant,
    select,
)
from diastase_mlir.emit.tensors import (
    Size,
    element_type,
    extract,
    generate,
    larger,
    plus,
    sizes_of,
    smaller,
    times,
)
from diastase_mlir.passes.runtime.linear_algebra.arguments import Argument, Special
from diastase_mlir.passes.runtime.linear_algebra.batch import Batch


def svd(batch: Batch, operand: ir.Value) -> list[ir.Value]:
    """Descending values; with `compute_uv` also U and the adjoint of V."""
    routine = batch.option("routine")
    rows, columns = batch.core
    least = smaller(rows, columns)
    matrix, values = batch.columns(operand), batch.room(least, element=batch.real)
    mode = ("A" if batch.option("full_matrices") else "S") if batch.option("compute_uv") else "N"
    width, height = (rows, columns) if mode == "A" else (least, least)
    if mode == "N":
        left = right = batch.scratch(1)
        height = columns  # a leading dimension must be positive, though nothing is stored
    else:
        left, right = batch.room(width, rows), batch.room(columns, height)
    letters = [mode] if routine == "gesdd" else [mode, mode]
    arguments: list[Argument] = [*letters, rows, columns, matrix, rows, values]
    arguments += [left, rows, right, height, Special.WORK, Special.LWORK]
    if batch.is_complex:
        arguments.append(batch.scratch(_real_workspace(routine, mode, batch.core), batch.real))
    if routine == "gesdd":
        arguments.append(batch.scratch(times(8, least), integer_type(32)))
    batch.call(routine, *arguments, Special.INFO, unless_empty=[rows, columns])
    failed = batch.failed()
    results = [batch.vector(values, failed)]
    if mode != "N":
        results += [batch.matrix(array, failed) for array in (left, right)]
    if mode == "A":
        results[1:] = [_identity_if_empty(result, batch.core) for result in results[1:]]
    return results


def _real_workspace(routine: str, mode: str, sizes: list[Size]) -> Size:
    """As LAPACK's documentation gives it."""
    least, most = smaller(*sizes), larger(*sizes)
    if routine == "gesvd":
        return times(5, least)
    if mode == "N":
        return times(7, least)
    square = times(least, plus(times(5, least), 5))
    oblong = times(least, plus(plus(times(2, most), times(2, least)), 1))
    return larger(square, oblong)


def _identity_if_empty(tensor: ir.Value, sizes: list[Size]) -> ir.Value:
    """What JAX has for the vectors of a matrix without elements."""
    if all(isinstance(size, int) and size > 0 for size in sizes):
        return tensor
    element = element_type(tensor)
    zero, one = scalar_constant(element, 0), scalar_constant(element, 1)
    present = [
        compare_integers("sgt", index_constant(size) if isinstance(size, int) else size, none)
        for none in [index_constant(0)]
        for size in sizes
    ]
    has_elements = all_of(present)

    def at(position: list[ir.Value]) -> ir.Value:
        on_diagonal = compare_integers("eq", position[-2], position[-1])
        identity = select(on_diagonal, one, zero)
        return select(has_elements, extract(tensor, position), identity)

    return generate(sizes_of(tensor), element, at)
