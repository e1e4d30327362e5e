"""Classical programs of the matrix: pairs of a program of JAX's, and of extended precision.

`(x, n) -> vector` where `x` has three entries and `n` is known at run time only; and the same as a
function `(list, n) -> list`.
"""

from typing import Any

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
from jax import lax

from diastase import cond, for_loop, switch, while_loop
from frontend.autodiff.transformed import extended
from frontend.autodiff.transformed.circuits import by_pennylane, exactly, few

B = np.array([0.3, -1.0])


def generic(function: Any) -> tuple[Any, Any]:
    """A program written once, with `m` for mathematics."""

    def compiled(x: Any, n: Any) -> Any:
        return jnp.stack(function(jnp, x, n))

    return compiled, lambda x, n: function(extended, x, n)


def matrices(x: Any) -> Any:
    """A matrix of arguments, far from singular."""
    return [[2.0 + x[0], x[1]], [x[2] * x[0], 3.0 - x[1]]]


def of_matrices(compiled: Any, exact: Any) -> tuple[Any, Any]:
    """A program with a matrix: by JAX, by mpmath; complex results in two parts."""

    def by_jax(x: Any, n: Any) -> Any:
        found = jnp.ravel(compiled(jnp.array(matrices(x))))
        return jnp.concatenate([found.real, found.imag]) if jnp.iscomplexobj(found) else found

    def by_mpmath(x: Any, n: int) -> Any:
        found = exact(mpmath.matrix(matrices(x)))
        return list(found) if isinstance(found, mpmath.matrix) else list(np.ravel(found))

    return by_jax, by_mpmath


def elementary(m: Any, x: Any, n: Any) -> Any:
    z = m.exp(1j * x[0]) * (x[1] + 2j) ** 2 + m.sqrt(1j + x[2])
    return [m.sin(x[0]) * m.exp(x[1]), m.tanh(x[2] * x[1]) ** 3, m.real(z) * m.imag(z * z)]


def counted(m: Any, x: Any, n: Any) -> Any:
    @for_loop(0, n, 1)
    def loop(i: Any, a: Any, b: Any) -> Any:
        return m.sin(a * x[0]) + b * (i + 1.0), a * b + x[1]

    return list(loop(x[2], x[1] * 1.0))


def downwards(m: Any, x: Any, n: Any) -> Any:
    @for_loop(n + 3, n - 2, -2)
    def loop(i: Any, a: Any) -> Any:
        return m.sin(a * x[0] + i) + x[1]

    return [loop(x[2])]


def repeated(m: Any, x: Any, n: Any) -> Any:
    @while_loop(lambda a, b: a < 4.0)
    def loop(a: Any, b: Any) -> Any:
        return a + x[0] ** 2 + 0.5, m.sin(b * a) + x[1]

    return list(loop(x[2] ** 2, x[1] * x[2]))


def branched(m: Any, x: Any, n: Any) -> Any:
    def choose(k: Any) -> Any:
        @cond(x[0] * k > 0.5)
        def branch() -> Any:
            return m.sin(x[0]) * x[1]

        @branch.otherwise
        def branch() -> Any:
            return x[2] ** 2 * x[0]

        return branch()

    return [choose(1.0), choose(3.0)]


def switched(m: Any, x: Any, n: Any) -> Any:
    @switch(n % 3)
    def branch(a: Any) -> Any:
        return a * x[0]

    @branch.branch(1)
    def branch(a: Any) -> Any:
        return m.sin(a) * x[1]

    @branch.branch(2)
    def branch(a: Any) -> Any:
        return a**2

    return [branch(x[2]), branch(x[0] * x[1])]


def nested(m: Any, x: Any, n: Any) -> Any:
    @for_loop(0, n, 1)
    def outer(i: Any, a: Any) -> Any:
        @while_loop(lambda b: b < 1.5)
        def inner(b: Any) -> Any:
            return b * 1.25 + x[0] ** 2

        @for_loop(0, i, 1)
        def growing(j: Any, c: Any) -> Any:
            return m.sin(c * x[1]) + j

        return growing(inner(a**2) * x[2])

    return [outer(x[1] ** 2)]


def scanned(x: Any, n: Any) -> Any:
    def step(carry: Any, entry: Any) -> Any:
        return jnp.sin(carry * entry) + x[0], carry * entry

    return lax.scan(step, x[1], x)[1]


def scanned_exactly(x: Any, n: int) -> Any:
    carry, found = x[1], []
    for entry in x:
        carry, out = extended.sin(carry * entry) + x[0], carry * entry
        found.append(out)
    return found


def sized(x: Any, n: Any) -> Any:
    """Arrays of a size known at run time; positions, sums, a sort, a product."""
    line = jnp.arange(n) * x[0] + jnp.ones(n) * x[1]
    waves = jnp.sin(line) * x[2]
    kept = jnp.sort(jnp.cumsum(waves**2))[::-1]
    table = jnp.outer(waves, line)
    return jnp.stack([kept @ line, jnp.sum(table @ table.T), waves[n - 1], jnp.max(kept)])


def sized_exactly(x: Any, n: int) -> Any:
    line = [k * x[0] + x[1] for k in range(n)]
    waves = [extended.sin(entry) * x[2] for entry in line]
    sums = [mpmath.fsum(wave**2 for wave in waves[: k + 1]) for k in range(n)]
    kept = sorted(sums)[::-1]
    table = np.outer(np.array(waves, object), np.array(line, object))
    dot = mpmath.fsum(a * b for a, b in zip(kept, line, strict=True))
    return [dot, mpmath.fsum(np.ravel(table @ table.T)), waves[n - 1], kept[0]]


def masked(x: Any, n: Any) -> Any:
    """As many entries as are positive."""
    chosen = x[x > 0.0]
    return jnp.stack([jnp.sum(jnp.sin(chosen) * chosen), jnp.prod(chosen) * x[2]])


def masked_exactly(x: Any, n: int) -> Any:
    chosen = [entry for entry in x if entry > 0]
    return [mpmath.fsum(extended.sin(e) * e for e in chosen), mpmath.fprod(chosen) * x[2]]


@jax.custom_jvp
def hosted(x: Any) -> Any:
    """A function of NumPy's, with a derivative that is NumPy's, too, and has one in turn."""
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.pure_callback(np.sin, shape, x, vmap_method="expand_dims")


hosted.defjvp(lambda primals, tangents: (hosted(primals[0]), tangents[0] * jnp.cos(primals[0])))


@jax.custom_vjp
def backwards(x: Any) -> Any:
    """A function of NumPy's whose gradient a callback computes."""
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.pure_callback(np.exp, shape, x, vmap_method="expand_dims")


def _backwards_bwd(value: Any, weight: Any) -> Any:
    shape = jax.ShapeDtypeStruct(value.shape, value.dtype)
    product = jax.pure_callback(np.multiply, shape, value, weight, vmap_method="expand_dims")
    return (product,)


backwards.defvjp(lambda x: (backwards(x),) * 2, _backwards_bwd)


def around_circuits(x: Any, n: Any) -> Any:
    """A loop around a QNode."""
    node = by_pennylane(few, qml_z)

    @for_loop(0, n, 1)
    def loop(i: Any, angles: Any) -> Any:
        return angles * node(angles, n)[0] + x

    return loop(x * 1.0)


def around_circuits_exactly(x: Any, n: int) -> Any:
    node = exactly(few, lambda s: [extended.expectation(s, extended.word("IZI"))], n)
    angles = list(x)
    for _ in range(n):
        scale = node(angles)[0]
        angles = [angle * scale + entry for angle, entry in zip(angles, x, strict=True)]
    return angles


def qml_z() -> Any:
    """The measurement of `around_circuits`."""
    import pennylane as qml  # noqa: PLC0415

    return qml.expval(qml.Z(1))


def _least_squares(a: Any) -> Any:
    tall = jnp.concatenate([a, jnp.ones((1, 2))])
    return jnp.linalg.lstsq(tall, jnp.array([1.0, -0.5, 0.25]))[0]


def _least_squares_exactly(a: Any) -> Any:
    tall = mpmath.matrix([*a.tolist(), [1, 1]])
    return mpmath.lu_solve(tall.T * tall, tall.T * mpmath.matrix([1, "-0.5", "0.25"]))


def _eigenvalues(a: Any) -> Any:
    symmetric = a + a.T
    low, high = mpmath.eigsy(symmetric, eigvals_only=True)
    return [low, high]


def _projector(a: Any) -> Any:
    """The projector on the lower eigenvector: no sign, no phase."""
    _, vectors = mpmath.eigsy(a + a.T)
    low = vectors[:, 0]
    return low * low.T


def _projector_by_jax(a: Any) -> Any:
    _, vectors = jnp.linalg.eigh(a + a.T)
    return jnp.outer(vectors[:, 0], vectors[:, 0])


def _of_q_and_r(a: Any) -> Any:
    q, r = jnp.linalg.qr(a)
    return jnp.concatenate([jnp.ravel(q * jnp.sign(jnp.diag(r))), jnp.abs(jnp.diag(r))])


def _of_q_and_r_exactly(a: Any) -> Any:
    """By Gram and Schmidt."""
    first = a[:, 0] / mpmath.norm(a[:, 0])
    rest = a[:, 1] - first * (first.T * a[:, 1])[0]
    second = rest / mpmath.norm(rest)
    q = [first[0], second[0], first[1], second[1]]
    return [*q, mpmath.norm(a[:, 0]), mpmath.norm(rest)]


def _split_eigenvalues(a: Any) -> Any:
    """Of a matrix with two complex eigenvalues, from trace and determinant."""
    b = a + mpmath.matrix([[0, 5], [-5, 0]])
    middle = (b[0, 0] + b[1, 1]) / 2
    distance = mpmath.sqrt(mpmath.det(b) - middle**2)
    return [2 * middle, distance**2]


def _split_eigenvalues_by_jax(a: Any) -> Any:
    found = jnp.linalg.eigvals(a + jnp.array([[0.0, 5.0], [-5.0, 0.0]]))
    return jnp.stack([jnp.sum(found).real, jnp.sum(found.imag**2) / 2])


SUBJECTS = {
    "elementary, complex": generic(elementary),
    "for_loop": generic(counted),
    "for_loop downwards": generic(downwards),
    "while_loop": generic(repeated),
    "cond": generic(branched),
    "switch": generic(switched),
    "nested loops": generic(nested),
    "lax.scan": (scanned, scanned_exactly),
    "sizes": (sized, sized_exactly),
    "mask": (masked, masked_exactly),
    "callback with JVP": (
        lambda x, n: hosted(x) * x[0],
        lambda x, n: [extended.sin(entry) * x[0] for entry in x],
    ),
    "callback with VJP": (
        lambda x, n: backwards(x) * x[0],
        lambda x, n: [extended.exp(entry) * x[0] for entry in x],
    ),
    "loop around a QNode": (around_circuits, around_circuits_exactly),
    "solve": of_matrices(
        lambda a: jnp.linalg.solve(a, B), lambda a: mpmath.lu_solve(a, mpmath.matrix(B.tolist()))
    ),
    "inv": of_matrices(jnp.linalg.inv, lambda a: a**-1),
    "det": of_matrices(jnp.linalg.det, lambda a: [mpmath.det(a)]),
    "cholesky": of_matrices(
        lambda a: jnp.linalg.cholesky(a @ a.T), lambda a: mpmath.cholesky(a * a.T)
    ),
    "qr": of_matrices(_of_q_and_r, _of_q_and_r_exactly),
    "svd": of_matrices(
        lambda a: jnp.linalg.svd(a, compute_uv=False),
        lambda a: [mpmath.sqrt(s) for s in mpmath.eigsy(a.T * a, eigvals_only=True)][::-1],
    ),
    "eigvalsh": of_matrices(lambda a: jnp.linalg.eigvalsh(a + a.T), _eigenvalues),
    "eigh": of_matrices(_projector_by_jax, _projector),
    "eigvals": of_matrices(_split_eigenvalues_by_jax, _split_eigenvalues),
    # `expm` is among the circuits; alone, with all transformations, it compiles for a minute.
    "lstsq": of_matrices(_least_squares, _least_squares_exactly),
}
