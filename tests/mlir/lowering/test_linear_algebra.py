"""Every primitive of linear algebra, natively: the results of plain JAX, bit by bit.

JAX calls the same LAPACK, so with equal operands nothing may differ. A program has its primitive
twice, for a matrix alone and for a batch of two axes; it is compiled once, and run on matrices of
several sizes. Batches of one axis, static sizes and the other two dtypes are tested further below,
with matrices that make routines fail.
"""

import ctypes
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.lax.linalg import geqp3, geqrf  # noqa: TID251 (whole QR hides them elsewhere)
from jax.lax import linalg
from scipy.linalg import cython_blas

from diastase import qjit
from diastase_mlir import CompileOptions, compile_module
from diastase_mlir.errors import LoweringError
from diastase_runtime.abi import Import
from diastase_runtime.errors import NegativeSizeError

DTYPES = ("float32", "complex128")
BATCHES = ((), (3, 2))
SIZES = (0, 1, 3, 17)
SHAPES = (
    (0, 0),
    (0, 3),
    (3, 0),
    (1, 1),
    (1, 2),
    (2, 1),
    (2, 3),
    (3, 2),
    (8, 8),
    (40, 42),
    (42, 40),
)


def random(shape, dtype, seed=7):
    generator = np.random.default_rng([seed, *shape])
    values = generator.normal(size=shape) + 1j * generator.normal(size=shape)
    return (values if np.dtype(dtype).kind == "c" else values.real).astype(dtype)


def of_size(rows, columns, dtype):
    """A matrix of these sizes, alone and in batches."""
    return [random((*batch, rows, columns), dtype) for batch in BATCHES]


def definite(size, dtype):
    matrices = of_size(size, size, dtype)
    return [(a @ a.swapaxes(-1, -2).conj() + np.eye(size)).astype(dtype) for a in matrices]


def assert_identical(found, expected):
    expected = [np.asarray(value) for value in jax.tree.leaves(expected)]
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_array_equal(one, other)


def one_by_one(function, operands):
    """A function of matrices on a batch of them: JAX then compiles for few shapes only."""
    flat = [operand.reshape(6, *operand.shape[2:]) for operand in operands]
    results = [
        jax.tree.leaves(function(*map(jnp.asarray, each))) for each in zip(*flat, strict=True)
    ]
    return [
        np.stack(together).reshape(*BATCHES[1], *together[0].shape)
        for together in zip(*results, strict=True)
    ]


@pytest.fixture
def check(compare_dynamic):
    """`check(function, shapes, dtype, operand_lists)`: identical to JAX, and no host callback.

    `shapes` are those of the function's operands without batch; each list has the operands of one
    call, each of them alone and in batches.
    """

    def run(function, shapes, dtypes, operand_lists):
        axes = ("", "c, d, ")
        specs = [
            (dtype, leading + shape)
            for leading in axes
            for shape, dtype in zip(shapes, dtypes, strict=True)
        ]

        def program(*operands):
            count = len(shapes)
            return [function(*operands[k : k + count]) for k in range(0, len(operands), count)]

        compiled = compare_dynamic(program, specs, [])
        assert not compiled.lowered.callbacks
        by_xla = jax.jit(function)  # of a whole: XLA compiles once for each shape
        for operands in operand_lists:
            alone, batch = zip(*operands, strict=True)
            expected = jax.tree.leaves(by_xla(*map(jnp.asarray, alone)))
            assert_identical(compiled(*alone, *batch), [*expected, *one_by_one(by_xla, batch)])
        return compiled

    return run


SQUARE = {
    "lu": linalg.lu,
    "eigh": lambda a: linalg.eigh(a, symmetrize_input=False),
    "eigh_upper": lambda a: linalg.eigh(a, lower=False, symmetrize_input=False),
    "eig": linalg.eig,
    "eigenvalues": lambda a: linalg.eig(
        a, compute_left_eigenvectors=False, compute_right_eigenvectors=False
    ),
    "left_eigenvectors": lambda a: linalg.eig(a, compute_right_eigenvectors=False),
    "schur": linalg.schur,
    "schur_form": lambda a: linalg.schur(a, compute_schur_vectors=False),
    "householder_product": lambda a: linalg.householder_product(*geqrf(a)),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SQUARE)
def test_square_matrices(check, name, dtype):
    calls = [[of_size(size, size, dtype)] for size in SIZES]
    check(SQUARE[name], ["n, n"], [dtype], calls)


@pytest.mark.parametrize("dtype", DTYPES)
def test_cholesky(check, dtype):
    calls = [[definite(size, dtype)] for size in SIZES]
    check(linalg.cholesky_p.bind, ["n, n"], [dtype], calls)


NOT_EMPTY = {
    "hessenberg": linalg.hessenberg,
    "tridiagonal": lambda a: linalg.tridiagonal(a, lower=True),
    "tridiagonal_upper": lambda a: linalg.tridiagonal(a, lower=False),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NOT_EMPTY)
def test_reductions_of_matrices_that_must_not_be_empty(check, name, dtype):
    compiled = check(
        NOT_EMPTY[name], ["n, n"], [dtype], [[of_size(size, size, dtype)] for size in SIZES[1:]]
    )
    with pytest.raises(NegativeSizeError, match="-1"):
        compiled(*of_size(0, 0, dtype))


ANY_SHAPE = {
    "lu": linalg.lu,
    "geqrf": geqrf,
    "geqp3": lambda a: geqp3(a, jnp.zeros((*a.shape[:-2], a.shape[-1]), "int32")),
    "qr": linalg.qr,
    "qr_reduced": lambda a: linalg.qr(a, full_matrices=False),
    "qr_pivoting": lambda a: linalg.qr(a, pivoting=True),
    "qr_pivoting_reduced": lambda a: linalg.qr(a, pivoting=True, full_matrices=False),
    "svd": linalg.svd,
    "svd_reduced": lambda a: linalg.svd(a, full_matrices=False),
    "svd_values": lambda a: linalg.svd(a, compute_uv=False),
    "svd_by_qr": lambda a: linalg.svd(a, algorithm=linalg.SvdAlgorithm.QR),
}


@pytest.mark.sample(5)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ANY_SHAPE)
def test_matrices_of_any_shape(check, name, dtype):
    # Plain JAX dies (floating point exception) of `geqp3` on an empty matrix.
    shapes = [shape for shape in SHAPES if name != "geqp3" or 0 not in shape]
    calls = [[of_size(*shape, dtype)] for shape in shapes]
    compiled = check(ANY_SHAPE[name], ["m, n"], [dtype], calls)
    if name == "geqp3":
        for shape in ((0, 3), (3, 0)):
            found = compiled(*of_size(*shape, dtype))
            assert [result.shape for result in found[:3]] == [shape, shape[1:], (0,)]


@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left_side", [False, True])
def test_triangular_solve(check, left_side, dtype):
    def solve(a, b):
        return [
            linalg.triangular_solve(
                a,
                b,
                left_side=left_side,
                lower=lower,
                transpose_a=transpose,
                conjugate_a=conjugate,
                unit_diagonal=unit,
            )
            for lower, transpose, conjugate, unit in (
                (False, False, False, False),
                (True, False, True, False),
                (False, True, False, True),
                (True, True, True, False),
            )
        ]

    calls = []
    for size in SIZES:
        for columns in (0, 4):
            shape = (size, columns) if left_side else (columns, size)
            left = [a + 9 * np.eye(size, dtype=dtype) for a in of_size(size, size, dtype)]
            calls.append([left, of_size(*shape, dtype)])
    check(solve, ["n, n", "n, k" if left_side else "k, n"], [dtype] * 2, calls)


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left", [False, True])
def test_multiplication_by_reflectors(check, left, dtype):
    def multiply(a, c):
        return [linalg.ormqr(*geqrf(a), c, left=left, transpose=t) for t in (False, True)]

    calls = []
    for rows, columns in SHAPES:
        shape = (rows, 4) if left else (4, rows)
        calls.append([of_size(rows, columns, dtype), of_size(*shape, dtype)])
    check(multiply, ["m, n", "m, k" if left else "k, m"], [dtype] * 2, calls)


@pytest.mark.parametrize("dtype", DTYPES)
def test_tridiagonal_solve(check, dtype):
    calls = []
    for size in SIZES:
        diagonals = [[random((*b, size), dtype, seed) for b in BATCHES] for seed in range(3)]
        calls.append([*diagonals, of_size(size, 3, dtype)])
    check(linalg.tridiagonal_solve, ["n", "n", "n", "n, k"], [dtype] * 4, calls)


def test_pivots_to_permutation(check):
    def permutation(pivots, a):
        return linalg.lu_pivots_to_permutation(pivots, a.shape[-1])

    calls = []
    for size in SIZES:
        pivots = np.array([min(k * 5 // 3, size - 1) for k in range(size)], "int32")
        together = [np.broadcast_to(pivots, (*batch, size)).copy() for batch in BATCHES]
        calls.append([together, of_size(1, size + 0, "float32")])
    check(permutation, ["n", "k, n"], ["int32", "float32"], calls)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cholesky_update(compare_dynamic, assert_same, dtype):
    compiled = compare_dynamic(linalg.cholesky_update, [(dtype, "n, n"), (dtype, "n")], [])
    assert not compiled.lowered.callbacks
    for size in SIZES:
        factor = np.linalg.cholesky(definite(size, dtype)[0]).T.copy()
        for vector in (random((size,), dtype), np.zeros(size, dtype)):
            expected = linalg.cholesky_update(jnp.asarray(factor), jnp.asarray(vector))
            assert_same(compiled(factor, vector)[0], expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_symmetric_product(compare_dynamic, dtype):
    calls = [[random((n, k), dtype), random((n, n), dtype)] for n in SIZES for k in (0, 1, 5)]
    compiled = compare_dynamic(
        lambda a, c: linalg.symmetric_product(a, c, alpha=2.0, beta=-1.0),
        [(dtype, "n, k"), (dtype, "n, n")],
        calls,
    )
    assert not compiled.lowered.callbacks


def hostile(value):
    """Matrices of a batch of which some make routines fail."""
    good = random((3, 3), "float64")
    bad = good.copy()
    bad[1, 1] = value
    singular = np.array([[1.0, 2, 3], [2, 4, 6], [0, 0, 0]])
    return np.stack([good, bad, singular, -good @ good.T, np.zeros((3, 3)), bad.T])


FALLIBLE = {
    **SQUARE,
    **{name: ANY_SHAPE[name] for name in ("qr", "qr_pivoting", "svd", "svd_by_qr")},
    **NOT_EMPTY,
    "cholesky": linalg.cholesky_p.bind,
    "triangular": lambda a: linalg.triangular_solve(a, a, left_side=True),
    "tridiagonal_solve": lambda a: linalg.tridiagonal_solve(a[:, 0], a[:, 1], a[:, 2], a),
}


@pytest.mark.sample(7)
@pytest.mark.parametrize("dtype", ["float64", "complex64"])
@pytest.mark.parametrize("name", FALLIBLE)
def test_singular_indefinite_and_not_finite(compile_function, name, dtype):
    """Where a routine fails, NaN, in that matrix of the batch only."""
    matrices = [hostile(value).astype(dtype) for value in (np.nan, np.inf, -np.inf, 1e30)]
    compiled = compile_function(FALLIBLE[name], matrices[0])
    for operand in matrices:
        assert_identical(compiled(operand), FALLIBLE[name](jnp.asarray(operand)))


REFUSED = {
    "eigh": lambda a: linalg.eigh(a, subset_by_index=(0, 2)),
    "eigh_jacobi": lambda a: linalg.eigh(a, implementation=linalg.EighImplementation.JACOBI),
    "svd": lambda a: linalg.svd(a, algorithm=linalg.SvdAlgorithm.POLAR),
    "svd_subset": lambda a: linalg.svd(a, full_matrices=False, subset_by_index=(0, 2)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_jax_refuses_is_refused_while_compiling(compile_function, name):
    operand = random((3, 3), "float64")
    with pytest.raises(NotImplementedError):
        REFUSED[name](jnp.asarray(operand))
    with pytest.raises(LoweringError):
        compile_function(REFUSED[name], operand)


def test_perturbed_systems_are_solved_by_jax(compare):
    """XLA's own algorithm, not LAPACK's."""
    diagonals = [random((5,), "float64", seed) for seed in range(3)]
    compiled = compare(
        lambda *operands: linalg.tridiagonal_solve(*operands, perturb_singular=True),
        *diagonals,
        random((5, 2), "float64"),
    )
    assert len(compiled.lowered.callbacks) == 1


def test_small_problems_run_on_one_thread(compile_function):
    """And OpenBLAS is told afterwards what it was told before."""
    library = ctypes.CDLL(cython_blas.__file__)
    get, tell = (library[f"scipy_openblas_{verb}_num_threads"] for verb in ("get", "set"))
    before, alone = get(), Import("threads", "blas_begin")

    def imports(function, size):
        lowered = compile_function(function, np.eye(size)).lowered
        return compile_module(lowered, CompileOptions()).artifact.imports

    def decomposed(x):
        return (*linalg.eigh(x), linalg.cholesky(x))

    assert alone in imports(decomposed, 60)
    assert alone not in imports(decomposed, 300)
    of_any_size = qjit(decomposed, abstracted_axes={0: "n", 1: "n"})
    try:
        tell(2)
        for size in (1, 2, 60, 300):
            matrix = np.diag(np.arange(1.0, size + 1))
            np.testing.assert_allclose(of_any_size(matrix)[2], np.sqrt(matrix), atol=1e-12)
            assert get() == 2
    finally:
        tell(before)


def test_it_is_custom_calls_in_what_lowering_gives():
    """One for each primitive; the memory for LAPACK is a pass's affair."""

    def program(x):
        values, vectors = jnp.linalg.eigh(x)
        return values, jnp.linalg.qr(vectors), jnp.linalg.svd(x)

    text = qjit(program).lower(np.eye(3)).as_text(generic=True)
    assert {*re.findall(r'"(\w+)\.[\w.]+"\(', text)} <= {"builtin", "func", "stablehlo", "chlo"}
    calls = re.findall(r'call_target_name = "diastase.linear_algebra.(\w+)"', text)
    assert calls == ["eigh", "qr", "svd"]
