"""Derivatives and batches of classical code over arrays of dynamic size."""

import jax
import jax.numpy as jnp
from jax import lax


@jax.custom_jvp
def doubled_slope(x):
    return jnp.sin(x)


doubled_slope.defjvp(lambda primals, tangents: (jnp.sin(primals[0]), 2 * tangents[0]))


@jax.custom_vjp
def scaled_gradient(x):
    return x * x


scaled_gradient.defvjp(lambda x: (x * x, x), lambda x, g: (g * x * 5,))

PROGRAMS = {
    "grad": lambda x: jax.grad(lambda v: jnp.sum(jnp.sin(v) * v))(x),
    "value_and_grad": lambda x, y: jax.value_and_grad(lambda v: (v @ y) ** 2)(x),
    "grad of two": lambda x, a: jax.grad(lambda v, w: jnp.sum((v @ w) ** 2), (0, 1))(x, a),
    "grad through a sort": lambda x: jax.grad(lambda v: jnp.sum(jnp.sort(v) ** 2))(x),
    "grad through an index": lambda x, c: jax.grad(
        lambda v: jnp.sum(v.at[c].get(mode="fill", fill_value=0.0) ** 2)
    )(x),
    "grad through a slice": lambda x: jax.grad(lambda v: jnp.sum(v[1:] * v[:-1]))(x),
    "grad through cumsum": lambda x: jax.grad(lambda v: jnp.sum(jnp.cumsum(v) ** 2))(x),
    "grad through a scan": lambda x: jax.grad(
        lambda v: lax.scan(lambda c, e: (c * 0.5 + e, c * e), 0.0, v)[1].sum()
    )(x),
    "grad through fori_loop": lambda x: jax.grad(
        lambda v: lax.fori_loop(0, 3, lambda j, c: c * jnp.sin(c), v).sum()
    )(x),
    "grad through cond": lambda x, n: jax.grad(
        lambda v: lax.cond(jnp.asarray(n) > 2, jnp.sin, jnp.cos, v).sum()
    )(x),
    "grad of norms": lambda y: jax.grad(lambda v: jnp.sqrt(1 + v @ v))(y),
    "grad of logsumexp": lambda x: jax.grad(jax.nn.logsumexp)(x),
    "grad of a mean": lambda a: jax.grad(lambda v: v.mean() * 1.0)(a),
    "grad of a maximum": lambda a: jax.grad(lambda v: v.max(1).sum())(a),
    "grad of prod": lambda a: jax.grad(lambda v: v.prod(1).sum())(a),
    "jvp": lambda x, y: jax.jvp(lambda v: v * jnp.exp(v), (x,), (y,)),
    "vjp": lambda x, y: jax.vjp(lambda v: v[::-1] * v, x)[1](y),
    "linearize": lambda x, y: jax.linearize(jnp.tanh, x)[1](y),
    "jacfwd": lambda x: jax.jacfwd(lambda v: v * v.sum())(x),
    "jacrev": lambda x: jax.jacrev(lambda v: v * v.sum())(x),
    "hessian": lambda x: jax.hessian(lambda v: jnp.sum(v**3) + (v.sum()) ** 2)(x),
    "custom_jvp": lambda x: jax.grad(lambda v: doubled_slope(v).sum())(x),
    "custom_vjp": lambda x: jax.grad(lambda v: scaled_gradient(v).sum())(x),
    "checkpoint": lambda x: jax.grad(
        lambda v: jax.checkpoint(lambda w: jnp.sum(jnp.sin(jnp.sin(w))))(v)
    )(x),
    "linear_transpose": lambda x: jax.linear_transpose(lambda v: v * 3.0, x)(x),
    "vmap": lambda a: jax.vmap(lambda r: r * r.sum())(a),
    "vmap of two": lambda a, x: jax.vmap(lambda r, e: r @ jnp.arange(3.0) + e)(a, x),
    "vmap over columns": lambda a: jax.vmap(lambda r: jnp.sort(r), in_axes=1, out_axes=1)(a),
    "vmap of a static axis": lambda t: jax.vmap(lambda r: r - r.mean())(t),
    "vmap, unmapped": lambda a, x: jax.vmap(lambda r, w: w.sum() * r, (0, None))(a, x),
    "vmap of vmap": lambda x, y: jax.vmap(lambda p: jax.vmap(lambda q: jnp.sin(p) * q)(y))(x),
    "vmap of grad": lambda a: jax.vmap(jax.grad(lambda r: jnp.sum(r**3)))(a),
    "vmap of cond": lambda x: jax.vmap(lambda e: lax.cond(e > 0, jnp.sin, jnp.cos, e))(x),
    "vmap of while_loop": lambda y: jax.vmap(
        lambda e: lax.while_loop(lambda c: c > 0.5, lambda c: c / 2, e)
    )(y),
    "vmap of scan": lambda a: jax.vmap(lambda r: lax.scan(lambda c, e: (c + e, c), 0.0, r))(a),
    "vmap of an index": lambda a, c: jax.vmap(lambda r, j: r[j])(a, c % 3),
    "vmap of an update": lambda a, c: jax.vmap(lambda r, j: r.at[j].set(0))(a, c % 3),
    "vmap of dynamic_slice": lambda a, c: jax.vmap(lambda r, j: lax.dynamic_slice(r, (j,), (2,)))(
        a, c % 2
    ),
    "per-example gradients": lambda a, x: jax.vmap(
        lambda r, e: jax.grad(lambda w: (r @ w - e) ** 2)(jnp.ones(3))
    )(a, x),
    "gradient descent": lambda a, x: lax.fori_loop(
        0, 5, lambda j, w: w - 0.01 * jax.grad(lambda u: jnp.sum((a @ u - x) ** 2))(w), jnp.zeros(3)
    ),
}
