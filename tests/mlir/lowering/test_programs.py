"""Programs of static shapes, each compared with plain JAX: what the rules are made of.

A case is a name, a function and its arguments. Sizes 0 and 1 are among them on purpose.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

A = np.array([[3.0, -1.0, 2.5], [0.0, 7.0, -4.0]])
V = np.array([2.0, -1.0, 5.0, 0.5])
SQUARE = np.array([[2.0, 1.0, 0.5], [1.0, 3.0, 0.0], [0.5, 0.0, 4.0]])
EMPTY = np.zeros((0, 3))
ONE = np.array([4.0])
I = np.array([2, 0, 5, -1])  # noqa: E741  (positions, in and out of range)
KEY = jax.random.key(7)

ARRAYS = {
    "arange": (lambda x: jnp.arange(5) + x[0], V),
    "linspace": (lambda x: jnp.linspace(x[0], 1.0, 5), V),
    "eye": (lambda x: jnp.eye(3) * x[0], V),
    "full": (lambda x: jnp.full((2, 3), x[0]), V),
    "broadcast_rows": (lambda a: a - a.mean(axis=0) + a.sum(axis=1, keepdims=True), A),
    "broadcast_outer": (lambda v: v[:, None] * v[None, :], V),
    "reshape": (lambda a: (a.reshape(-1), a.reshape(3, 2), a.T.ravel()), A),
    "reshape_scalar": (lambda v: (v.reshape(()), v.reshape(1, 1, 1)), ONE),
    "squeeze": (lambda a: jnp.squeeze(a[:1, :, None]), A),
    "transpose": (lambda a: jnp.transpose(a[None], (2, 0, 1)), A),
    "concatenate": (lambda a: jnp.concatenate([a, a[:, :1]], axis=1), A),
    "stack": (lambda v: jnp.stack([v, v + 1], axis=1), V),
    "slice": (lambda a: (a[1:], a[:, ::2], a[:, 1:2], a[-1]), A),
    "slice_empty": (lambda a: a[2:], A),
    "reverse": (lambda a: a[::-1, ::-1], A),
    "roll": (lambda a: jnp.roll(a, 1, axis=1), A),
    "pad": (lambda a: jnp.pad(a, ((1, 2), (0, 1)), constant_values=5.0), A),
    "pad_interior": (lambda v: lax.pad(v, 9.0, [(-1, 2, 1)]), V),
    "pad_scalar": (lambda v: lax.pad(v[0], 9.0, []), V),
    "tile": (lambda a: jnp.tile(a, (2, 2)), A),
    "repeat": (lambda a: jnp.repeat(a, 2, axis=0), A),
    "dynamic_slice": (lambda v, i: lax.dynamic_slice(v, (i[2],), (2,)), V, I),
    "dynamic_update_slice": (lambda v, i: lax.dynamic_update_slice(v, v[:2], (i[2],)), V, I),
    "parts_of_a_number": (
        lambda v: (
            lax.dynamic_slice(v[0], (), ()),
            lax.dynamic_update_slice(v[0], 3 * v[1], ()),
            lax.dynamic_slice(v[0].astype(jnp.uint8), (), ()),
        ),
        V,
    ),
    "windows_of_a_number": (
        lambda v: (
            lax.reduce_window(v[0], 0.0, lax.add, (), (), "VALID"),
            lax.reduce_window(v[0], -jnp.inf, lax.max, (), (), "SAME"),
        ),
        V,
    ),
    "split": (lambda v: jnp.split(v, 2), V),
    "split_uneven": (lambda a: lax.split(a, (1, 2), axis=1), A),
    "empty_split": (lambda a: jnp.split(a, 3, axis=1), EMPTY),
    "where": (lambda a: jnp.where(a > 0, a, -a), A),
    "meshgrid": (lambda v: jnp.meshgrid(v, v[:2]), V),
    "tril": (lambda a: (jnp.tril(a), jnp.triu(a, 1)), SQUARE),
    "diag": (lambda a: (jnp.diag(a), jnp.trace(a)), SQUARE),
    "empty_in": (lambda a: (a.sum(), a.sum(axis=0), a * 2, a.T), EMPTY),
    "empty_concatenate": (lambda a: jnp.concatenate([a, a]), EMPTY),
    "empty_reverse": (lambda a: a[::-1], EMPTY),
    "empty_sort": (lambda a: jnp.sort(a, axis=0), EMPTY),
    "empty_cumsum": (lambda a: jnp.cumsum(a, axis=0), EMPTY),
    "empty_matmul": (lambda a: (a @ a.T, a.T @ a), EMPTY),
    "empty_gather": (lambda a, i: a[:, i % 3], EMPTY, I),
    "empty_out": (lambda v: jnp.zeros((0, 4)) + v, V),
    "identity": (lambda v: v, V),
    "same_twice": (lambda v: (v * 2,) * 2, V),
    "constants": (lambda v: (jnp.array([1.0, 2.0]), 3, v[0]), V),
    "views": (lambda a: (a[1:], a.T, a), A),
}

REDUCTIONS = {
    "sum": (lambda a: (a.sum(), a.sum(0), a.sum(1), a.sum(axis=())), A),
    "product": (lambda a: (a.prod(), a.prod(axis=1)), A),
    "extremes": (lambda a: (a.max(), a.min(axis=0), jnp.ptp(a)), A),
    "moments": (lambda a: (jnp.var(a), jnp.std(a, axis=0), a.mean()), A),
    "argmax": (lambda a: (jnp.argmax(a), jnp.argmin(a, axis=1)), A),
    "argmax_ties": (lambda a: jnp.argmax(a > 0, axis=1), A),
    "argmax_unsigned": (lambda a: jnp.argmax(a), np.array([1, 200, 3], np.uint8)),
    "argmax_nan": (lambda v: jnp.argmax(v.at[2].set(jnp.nan)), V),
    "cumulative": (lambda a: (jnp.cumsum(a, 0), jnp.cumprod(a, 1)), A),
    "cumulative_reversed": (lambda v: (lax.cummax(v, reverse=True), lax.cummin(v)), V),
    "cumlogsumexp": (lax.cumlogsumexp, V),
    "logsumexp": (jax.scipy.special.logsumexp, A),
    "window_maximum": (
        lambda a: lax.reduce_window(a, -jnp.inf, lax.max, (2, 2), (1, 2), "SAME"),
        A,
    ),
    "window_derivative": (
        jax.grad(lambda v: lax.reduce_window(v, -jnp.inf, lax.max, (2,), (1,), "SAME").sum()),
        V,
    ),
    "any_all": (lambda a: (jnp.any(a > 6), jnp.all(a > 6, axis=0)), A),
    "bits": (lambda a: lax.reduce_xor(a, axes=(0,)), I),
    "custom": (lambda a: lax.reduce(a, 0.0, lambda x, y: x + y * y, (1,)), A),
    "window": (lambda a: lax.reduce_window(a, 0.0, lax.add, (2, 2), (1, 1), "VALID"), A),
    "convolution": (lambda v: jnp.convolve(v, v[:2]), V),
    "matmul": (lambda a: (a @ a.T, a @ a[0], jnp.outer(a[0], a[1])), A),
    "einsum": (lambda a: jnp.einsum("ij,kj->ik", a, a), A),
    "batched_matmul": (lambda a: jnp.matmul(a[:, :, None], a[:, None, :]), A),
    "kron": (lambda a: jnp.kron(a, a), A),
    "tensordot": (lambda a: jnp.tensordot(a, a, axes=2), A),
    "median": (lambda a: (jnp.median(a, axis=1), jnp.quantile(a, 0.3)), A),
    "histogram": (lambda v: jnp.histogram(v, bins=3)[0], V),
}

SORTING = {
    "sort": (lambda a: (jnp.sort(a, axis=0), jnp.sort(a, axis=1)), A),
    "sort_one": (jnp.sort, ONE),
    "sort_nan": (lambda v: jnp.sort(v.at[1].set(jnp.nan)), V),
    "argsort": (jnp.argsort, np.array([2.0, 1.0, 2.0, 0.0, 1.0])),
    "argsort_descending": (lambda v: jnp.argsort(v, descending=True), V),
    "lexsort": (lambda v: jnp.lexsort((v, jnp.abs(v))), V),
    "sort_complex": (jnp.sort, V + 1j * V[::-1]),
    "unique": (lambda v: jnp.unique(v, size=3), np.array([2, 1, 2, 0, 1])),
    "searchsorted": (lambda v: jnp.searchsorted(jnp.sort(v), jnp.array([0.7, 9.0])), V),
    "top_k": (lambda v: lax.top_k(v, 2), V),
    "many_keys": (lambda a, b: lax.sort((a, b, a + b), num_keys=2), V[[0, 1, 0, 1]], V),
    "long": (lambda v: jnp.sort(jnp.sin(v * jnp.arange(100.0))), ONE),
}

INDEXING = {
    "gather": (lambda a, i: a[:, i], A, I),
    "gather_fill": (lambda a, i: jnp.take(a, i, axis=1), A, I),
    "gather_clip": (lambda a, i: jnp.take(a, i, axis=1, mode="clip"), A, I),
    "gather_wrap": (lambda a, i: jnp.take(a, i, axis=1, mode="wrap"), A, I),
    "gather_integer_fill": (lambda v, i: v.at[i].get(mode="fill"), I, I),
    "gather_fill_value": (lambda v, i: v.at[i].get(mode="fill", fill_value=8), V, I),
    "gather_pairs": (lambda a, i: a[i % 2, i % 3], A, I),
    "gather_rows": (lambda a, i: a[i], A, I),
    "gather_unsigned": (lambda v, i: v[i], V, np.array([3, 200], np.uint8)),
    "clip_large_unsigned": (
        lambda v, i: (
            jnp.take(v, i, mode="clip"),
            v.at[i[:1]].set(9.0, mode="clip"),
            lax.dynamic_slice(v, i[:1], (2,)),
            lax.dynamic_update_slice(v, jnp.zeros(2), i[:1]),
        ),
        V,
        np.array([2**63 + 1, 3, 2**64 - 1], np.uint64),
    ),
    "gather_mask": (lambda v: v[np.array([True, False, True, True])], V),
    "take_along": (lambda a: jnp.take_along_axis(a, jnp.argsort(a, axis=1), axis=1), A),
    "scalar": (lambda a, i: (a[i[1], i[0]], a[1, -1]), A, I),
    "set": (lambda a, i: a.at[:, i].set(9.0), A, I),
    "set_row": (lambda a, i: a.at[i[1]].set(jnp.arange(3.0)), A, I),
    "set_clip": (lambda v, i: v.at[i].set(9.0, mode="clip"), V, I),
    "add": (lambda v, i: v.at[i].add(2.0), V, np.array([1, 1, 1, 9])),
    "multiply": (lambda v, i: v.at[i].multiply(3.0), V, I),
    "extremes": (lambda v, i: (v.at[i].min(1.0), v.at[i].max(1.0)), V, I),
    "subtract": (lambda v, i: v.at[i].subtract(1.0), V, I),
    "apply": (lambda v, i: v.at[i].apply(jnp.sin), V, np.array([0, 2])),
    "scatter_window": (lambda a: a.at[:, 1:].add(1.0), A),
    "scatter_bool": (lambda v, i: (v > 0).at[i].set(True), V, I),
    "segment_sum": (lambda v, i: jax.ops.segment_sum(v, i, 3), V, np.array([0, 2, 0, 1])),
    "batched": (lambda a: jax.vmap(lambda r, i: r.at[i].set(0.0))(a, jnp.array([2, 0])), A),
    "batched_gather": (lambda a: jax.vmap(lambda r, i: r[i])(a, jnp.array([2, 0])), A),
    "gradient": (lambda v, i: jax.grad(lambda u: (u[i] ** 2).sum())(v), V, np.array([0, 2, 0])),
}

DERIVATIVES = {
    "grad": (jax.grad(lambda v: (jnp.sin(v) * v).sum()), V),
    "jacobian": (jax.jacobian(lambda v: v**2), V),
    "hessian": (jax.hessian(lambda v: (v**3).sum()), V),
    "vmap": (jax.vmap(lambda v: v @ v), A),
    "custom_jvp": (jax.grad(lambda v: jax.nn.relu(v).sum()), V),
    "checkpoint": (jax.grad(jax.checkpoint(lambda v: jnp.sin(v).sum())), V),
    "softmax": (jax.nn.softmax, A),
    "remat_policy": (
        jax.grad(
            jax.checkpoint(
                lambda a: jnp.sin(a @ a).sum(), policy=jax.checkpoint_policies.dots_saveable
            )
        ),
        SQUARE,
    ),
    "composite": (lambda v: lax.composite(lambda x: x * 2, name="a.b")(v), V),
    "custom_root": (
        lambda v: lax.custom_root(
            lambda x: x**2 - v.sum(),
            1.0,
            lambda f, x: lax.fori_loop(0, 9, lambda i, y: y - f(y) / (2 * y), x),
            lambda g, y: y / g(1.0),
        ),
        V,
    ),
    "grad_through_solve": (jax.grad(lambda a: jnp.linalg.solve(a, a[0]).sum()), SQUARE),
}

ON_HOST = {
    "fft": (jnp.fft.fft, A),
    "rfft": (lambda v: jnp.fft.irfft(jnp.fft.rfft(v)), V),
    "inverse": (jnp.linalg.inv, SQUARE),
    "determinant": (lambda a: (jnp.linalg.det(a), jnp.linalg.slogdet(a)), SQUARE),
    "solve": (lambda a: jnp.linalg.solve(a, a[0]), SQUARE),
    "eigh": (jnp.linalg.eigvalsh, SQUARE),
    "svd": (lambda a: jnp.linalg.svd(a, compute_uv=False), A),
    "qr": (lambda a: jnp.abs(jnp.linalg.qr(a)[1]), SQUARE),
    "cholesky": (jnp.linalg.cholesky, SQUARE),
    "expm": (jax.scipy.linalg.expm, SQUARE),
    "pinv": (jnp.linalg.pinv, A),
    "in_a_loop": (lambda a: lax.fori_loop(0, 3, lambda i, x: jnp.linalg.inv(x), a), SQUARE),
}

RANDOM = {
    "bits": (lambda k: jax.random.bits(k, (5,)), KEY),
    "uniform": (lambda k: jax.random.uniform(k, (2, 3)), KEY),
    "normal": (lambda k: jax.random.normal(k, (7,), "float32"), KEY),
    "integers": (lambda k: jax.random.randint(k, (4,), 0, 10), KEY),
    "choice": (lambda k: jax.random.choice(k, 10, (3,), replace=False), KEY),
    "permutation": (lambda k: jax.random.permutation(k, 8), KEY),
    "categorical": (lambda k: jax.random.categorical(k, jnp.log(jnp.array([0.2, 0.8]))), KEY),
    "split": (lambda k: jax.random.split(k, 3), KEY),
    "fold_in": (lambda k: jax.random.fold_in(k, 5), KEY),
    "new_key": (lambda v: jax.random.normal(jax.random.key(3), (2,)) + v[:2], V),
    "legacy_key": (lambda v: jax.random.PRNGKey(v[0].astype(int)), V),
    "key_loop": (
        lambda k: lax.fori_loop(0, 3, lambda i, c: (jax.random.split(c[0])[1], c[1] + 1), (k, 0)),
        KEY,
    ),
    "key_scan": (
        lambda k: lax.scan(lambda c, s: (c + jax.random.uniform(s), s), 0.0, jax.random.split(k)),
        KEY,
    ),
    "key_index": (lambda k: jax.random.split(k, 4)[1:3][0], KEY),
}

GROUPS = {
    "arrays": ARRAYS,
    "reductions": REDUCTIONS,
    "sorting": SORTING,
    "indexing": INDEXING,
    "derivatives": DERIVATIVES,
    "on_host": ON_HOST,
    "random": RANDOM,
}
CASES = [
    pytest.param(case, id=f"{group}-{name}")
    for group, cases in GROUPS.items()
    for name, case in cases.items()
]


@pytest.mark.sample(11)
@pytest.mark.parametrize("case", CASES)
def test_program(compare, case):
    function, *arguments = case
    compare(function, *arguments)
