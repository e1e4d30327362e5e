"""`jax.numpy.linalg` and `jax.scipy.linalg` in `qjit`: one program for all sizes, natively."""

import jax
import jax.numpy as jnp
import jax.scipy.linalg as scipy_linalg
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.numpy import linalg

from diastase import qjit
from diastase_mlir import lower
from diastase_mlir.errors import LoweringError
from diastase_runtime.errors import SizeTooLargeError

SIZES = (3, 0, 1, 2, 9)


def matrix(rows, columns):
    i, j = jnp.arange(rows)[:, None], jnp.arange(columns)[None, :]
    entries = jnp.sin(i * i * 0.7 + j * 1.3 + i * j * 0.31 + 0.3)
    return jnp.where(i == j, entries + 2, entries)


def operands(n):
    """A square, a positive definite, a wide and a tall matrix, and a vector."""
    a = matrix(n, n)
    return a, a @ a.T + jnp.eye(n), matrix(n, n + 2), matrix(n + 2, n), jnp.cos(jnp.arange(n)) + 2


PROGRAMS = {
    "solve": lambda a, p, w, t, v: (linalg.solve(a, v), linalg.solve(a, w), linalg.inv(a)),
    "determinants": lambda a, p, w, t, v: (
        linalg.det(a), linalg.slogdet(a), linalg.det(jnp.stack([a, p]))
    ),
    "spectra": lambda a, p, w, t, v: (
        linalg.eigvalsh(p), jnp.sort(abs(linalg.eigvals(a))), linalg.svdvals(w)
    ),
    "orthogonal": lambda a, p, w, t, v: (
        linalg.qr(t), linalg.qr(w), linalg.qr(t, mode="complete"), linalg.qr(w, mode="r")
    ),
    "products": lambda a, p, w, t, v: (
        linalg.matrix_power(a, 3), linalg.matrix_power(a, -2), scipy_linalg.expm(a / 5)
    ),
    "norms": lambda a, p, w, t, v: (
        linalg.norm(a), linalg.norm(a, 2), linalg.norm(w, "nuc"), linalg.norm(a, 1)
    ),
    "factors": lambda a, p, w, t, v: (
        linalg.cholesky(p), scipy_linalg.lu_solve(scipy_linalg.lu_factor(a), v),
        scipy_linalg.cho_solve(scipy_linalg.cho_factor(p), v), scipy_linalg.lu(w),
    ),
    "derivatives": lambda a, p, w, t, v: (
        jax.grad(lambda x: linalg.slogdet(x)[1])(a),
        jax.grad(lambda x: linalg.solve(x, v).sum())(a),
        jax.grad(lambda x: linalg.cholesky(x).sum())(p),
    ),
    "mapped": lambda a, p, w, t, v: (
        jax.vmap(lambda x: linalg.solve(a, x))(w.T), jax.vmap(linalg.eigvalsh)(jnp.stack([p, p]))
    ),
}  # fmt: skip


def assert_close(found, expected):
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_one_program_for_all_sizes(name):
    program = qjit(lambda n: PROGRAMS[name](*operands(n)))
    for size in SIZES:
        assert_close(program(size), jax.jit(PROGRAMS[name])(*operands(size)))
    traced = program.trace(3).traced.program
    assert not traced.assumptions
    assert not lower(traced).callbacks


MAY_BE_COMPILED_AGAIN = {
    "pinv": lambda a, p, w, t, v: (linalg.pinv(t), linalg.pinv(w)),
    "lstsq": lambda a, p, w, t, v: linalg.lstsq(a, v)[0],
    "gradient of det": lambda a, p, w, t, v: jax.grad(linalg.det)(a),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", MAY_BE_COMPILED_AGAIN)
def test_empty_and_single_rows_as_cases_of_their_own(name):
    program = qjit(lambda n: MAY_BE_COMPILED_AGAIN[name](*operands(n)))
    for size in (3, 1, 2, 9):
        assert_close(program(size), jax.jit(MAY_BE_COMPILED_AGAIN[name])(*operands(size)))


def test_rank_of_a_matrix_of_any_size():
    program = qjit(lambda n: linalg.matrix_rank(matrix(n, n + 1) * (jnp.arange(n + 1) < 2)))
    for size in (1, 2, 3, 9):
        assert program(size) == min(size, 2)


@pytest.mark.parametrize("name", ["det", "slogdet"])
def test_small_determinants_by_the_formulas_of_jax(name):
    function = getattr(linalg, name)
    entries = jnp.asarray(np.random.default_rng(3).integers(-9, 9, 16).astype(float))
    program = qjit(lambda entries, n: function(entries[: n * n].reshape(n, n)))
    for size in range(4):
        expected = function(entries[: size * size].reshape(size, size))
        found = program(entries, size)
        for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-15, atol=0)


@qjit
def decompositions(entries, rows, columns):
    a = entries[: rows * columns].reshape(rows, columns)
    return a, linalg.svd(a, full_matrices=False), linalg.qr(a), jax.lax.linalg.lu(a)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 1000), st.integers(-8, 8))
def test_decompositions_multiply_to_the_matrix(rows, columns, seed, scale):
    generator = np.random.default_rng(seed)
    entries = generator.normal(size=144) * 10.0**scale * generator.integers(0, 2, 144)
    results = decompositions(entries, rows, columns)
    a, (u, s, vt), (q, r), (lu, _, order) = jax.tree.map(np.asarray, results)
    least, size = min(rows, columns), abs(a).max(initial=0) * 1e-13
    np.testing.assert_allclose((u * s) @ vt, a, atol=size)
    np.testing.assert_allclose(q @ r, a, atol=size)
    np.testing.assert_allclose(q.T @ q, np.eye(least), atol=1e-13)
    lower_part = np.tril(lu[:, :least], -1) + np.eye(rows, least)
    np.testing.assert_allclose(lower_part @ np.triu(lu[:least]), a[order], atol=size)


def test_matrices_without_columns():
    def factors(m):
        tall = jnp.zeros((m, 0))
        return linalg.qr(tall), linalg.qr(tall, mode="r"), linalg.qr(tall, mode="complete")

    compiled = qjit(factors)
    for m in SIZES:
        expected = factors(m)
        assert jax.tree.map(np.shape, compiled(m)) == jax.tree.map(np.shape, expected)
        np.testing.assert_array_equal(compiled(m)[2][0], expected[2][0])


def test_a_size_beyond_lapacks_integers_is_an_error():
    compiled = qjit(lambda m: scipy_linalg.lu_factor(jnp.zeros((0, m, 2)))[0])
    assert compiled(5).shape == (0, 5, 2)
    with pytest.raises(SizeTooLargeError, match="lu needs the size 2147483648"):
        compiled(2**31)


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.bool_])
def test_integers_are_promoted_as_jax_does(dtype):
    def results(a):
        return linalg.inv(a), linalg.qr(a)[0], linalg.slogdet(a), linalg.pinv(a)

    a = np.array([[3, 1, 0], [1, 0, 1], [0, 1, 5]]).astype(dtype)
    for ours, expected in zip(
        jax.tree.leaves(qjit(results)(a)), jax.tree.leaves(results(a)), strict=True
    ):
        assert ours.dtype == expected.dtype
        np.testing.assert_allclose(ours, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16])
def test_half_precision_is_refused_as_by_jax(dtype):
    with pytest.raises((NotImplementedError, TypeError)):  # TypeError since JAX 0.11
        linalg.inv(jnp.eye(3, dtype=dtype))
    with pytest.raises((LoweringError, TypeError), match=r"lu|float16"):
        qjit(linalg.inv)(jnp.eye(3, dtype=dtype))
