"""Control flow of `jax.lax` and of `diastase`, with carried and captured arrays of dynamic size."""

import jax
import jax.numpy as jnp
from jax import lax

from diastase_runtime.errors import SizeMismatchError
from programs.matrix.runner import Program

EMPTY = {0: SizeMismatchError}

PROGRAMS = {
    "fori_loop": lambda x: lax.fori_loop(0, 5, lambda j, c: c * 0.5 + j, x),
    "fori_loop up to the size": lambda x, n: lax.fori_loop(0, n, lambda j, c: c + j, x),
    "fori_loop of a matrix": lambda a: lax.fori_loop(0, 3, lambda j, c: c.at[:, j].add(j), a),
    "fori_loop with an index": Program(
        lambda x, n: lax.fori_loop(0, n, lambda j, c: c.at[j].set(c[j] * j), x),
        lenient=frozenset({0}),
    ),
    "while_loop": lambda x: lax.while_loop(
        lambda c: c[0] < 4, lambda c: (c[0] + 1, c[1] * 2), (0, x)
    ),
    "while_loop by the data": lambda y: lax.while_loop(
        lambda c: jnp.sum(c) > 1, lambda c: c / 2, y
    ),
    "scan": lambda x: lax.scan(lambda c, e: (c + e, c * e), 0.0, x),
    "scan, reversed": lambda a: lax.scan(
        lambda c, r: (c * 0.5 + r, c.sum()), jnp.zeros(3), a, reverse=True
    ),
    "scan without arrays": lambda x, n: lax.scan(
        lambda c, _: (c + 1, c[:2].sum()), x, None, length=4
    ),
    "scan of a dynamic length": lambda x, n: lax.scan(
        lambda c, _: (c * 0.5, c.sum()), x, None, length=n
    ),
    "scan over pairs": lambda x, a: lax.scan(lambda c, xs: (c + xs[0], xs[1] * c), 1.0, (x, a)),
    "scan, unrolled": lambda t: lax.scan(
        lambda c, r: (c + r, r), jnp.zeros(t.shape[1]), t, unroll=True
    ),
    "scan carries a dynamic array": lambda t: lax.scan(lambda c, r: (c + r, c * r), t[0], t),
    "map": lambda x: lax.map(lambda e: jnp.sin(e) * 2, x),
    "map of rows": lambda a: lax.map(lambda r: (r.sum(), r * 2), a),
    "cond": lambda x, n: lax.cond(jnp.asarray(n) > 2, lambda v: v * 2, lambda v: v - 1, x),
    "cond by the data": lambda x: lax.cond(x.sum() > 0, lambda: x, lambda: -x),
    "switch": lambda x, n: lax.switch(n % 3, [lambda v: v, jnp.sin, lambda v: v[::-1]], x),
    "associative_scan": lambda x: lax.associative_scan(jnp.add, x),
    "associative_scan of pairs": lambda x, y: lax.associative_scan(
        lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (y, x)
    ),
    "associative_scan, reversed": lambda a: lax.associative_scan(
        jnp.maximum, a, reverse=True, axis=0
    ),
    "nested loops": lambda x: lax.fori_loop(
        0, 2, lambda j, c: lax.fori_loop(0, 3, lambda m, d: d + m * j, c), x
    ),
    "cond in a loop": lambda x: lax.fori_loop(
        0, 4, lambda j, c: lax.cond(j % 2 == 0, lambda: c + 1, lambda: c * 2), x
    ),
    "loop in a cond": lambda x, n: lax.cond(
        jnp.asarray(n) > 1, lambda: lax.fori_loop(0, 3, lambda j, c: c + j, x), lambda: x
    ),
    "scan in a scan": lambda s: lax.scan(
        lambda c, r: (lax.scan(lambda d, e: (d + e, d), c, r)[0], c), 0.0, s
    ),
    "captured arrays": lambda x, s: lax.fori_loop(0, 3, lambda j, c: s @ c * 0.01 + x, x),
    "jit": lambda x, a: jax.jit(lambda v, w: v @ w)(x, a),
    "jit twice": lambda x: (lambda f: f(x) + f(jnp.concatenate([x, x])).sum())(
        jax.jit(lambda v: v * v.shape[0])
    ),
    "checkpoint": lambda x: jax.checkpoint(lambda v: jnp.sin(v).sum())(x),
    "Newton's method": lambda y: lax.while_loop(
        lambda c: jnp.any(abs(c * c - y) > 1e-9), lambda c: (c + y / c) / 2, jnp.ones_like(y)
    ),
}
