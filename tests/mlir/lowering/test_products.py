"""Contractions: which of them become calls of BLAS, and that all of them are JAX's."""

import ctypes
import itertools
import re
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jax import lax
from scipy.linalg import cython_blas

from diastase import qjit
from diastase_mlir import CompileOptions, compile_module
from diastase_mlir.driver.compilation import stage_text
from diastase_mlir.passes.buffers import matmul_to_blas
from diastase_runtime.abi import Import

FEW = settings(
    max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
SIZES = dict(zip("abcdxyz", (3, 4, 5, 6, 7, 2, 9), strict=True))

MATRICES = ("ab,bc->ac", "ba,bc->ac", "ab,cb->ac", "ba,cb->ac", "ab,bc->ca")
VECTORS = ("ab,b->a", "b,bc->c", "b,cb->c", "ba,b->a", "a,a->")
BATCHES = (
    "zab,zbc->zac",
    "azb,bzc->zac",
    "abz,zbc->zac",
    "yaxd,ybxd->yxab",
    "yxab,ybxd->yaxd",
    "zi,zi->z".replace("i", "d"),
    "abz,bcz->zac",
    "ab,zb->za",
)
SEVERAL = ("abc,cbd->ad", "abc,bcd->ad", "abc,cd->abd", "acb,cd->abd", "abcd,dbxy->acxy")
OTHERS = ("a,b->ab", "azb,cbz->zbac", "zab,zbc,cd->zad", "abb,bc->ac", "ab,ac->a")
EINSUMS = (*MATRICES, *VECTORS, *BATCHES, *SEVERAL, *OTHERS)


def numbers(dtype, *shape, scale=1):
    random = np.random.default_rng(shape)
    values = random.integers(-9, 9, shape) * scale
    if "complex" in dtype:
        values = values + 1j * random.integers(-3, 3, shape)
    return values.astype(jnp.dtype(dtype))


def operands_of(formula, dtype, scale=1):
    terms = formula.split("->")[0].split(",")
    return [numbers(dtype, *(scale * SIZES[label] for label in term)) for term in terms]


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "complex64", "complex128", "uint8", "bfloat16"]
)
def test_every_form_of_every_type(compare_native, dtype):
    cases = [(formula, operands_of(formula, dtype)) for formula in EINSUMS]

    def function(*arrays):
        rest = iter(arrays)
        return [jnp.einsum(formula, *[next(rest) for _ in own]) for formula, own in cases]

    compare_native(function, *[array for _, own in cases for array in own])


@pytest.mark.thorough
def test_every_form_of_unknown_sizes(compare_native_dynamic):
    def function(x, y):
        n = x.shape[0]
        square, cube = y @ y.T, x[:, None, None] * y[None, :, :3]
        return (
            square,
            y.T @ y,
            x @ y,
            y.T @ x,
            x @ x,
            square @ square,
            square @ x,
            square.T @ square.T,
            jnp.einsum("abc,dbc->ad", cube, cube),
            jnp.einsum("abc,bad->cd", cube, jnp.swapaxes(cube, 0, 1)),
            jnp.einsum("zab,zcb->zac", cube, cube),
            jnp.einsum("ab,bc->ac", y.astype(int), jnp.ones((4, n), int)),
            jnp.einsum("a,ba->ab", x, square + x),  # whose shape is that of its operand
            square[:, ::2] @ square[::2],
            jnp.zeros((n, 2 * n)).at[:, ::2].set(square @ square),
        )

    arguments = [
        (numbers("float64", size), numbers("float64", size, 4)) for size in (0, 1, 2, 3, 8, 100)
    ]
    compare_native_dynamic(function, (("float64", "n"), ("float64", "n, 4")), arguments)


axes = st.permutations(range(4))


@FEW
@given(
    left=axes,
    right=axes,
    summed=st.integers(0, 3),
    batch=st.integers(0, 2),
    dtype=st.sampled_from(["float32", "complex128", "int32"]),
    preferred=st.sampled_from([None, "complex128"]),
)
def test_any_dimension_numbers(compare_native, left, right, summed, batch, dtype, preferred):
    sizes = (2, 3, 4, 5)
    batch = min(batch, 4 - summed)
    shapes = []
    for order in (left, right):
        # The axes with the lowest numbers are summed over, the next ones are those of a batch.
        shape = [0] * 4
        for place, axis in enumerate(order):
            shape[axis] = sizes[place]
        shapes.append(shape)
    contracted = tuple(tuple(order[:summed]) for order in (left, right))
    batches = tuple(tuple(order[summed : summed + batch]) for order in (left, right))

    def function(x, y):
        dimensions = (contracted, batches)
        return (lax.dot_general(x, y, dimensions, preferred_element_type=preferred),)

    compare_native(function, *(numbers(dtype, *shape) for shape in shapes))


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("left", "right", "preferred"),
    [
        ("float64", "float64", "float32"),
        ("int8", "int8", "int32"),
        ("int8", "int8", "float32"),
        ("float32", "int32", None),
        ("float16", "float16", "float32"),
        ("bfloat16", "bfloat16", "float64"),
        ("float64", "float64", "int32"),
        ("float32", "float32", "complex64"),
        ("float64", "float64", "float16"),
        ("bool", "bool", None),
    ],
)
def test_element_types(compare_native, left, right, preferred):
    def function(x, y):
        numbers = (((1,), (0,)), ((), ()))
        return (lax.dot_general(x, y, numbers, preferred_element_type=preferred),)

    compare_native(function, numbers(left, 5, 6), numbers(right, 6, 7))


def test_integers_wrap_around(compare_native):
    x = numbers("int8", 20, 30, scale=13)
    compare_native(lambda x: (x @ x.T, x.astype("uint32") @ x.T.astype("uint32")), x)


def text_of(compiled):
    return stage_text(compiled.lowered, CompileOptions(), "to-llvm")


def calls_in(text):
    """Calls of our functions that call BLAS, in the entry; and how many loops there are."""
    entry = text[text.index("@diastase_entry") :].split("llvm.func @")[0]
    return re.findall(r"llvm.call @diastase_(?:direct_)?([sdcz]gem[mv])", entry), entry.count(
        "llvm.cond_br"
    )


@pytest.mark.parametrize(
    ("formula", "calls"),
    [
        ("ab,bc->ac", ["dgemm"]),
        ("ba,cb->ac", ["dgemm"]),
        ("abc,cd->abd", ["dgemm"]),
        ("abc,bcd->ad", ["dgemm"]),
        ("ab,b->a", ["dgemv"]),
        ("a,a->", ["dgemv"]),
        ("ab,bc,cd->ad", ["dgemm", "dgemm"]),
    ],
)
def test_one_call_and_no_loop(compile_function, formula, calls):
    """Zeros are written by a loop only where a vector is the result."""
    compiled = compile_function(
        lambda *arrays: (jnp.einsum(formula, *arrays),), *operands_of(formula, "float64", 25)
    )
    found, loops = calls_in(text_of(compiled))
    assert found == calls
    assert loops == (1 if calls == ["dgemv"] and formula != "a,a->" else 0)


def test_only_large_products_are_shared_out(compile_function):
    small = compile_function(lambda x: (x @ x,), numbers("float64", 60, 60))
    large = compile_function(lambda x: (x @ x,), numbers("float64", 70, 70))
    libraries = [
        {
            imported.library
            for imported in compile_module(one.lowered, CompileOptions()).artifact.imports
        }
        for one in (small, large)
    ]
    assert libraries == [{"blas"}, {"blas", "threads"}]


def test_large_loops_beside_large_products(compare_native):
    x = numbers("float64", 500, 300)
    compare_native(lambda x: (jnp.sin(x @ x.T) + 1, (x @ x.T).sum(0)), x)


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_products_in_parts(compare_native_dynamic, dtype):
    """Whatever is larger, rows or columns; every operand also transposed."""

    def function(x, y):
        return (
            x @ y,
            y.T @ x.T,
            (x.T * 2).T @ y,
            jnp.swapaxes(y * 2, 0, 1) @ jnp.swapaxes(x, 0, 1),
            jnp.einsum("ki,jk->ij", x.T + 0, y.T + 0),
            x @ y[:, 0],
            y.T @ x[0],
            y[:, 0] @ x.T,
            jnp.stack([x, x + 1]) @ y,
        )

    shapes = ((3, 400, 301), (301, 400, 3), (129, 130, 131), (1, 5000, 60), (3, 0, 400))
    arguments = [(numbers(dtype, m, k), numbers(dtype, k, n)) for m, k, n in shapes]
    compare_native_dynamic(function, ((dtype, "m, k"), (dtype, "k, n")), arguments)


def test_blas_is_told_its_threads_again():
    """After calls by several threads at once."""
    library = ctypes.CDLL(cython_blas.__file__)
    get, tell = (library[f"scipy_openblas_{verb}_num_threads"] for verb in ("get", "set"))
    before = get()
    x = np.random.default_rng(0).normal(size=(200, 200))
    multiply, expected = qjit(lambda x: x @ x), x @ x
    try:
        tell(2)

        def several(_):
            return [np.asarray(multiply(x)) for _ in range(20)]

        with ThreadPoolExecutor(4) as pool:
            for found in itertools.chain.from_iterable(pool.map(several, range(4))):
                np.testing.assert_allclose(found, expected)
        assert get() == 2
    finally:
        tell(before)


def test_transpositions_are_not_carried_out(compile_function):
    x = numbers("float64", 30, 20)
    compiled = compile_function(lambda x: (jnp.swapaxes(x.T, 0, 1).T @ x,), x)
    assert calls_in(text_of(compiled)) == (["dgemm"], 0)


def test_a_batch_is_one_loop_over_calls(compile_function):
    x = numbers("float64", 30, 20, 20)
    compiled = compile_function(lambda x: (x @ x,), x)
    assert calls_in(text_of(compiled)) == (["dgemm"], 1)


def test_small_products_and_integers_call_nothing(compile_function):
    small, whole = numbers("float64", 4, 4), numbers("int32", 30, 30)
    compiled = compile_function(lambda x, y: (x @ x, y @ y), small, whole)
    artifact = compile_module(compiled.lowered, CompileOptions()).artifact
    assert Import("blas", "dgemm") not in artifact.imports


def test_equations_are_counted_by_what_computes_them(compile_function):
    def function(x):
        def step(total, row):
            return jnp.sin(total @ x) + row, jax.pure_callback(np.sum, row[0], row)

        return (*lax.scan(step, x[0], x), lax.linalg.cholesky(x), x.astype(int) @ x.astype(int))

    kinds = compile_function(function, np.eye(30)).lowered.equation_kinds
    assert (kinds["callback"], kinds["lapack"], kinds["blas"]) == (1, 1, 1)
    assert kinds["native"] > 4


@pytest.mark.parametrize("size", [3, 20])
def test_not_a_number_spreads(compile_function, size):
    """As IEEE has it, also against zeros; and nothing is left of what was in memory before."""
    special = np.zeros((size, size))
    special[0, 1], special[2, 0] = np.inf, np.nan
    ones = np.ones((size, size))

    def function(x, y):
        zeros = jnp.zeros_like(y)
        return x @ y, y @ x, x @ zeros, x @ y[0], y[0] @ x, x[0] @ y[0], zeros @ zeros

    compiled = compile_function(function, special, ones)
    for _ in range(20):
        garbage = [np.full((size, size), np.nan) for _ in range(20)]
        results = compiled(special, ones)
        del garbage
        for found, expected in zip(
            results, function(*map(jnp.asarray, (special, ones))), strict=True
        ):
            np.testing.assert_array_equal(found, np.asarray(expected))


def test_sizes_too_large_for_blas(compare_native_dynamic, monkeypatch):
    """The loops that are taken instead, by a BLAS whose integers end at 5."""
    monkeypatch.setattr(matmul_to_blas, "LARGEST", 5)

    def function(x, y):
        return x @ y, y.T @ x.T, x @ y[:, 0], jnp.full((7, 9), 2.0) @ jnp.full((9, 8), 3.0)

    arguments = [(numbers("float64", 3, n), numbers("float64", n, 5)) for n in (0, 5, 6, 17)]
    compare_native_dynamic(function, (("float64", "3, n"), ("float64", "n, 5")), arguments)


def test_derivatives_and_batches(compare_native):
    x, y = numbers("float64", 6, 7, 8), numbers("float64", 8, 9)

    def loss(x, y):
        return jnp.sum(jnp.sin(x @ y))

    def function(x, y):
        return (
            *jax.grad(loss, (0, 1))(x[0], y),
            jax.vmap(lambda x: x @ y)(x),
            jax.vmap(jax.grad(loss), (0, None))(x, y),
            jax.jacobian(lambda y: x[0] @ y)(y),
        )

    compare_native(function, x, y)


def test_products_in_loops(compare_native_dynamic):
    def function(x):
        def step(total, row):
            return jnp.tanh(total @ x.T @ x * 0.01) + row, total @ row

        return lax.scan(step, x, x)

    arguments = [(numbers("float64", size, 4),) for size in (0, 1, 5, 30)]
    compare_native_dynamic(function, (("float64", "n, 4"),), arguments)


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8"])
def test_algorithms_that_jax_has_on_a_cpu(dtype):
    """Operands are converted to the algorithm's type as by JAX; sums are as accurate or more."""
    a = np.random.default_rng(0).integers(-8, 8, (3, 5)).astype(dtype)
    names = ["DEFAULT", "F16_F16_F16", "BF16_BF16_F32", "BF16_BF16_F32_X6", "F32_F32_F32"]
    presets = [getattr(lax.DotAlgorithmPreset, name) for name in (*names, "F64_F64_F64")]

    def program(a):
        products = [lax.dot(a, a.T, precision=preset) for preset in presets]
        return products, [jnp.einsum("i,j->ij", a[0], a[1], precision=presets[1])]

    found, expected = qjit(program)(a), jax.jit(program)(a)
    jax.tree.map(np.testing.assert_array_equal, found, expected)
    assert jax.tree.map(lambda x: x.dtype, found) == jax.tree.map(lambda x: x.dtype, expected)
    with pytest.raises(ValueError, match="not supported by dot_general"):
        qjit(lambda a: lax.dot(a, a.T, precision=lax.DotAlgorithmPreset.TF32_TF32_F32))(a)


@pytest.mark.thorough
@jax.numpy_dtype_promotion("strict")
def test_promotions_of_ours_are_not_the_users():
    a = np.arange(6, dtype="int8").reshape(2, 3)

    def program(a):
        wider = lax.dot(a, a.T, preferred_element_type=np.int32)
        return wider, jnp.take_along_axis(a > 2, jnp.zeros((1, 3), "int8"), axis=0)

    jax.tree.map(np.testing.assert_array_equal, qjit(program)(a), jax.jit(program)(a))
