"""Products of arrays: dot, einsum, convolution, polynomials."""

import jax
import jax.numpy as jnp
from jax import lax

from diastase_runtime.errors import SizeMismatchError
from programs.matrix.runner import Program

EMPTY = {0: SizeMismatchError}

PROGRAMS = {
    "dot": lambda x, y, a: (x @ y, jnp.dot(x, y), a.T @ x, a @ jnp.arange(3.0), jnp.vdot(x, y)),
    "matmul": lambda s, a, v: (
        s @ s,
        s @ a,
        a @ a.T,
        a.T @ a,
        v @ jnp.ones((3, 2)),
        jnp.matmul(v, a.T),
    ),
    "matmul of small dtypes": lambda h, k, f: (h @ h, k @ k, f @ f, jnp.outer(k, k)),
    "products of the array API": lambda s, x, a: (
        jnp.vecdot(a, a),
        jnp.matvec(s, x),
        jnp.vecmat(x, s),
    ),
    "inner, outer": lambda x, y, a: (jnp.inner(x, y), jnp.outer(x, y), jnp.inner(a, a)),
    "tensordot": lambda a, v: (
        jnp.tensordot(a, a, 2),
        jnp.tensordot(v, a, ((1, 2), (0, 1))),
        jnp.tensordot(a, jnp.ones(3), 1),
    ),
    "einsum": lambda a, x, s: (
        jnp.einsum("ij,i->j", a, x),
        jnp.einsum("ij,kj->ik", a, a),
        jnp.einsum("ii->i", s),
        jnp.einsum("ii", s),
    ),
    "einsum of three": lambda a, x, s: (
        jnp.einsum("ij,jk,kl->il", s, s, a),
        jnp.einsum("i,j,k->ijk", jnp.arange(2), x, jnp.ones(2)),
    ),
    "einsum with dots": lambda v, x: (jnp.einsum("...ij->...ji", v), jnp.einsum("bij,i->bj", v, x)),
    "trace": lambda s, a: (jnp.trace(s), jnp.trace(s, 1), jnp.trace(a)),
    "kron": lambda s, a: (jnp.kron(a, jnp.ones((2, 2))), jnp.kron(jnp.eye(2), s)),
    "cross": lambda a: (jnp.cross(a, a[::-1]), jnp.cross(a.T, a.T, axis=0)),
    "multi_dot": lambda a, s: jnp.linalg.multi_dot([a.T, s, a]),
    "matrix_power": Program(lambda s: jnp.linalg.matrix_power(s / 100, 3), tolerance=1e-10),
    "convolve": Program(lambda x: jnp.convolve(x, jnp.array([1.0, -1.0, 0.5])), EMPTY),
    "convolve, modes": Program(
        lambda x: (
            jnp.convolve(x, jnp.array([1.0, 2.0]), "same"),
            jnp.convolve(jnp.array([1.0, 2.0]), x, "valid"),
        ),
        EMPTY,
    ),
    "convolve with itself": Program(lambda x, y: jnp.convolve(x, y), EMPTY),
    "correlate": Program(
        lambda x, y: (jnp.correlate(x, y), jnp.correlate(x, jnp.array([1.0, 2.0, 3.0]), "full")),
        EMPTY,
    ),
    "polynomials": Program(
        lambda x, y: (jnp.polyadd(x, jnp.ones(2)), jnp.polyder(x), jnp.polyint(x)), EMPTY
    ),
    "polymul": lambda x: jnp.polymul(x, jnp.array([1.0, 2.0])),
    "polysub": lambda x, y: jnp.polysub(x, y),
    "polyfit": lambda n: jnp.polyfit(jnp.arange(5.0), jnp.arange(5.0) ** 2 + n, 2),
    "lax.dot_general": lambda v, a: lax.dot_general(v, a, (((1,), (0,)), ((), ()))),
    "lax.dot_general with batches": lambda v: lax.dot_general(v, v, (((2,), (2,)), ((0,), (0,)))),
    "lax.conv": lambda t: lax.conv_general_dilated(t[None], jnp.ones((2, 3, 2)), (1,), [(1, 1)]),
    "preferred types": lambda h: lax.dot(h, h, preferred_element_type=jnp.float64),
    "quadratic form": lambda x, s: x @ s @ x,
    "gram matrix": lambda a: jnp.exp(-((a[:, None] - a[None]) ** 2).sum(-1)),
    "jax.numpy.linalg products": lambda x, a: (
        jnp.linalg.outer(x, x),
        jnp.linalg.matrix_transpose(a),
        jnp.linalg.vecdot(a, a),
        jnp.linalg.matmul(a.T, a),
        jnp.linalg.tensordot(a, a, axes=2),
    ),
    "logsumexp": lambda a, x: (jax.nn.logsumexp(a, 1), jax.nn.logsumexp(x)),
}
