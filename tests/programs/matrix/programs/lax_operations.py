"""`jax.lax`: operations that have no other name."""

import jax.numpy as jnp
from jax import lax

PROGRAMS = {
    "arithmetic": lambda x, y: (
        lax.add(x, y),
        lax.sub(x, y),
        lax.mul(x, y),
        lax.div(x, y),
        lax.rem(x, y),
        lax.neg(x),
        lax.max(x, y),
        lax.min(x, y),
    ),
    "powers": lambda x, y: (
        lax.pow(y, x),
        lax.integer_pow(x, 3),
        lax.rsqrt(y),
        lax.sqrt(y),
        lax.cbrt(x),
        lax.square(x),
        lax.reciprocal(y),
    ),
    "functions": lambda x, y: (
        lax.exp(x),
        lax.log(y),
        lax.sin(x),
        lax.tan(x),
        lax.tanh(x),
        lax.logistic(x),
        lax.log1p(y),
        lax.expm1(x),
        lax.exp2(x),
    ),
    "rounding": lambda x: (
        lax.floor(x),
        lax.ceil(x),
        lax.round(x),
        lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
        lax.sign(x),
        lax.is_finite(x),
    ),
    "comparisons": lambda x, y: (
        lax.eq(x, y),
        lax.ne(x, y),
        lax.lt(x, y),
        lax.ge(x, y),
        lax.gt(x, y),
        lax.le(x, y),
    ),
    "bits": lambda i, u: (
        lax.population_count(u),
        lax.clz(i),
        lax.shift_left(i, 2 * jnp.ones_like(i)),
        lax.shift_right_logical(u, jnp.ones_like(u)),
        lax.bitwise_not(u),
    ),
    "select": lambda b, x, y: (lax.select(b, x, y), lax.select_n(b, x, y), lax.clamp(-1.0, x, 1.0)),
    "bitcast_convert_type": lambda x, h: (
        lax.bitcast_convert_type(x, jnp.int64),
        lax.bitcast_convert_type(h, jnp.uint32),
        lax.bitcast_convert_type(h, jnp.uint8),
    ),
    "reduce_precision": lambda x: lax.reduce_precision(x, 5, 10),
    "convert_element_type": lambda x, i: (
        lax.convert_element_type(x, jnp.float32),
        lax.convert_element_type(i, complex),
    ),
    "complex": lambda x, y: (
        lax.complex(x, y),
        lax.real(lax.complex(x, y)),
        lax.conj(lax.complex(x, y)),
        lax.imag(lax.complex(y, x)),
    ),
    "reduce": lambda x, a: (
        lax.reduce(a, 0.0, lax.add, (0,)),
        lax.reduce(x, 1.0, lax.mul, (0,)),
        lax.reduce(x, -jnp.inf, lax.max, (0,)),
    ),
    "reduce by a function": lambda x: lax.reduce(x, 0.0, lambda p, q: p + q * 1, (0,)),
    "reduce of two": lambda x, i: lax.reduce(
        (x, i), (0.0, 0), lambda p, q: (p[0] + q[0], p[1] + q[1]), (0,)
    ),
    "reduce with names": lambda x, b, i: (
        lax.reduce_max(jnp.abs(x), (0,)),
        lax.reduce_and(b, (0,)),
        lax.reduce_or(b, (0,)),
        lax.reduce_xor(i, (0,)),
        lax.reduce_sum(x, (0,)),
        lax.reduce_prod(x, (0,)),
    ),
    "cumulative": lambda x: (
        lax.cumsum(x),
        lax.cumprod(x),
        lax.cummax(x),
        lax.cummin(x),
        lax.cumlogsumexp(x),
    ),
    "cumulative, reversed": lambda a: (
        lax.cumsum(a, 0, reverse=True),
        lax.cummax(a, 0, reverse=True),
        lax.cumsum(a, 1, reverse=True),
    ),
    "special": lambda x, y: (
        lax.erf(x),
        lax.erfc(x),
        lax.erf_inv(x / 2),
        lax.lgamma(y),
        lax.digamma(y),
    ),
    "special of two": lambda p, y: lax.zeta(y + 1, p),
    "igamma": lambda p, y: lax.igamma(y, p),
    "bessel": lambda x: (lax.bessel_i0e(x), lax.bessel_i1e(x)),
    "reduce_window": lambda x: lax.reduce_window(
        jnp.concatenate([x, jnp.ones(2)]), 0.0, lax.add, (2,), (1,), "VALID"
    ),
    "reduce_window, padded": lambda t: lax.reduce_window(
        t, -jnp.inf, lax.max, (1, 3), (1, 1), "SAME"
    ),
    "optimization_barrier": lambda x: lax.optimization_barrier((x, x + 1)),
    "stop_gradient": lambda x: lax.stop_gradient(x),
    "argmax": lambda a: (lax.argmax(a, 1, jnp.int32), lax.argmin(a, 1, jnp.int64)),
    "nextafter": lambda x, y: lax.nextafter(x, y),
    "approx_max_k": lambda a: lax.approx_max_k(a, 2),
    "rng_bit_generator": lambda n: lax.rng_bit_generator(jnp.arange(4, dtype=jnp.uint32), (n, 2))[
        1
    ],
    "platform_dependent": lambda x: lax.platform_dependent(
        x, cpu=lambda v: v + 1, default=lambda v: v - 1
    ),
    "custom_root": lambda x: lax.custom_root(
        lambda v: v * 2 - x, x, lambda f, v: x / 2, lambda g, y: y / g(jnp.ones_like(y))
    ),
    "custom_linear_solve": lambda y: lax.custom_linear_solve(
        lambda v: v * 3, y, lambda f, r: r / 3, symmetric=True
    ),
}
