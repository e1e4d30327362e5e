"""Rule for the singular value decomposition."""

from jax.core import min_dim

from diastase_mlir.errors import LoweringError
from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.linear_algebra.arguments import (
    Argument,
    Special,
    larger,
    plus,
    smaller,
    times,
)
from diastase_mlir.lowering.linear_algebra.batch import Batch
from diastase_mlir.lowering.operations import (
    all_of,
    compare_integers,
    index_constant,
    integer_type,
    scalar_constant,
    select,
)
from diastase_mlir.lowering.registry import Equation, lowers
from diastase_mlir.lowering.tensors import Size, element_type, extract, generate, sizes_of

_ROUTINES = {"DEFAULT": "gesdd", "DIVIDE_AND_CONQUER": "gesdd", "QR": "gesvd"}
"""By the name of JAX's algorithm."""


@lowers("svd")
def lower_svd(context: LoweringContext, equation: Equation, operand: ir.Value) -> list[ir.Value]:
    """Descending values; with `compute_uv` also U and the adjoint of V."""
    params, routine = equation.params, _routine(equation)
    batch = Batch(context, equation)
    rows, columns = batch.core
    least = smaller(rows, columns)
    matrix, values = batch.columns(operand), batch.room(least, element=batch.real)
    mode = ("A" if params["full_matrices"] else "S") if params["compute_uv"] else "N"
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


def _routine(equation: Equation) -> str:
    """The routine's name without prefix, if there is one for what the equation asks."""
    algorithm, subset = equation.params["algorithm"], equation.params["subset_by_index"]
    name = "DEFAULT" if algorithm is None else algorithm.name
    if name not in _ROUTINES:
        raise LoweringError(primitive="svd", reason=f"{name} does not exist on the CPU")
    if subset not in (None, (0, min_dim(*equation.avals_in[0].shape[-2:]))):
        raise LoweringError(primitive="svd", reason="subsets are not implemented on the CPU")
    return _ROUTINES[name]


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
