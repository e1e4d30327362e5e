"""Rules for eigenvalues and what is computed on the way to them, and for singular values.

`eigh` of Hermitian matrices, `eig` of any, the Schur and Hessenberg forms, the reduction to
tridiagonal form, `svd`. In: a batch and its operand, as arrays. Out: JAX's results; NaN where a
routine fails (`batch`).
"""

from diastase_mlir.bindings import ir
from diastase_mlir.emit.buffers import as_tensor
from diastase_mlir.emit.loops import for_range
from diastase_mlir.emit.operations import (
    all_of,
    binary,
    compare_floats,
    compare_integers,
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
    element_type,
    extract,
    generate,
    larger,
    plus,
    product,
    sizes_of,
    smaller,
    times,
)
from diastase_mlir.passes.memory import bytes_of, load, to_pointer, word_type
from diastase_mlir.passes.operations import SCOPE, to_index
from diastase_mlir.passes.runtime.linear_algebra.arguments import (
    WORKSPACE,
    Argument,
    Array,
    Special,
    pointer_into,
)
from diastase_mlir.passes.runtime.linear_algebra.batch import Batch, one_less


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
    arguments = (*letters, size, matrix, size, values, *workspaces)
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
        *(*arguments, *WORKSPACE, *more),
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
    start = create("llvm.ptrtoint", [word_type()], [pointer_into(matrix, number)]).result
    first = to_index(start)

    def examine(position: ir.Value, carry: list[ir.Value]) -> list[ir.Value]:
        distance = index_binary("muli", position, index_constant(bytes_of(batch.real)))
        value = load(batch.real, to_pointer(index_binary("addi", first, distance)))
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


def schur(batch: Batch, operand: ir.Value) -> list[ir.Value]:
    """The (quasi-)triangular form, and the vectors if they are asked for."""
    size, _ = batch.core
    has_vectors = batch.option("compute_schur_vectors")
    matrix = batch.columns(operand)
    vectors = batch.room(size, size) if has_vectors else batch.scratch(1)
    values = [batch.scratch(size) for _ in range(1 if batch.is_complex else 2)]
    more = [batch.scratch(size, batch.real)] if batch.is_complex else []
    integer = integer_type(32)
    selected, flags = batch.scratch(1, integer), batch.scratch(size, integer)
    arguments = ("V" if has_vectors else "N", "N", Special.NULL, size, matrix, size, selected)
    arguments = (*arguments, *values, vectors, size, *WORKSPACE, *more, flags)
    batch.call("gees", *arguments, unless_empty=[size])
    failed = batch.failed()
    arrays = [matrix, vectors] if has_vectors else [matrix]
    return [batch.matrix(array, failed) for array in arrays]


def hessenberg(batch: Batch, operand: ir.Value) -> list[ir.Value]:
    """The form above, the reflectors below the first subdiagonal; and their factors."""
    size, _ = batch.core
    matrix, factors = batch.columns(operand), batch.room(one_less(batch, size))
    arguments = (size, 1, size, matrix, size, factors, *WORKSPACE)
    batch.call("gehrd", *arguments, unless_empty=[size])
    failed = batch.failed()
    return [batch.matrix(matrix, failed), batch.vector(factors, failed)]


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
    arguments += [left, rows, right, height, *WORKSPACE]
    if batch.is_complex:
        arguments.append(batch.scratch(_real_workspace(routine, mode, batch.core), batch.real))
    if routine == "gesdd":
        arguments.append(batch.scratch(times(8, least), integer_type(32)))
    batch.call(routine, *arguments, unless_empty=[rows, columns])
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


def tridiagonal(batch: Batch, operand: ir.Value) -> list[ir.Value]:
    """The reflectors, diagonal and off-diagonal, and the factors of the reflectors."""
    size, _ = batch.core
    matrix, length = batch.columns(operand), one_less(batch, size)
    diagonal, beside = batch.room(size, element=batch.real), batch.room(length, element=batch.real)
    factors = batch.room(length)
    letter = "L" if batch.option("lower") else "U"
    arguments = (letter, size, matrix, size, diagonal, beside, factors)
    arguments = (*arguments, *WORKSPACE)
    batch.call("sytrd", *arguments, unless_empty=[size])
    failed = batch.failed()
    vectors = [batch.vector(array, failed) for array in (diagonal, beside, factors)]
    return [batch.matrix(matrix, failed), *vectors]
