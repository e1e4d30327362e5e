"""Rules for eigenvalues and eigenvectors: of Hermitian matrices (`eigh`) and of any (`eig`)."""

from diastase_mlir.bindings import ir
from diastase_mlir.emit.buffers import as_tensor
from diastase_mlir.emit.loops import for_range
from diastase_mlir.emit.operations import (
    binary,
    compare_floats,
    create,
    flag_constant,
    index_binary,
    index_constant,
    integer_type,
    scalar_constant,
    select,
)
from diastase_mlir.emit.tensors import (
    Size,
    as_index,
    extract,
    generate,
    plus,
    product,
    sizes_of,
    times,
)
from diastase_mlir.passes.runtime.linear_algebra.arguments import (
    Array,
    Special,
    bytes_of,
    pointer,
    pointer_into,
)
from diastase_mlir.passes.runtime.linear_algebra.batch import Batch
from diastase_mlir.passes.tensors.arrays_to_loops.rules import SCOPE


def eigh(batch: Batch, operand: ir.Value) -> list[ir.Value]:
    """Vectors and ascending values, by divide and conquer."""
    size, _ = batch.core
    matrix, values = batch.columns(operand), batch.room(size, element=batch.real)
    quadratic, integers = _polynomial(size, 1, 5, 2), _polynomial(size, 3, 5, 0)
    # The least that LAPACK's documentation asks for, as JAX has it.
    if batch.is_complex:
        lengths = [(_polynomial(size, 0, 2, 1), batch.element), (quadratic, batch.real)]
    else:
        lengths = [(_polynomial(size, 1, 6, 2), batch.real)]
    workspaces = [
        argument
        for length, element in (*lengths, (integers, integer_type(32)))
        for argument in (batch.scratch(length, element), length)
    ]
    letters = "V", "L" if batch.option("lower") else "U"
    arguments = (*letters, size, matrix, size, values, *workspaces, Special.INFO)
    batch.call("syevd", *arguments, unless_empty=[size])
    failed = batch.failed()
    return [batch.matrix(matrix, failed), batch.vector(values, failed)]


def _polynomial(size: Size, constant: int, linear: int, quadratic: int) -> Size:
    """A workspace's size as LAPACK's documentation gives it."""
    return plus(constant, times(size, plus(linear, times(quadratic, size))))


def eig(batch: Batch, operand: ir.Value) -> list[ir.Value]:
    """Values, then left and right vectors as asked for; all of them complex."""
    size, _ = batch.core
    matrix = batch.columns(operand)
    values = [batch.room(size) for _ in range(1 if batch.is_complex else 2)]
    wanted = [batch.option(f"compute_{side}_eigenvectors") for side in ("left", "right")]
    vectors = [batch.room(size, size) if want else batch.scratch(1) for want in wanted]
    letters = ["V" if want else "N" for want in wanted]
    more = [batch.scratch(times(2, size), batch.real)] if batch.is_complex else []
    places = [argument for array in vectors for argument in (array, size)]
    arguments = (*letters, size, matrix, size, *values, *places)
    batch.call(
        "geev",
        *(*arguments, Special.WORK, Special.LWORK, *more, Special.INFO),
        unless_empty=[size],
        guard=lambda number: _is_finite(batch, matrix, number),
    )
    failed = batch.failed()
    if batch.is_complex:
        kept = [array for array, want in zip(vectors, wanted, strict=True) if want]
        return [batch.vector(values[0], failed), *(batch.matrix(v, failed) for v in kept)]
    parts = [as_tensor(array.buffer) for array in values]
    results = [_paired(batch, parts, failed)]
    for array, want in zip(vectors, wanted, strict=True):
        if want:
            results.append(_unpacked(batch, array, parts[1], failed))
    return results


def _is_finite(batch: Batch, matrix: Array, number: Size) -> ir.Value:
    """Whether all of a matrix is finite; LAPACK may not return from `geev` otherwise."""
    numbers = times(product(batch.core), 2 if batch.is_complex else 1)
    infinity = scalar_constant(batch.real, float("inf"))
    start = create("llvm.ptrtoint", [integer_type(64)], [pointer_into(matrix, number)]).result
    first = create("arith.index_cast", [index_constant(0).type], [start]).result

    def examine(position: ir.Value, carry: list[ir.Value]) -> list[ir.Value]:
        distance = index_binary("muli", position, index_constant(bytes_of(batch.real)))
        place = pointer(index_binary("addi", first, distance))
        value = create("llvm.load", [batch.real], [place]).result
        size = create("math.absf", [batch.real], [value]).result
        return [binary("arith.andi", carry[0], compare_floats("olt", size, infinity))]

    return for_range(SCOPE, (0, numbers, 1), [flag_constant(True)], examine)[0]


def _complex(batch: Batch, real: ir.Value, imaginary: ir.Value) -> ir.Value:
    kind = ir.ComplexType.get(batch.real)
    return create("complex.create", [kind], [real, imaginary]).result


def _paired(batch: Batch, parts: list[ir.Value], failed: ir.Value) -> ir.Value:
    """Complex values from their parts."""

    def at(position: list[ir.Value]) -> ir.Value:
        value = _complex(batch, *(extract(part, position) for part in parts))
        return batch.nan_where(failed, position, value)

    return generate(sizes_of(parts[0]), ir.ComplexType.get(batch.real), at)


def _unpacked(batch: Batch, array: Array, imaginary: ir.Value, failed: ir.Value) -> ir.Value:
    """Complex vectors from LAPACK's real ones.

    Those of a conjugate pair of values (the one with the positive imaginary part first) are
    `re + i im` and `re - i im`, where `re` and `im` stand in the places of the two.
    """
    packed = as_tensor(array.buffer)
    *sizes, columns, rows = sizes_of(packed)
    zero, one = scalar_constant(batch.real, 0), index_constant(1)
    last = index_binary("subi", as_index(columns), one)

    def at(position: list[ir.Value]) -> ir.Value:
        *leading, row, column = position
        part = extract(imaginary, [*leading, column])
        is_first, is_second = compare_floats("ogt", part, zero), compare_floats("olt", part, zero)
        # Inside the array also where a failed routine has left anything in `imaginary`.
        after = index_binary("minsi", index_binary("addi", column, one), last)
        before = index_binary("maxsi", index_binary("subi", column, one), index_constant(0))
        re = extract(packed, [*leading, select(is_second, before, column), row])
        im = extract(packed, [*leading, select(is_first, after, column), row])
        negative = create("arith.negf", [batch.real], [im]).result
        im = select(is_first, im, select(is_second, negative, zero))
        return batch.nan_where(failed, position, _complex(batch, re, im))

    return generate([*sizes, rows, columns], ir.ComplexType.get(batch.real), at)
