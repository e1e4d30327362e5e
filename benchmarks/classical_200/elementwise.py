"""Functions of one element at a time: `jax.numpy`, "universal functions"; and of bits."""

import jax
import jax.numpy as jnp

from classical_200.rows import family, integers, normal, repeated, row, spread, uniform


def mandelbrot(real, imaginary):
    """Thirty iterations for every point."""
    c = real[None, :] + 1j * imaginary[:, None]

    def step(_, state):
        z, count = state
        z = jnp.where(abs(z) < 2, z * z + c, z)
        return z, count + (abs(z) < 2)

    return jax.lax.fori_loop(0, 30, step, (c * 0, jnp.zeros(c.shape, int)))[1]


def popcount_of_gray(x):
    return jnp.bitwise_count(x ^ (x >> 1))


def xorshift(x):
    x = x ^ (x << 13)
    x = x ^ (x >> 7)
    return x ^ (x << 17)


ROWS = family(
    "jax.numpy: elementwise",
    row("small f64 forward alone", "sin", jnp.sin, normal(100)),
    row(
        "cache f32 forward loop",
        "sin * exp(-x)",
        lambda x: jnp.sin(x) * jnp.exp(-x),
        normal(50_000),
    ),
    row("large f64 forward alone", "x ** 1.7", lambda x: jnp.abs(x) ** 1.7, normal(10**6)),
    row("large f64 forward alone", "float %", lambda x, y: x % y, normal(10**6), uniform(10**6)),
    row("large f32 gradient alone", "tanh", jnp.tanh, normal(10**6)),
    row(
        "cache f64 gradient loop", "log1p, sqrt", lambda x: jnp.log1p(jnp.sqrt(x)), uniform(20_000)
    ),
    row("small f32 gradient alone", "arctan2", jnp.arctan2, normal(500), normal(500)),
    row(
        "cache f64 forward alone",
        "arcsinh, arccosh",
        lambda x: jnp.arcsinh(x) * jnp.arccosh(x + 2),
        uniform(100_000),
    ),
    row(
        "large f32 forward alone", "cbrt, exp2", lambda x: jnp.cbrt(x) + jnp.exp2(x), normal(10**6)
    ),
    row(
        "small f64 forward loop",
        "hypot, sinc",
        lambda x: jnp.hypot(x, 1.0) * jnp.sinc(x),
        normal(64),
    ),
    row("cache f32 forward alone", "logaddexp", jnp.logaddexp, normal(100_000), normal(100_000)),
    row(
        "large f64 forward alone",
        "round, floor, sign",
        lambda x: jnp.round(x, 2) + jnp.floor(x) * jnp.sign(x),
        normal(10**6),
    ),
    row(
        "large f32 forward alone",
        "where, clip",
        lambda x: jnp.where(x > 0, x, 0.1 * jnp.clip(x, -1, 1)),
        normal(10**6),
    ),
    row(
        "cache i64 forward alone",
        "floor_divide, mod",
        lambda a, b: a // b + a % b,
        integers(100_000, low=-1000, high=1000),
        integers(100_000, low=1, high=50),
    ),
    row("large i32 forward alone", "bitwise_count", popcount_of_gray, integers(10**6, high=2**30)),
    row(
        "cache i64 forward loop",
        "xorshift",
        repeated(xorshift, 100),
        integers(50_000, high=2**40),
        times=100,
        whole=True,
    ),
    row(
        "cache f64 forward loop",
        "mandelbrot 200²",
        mandelbrot,
        spread(-2, 1, 200),
        spread(-1, 1, 200),
        times=30,
        whole=True,
    ),
    row(
        "small i64 forward alone",
        "gcd, lcm",
        lambda a, b: jnp.gcd(a, b) + jnp.lcm(a, b),
        integers(1000, low=1, high=100),
        integers(1000, low=1, high=100),
    ),
)
