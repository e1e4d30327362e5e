"""Random numbers: `jax.random`. The first argument is a seed, or what the numbers are used with."""

import jax
import jax.numpy as jnp
from jax import random

from classical_200.rows import family, normal, row, uniform


def drawn(name, *parameters, shape=(), **more):
    """What draws from a distribution; the sizes and the dtype are those of the argument."""

    def draw(x):
        values = getattr(random, name)(random.key(1), *parameters, x.shape + shape, x.dtype, **more)
        return x + values

    return draw


def monte_carlo_pi(total):
    def step(i, total):
        x, y = random.uniform(random.fold_in(random.key(0), i), (2, 1000), total.dtype)
        return total + (x * x + y * y < 1).mean(dtype=total.dtype)

    return jax.lax.fori_loop(0, 100, step, total)


def random_walk(x):
    def step(state, _):
        x, key = state
        key, use = random.split(key)
        return (x + random.normal(use, x.shape, x.dtype), key), x[0]

    return jax.lax.scan(step, (x, random.key(0)), None, length=200)[1]


def metropolis(x):
    def step(i, x):
        first, second = random.split(random.fold_in(random.key(0), i))
        y = x + 0.5 * random.normal(first, x.shape, x.dtype)
        accept = jnp.log(random.uniform(second, x.shape, x.dtype)) < (x * x - y * y) / 2
        return jnp.where(accept, y, x)

    return jax.lax.fori_loop(0, 50, step, x)


def reparameterised(x, deviation):
    return jnp.sin(x + deviation * random.normal(random.key(3), x.shape, x.dtype))


ROWS = family(
    "jax.random",
    *(
        given | {"by_dtype": False}
        for given in (
            row("large f64 forward alone", "normal", drawn("normal"), normal(10**6)),
            row("large f32 forward alone", "uniform", drawn("uniform"), normal(10**6)),
            row(
                "large f64 forward alone",
                "gamma",
                lambda a: random.gamma(random.key(0), a),
                uniform(200_000, high=5),
            ),
            row(
                "large f64 forward alone",
                "poisson",
                lambda rate: random.poisson(random.key(0), rate),
                uniform(200_000, high=20),
                tolerance=1e-4,
            ),
            row(
                "cache f32 gradient alone",
                "gamma, by its shape",
                lambda a: random.gamma(random.key(0), a),
                uniform(5000, high=5),
            ),
            row(
                "cache f64 gradient alone",
                "reparameterised normal",
                reparameterised,
                normal(50_000),
                uniform(50_000),
            ),
            row(
                "small f64 gradient loop",
                "reparameterised normal",
                reparameterised,
                normal(64),
                uniform(64),
            ),
            row(
                "small f32 forward loop", "Monte Carlo of pi", monte_carlo_pi, uniform(), whole=True
            ),
            row("cache f32 forward loop", "Metropolis", metropolis, normal(10_000), whole=True),
            row("small f64 forward loop", "random walk", random_walk, normal(4), whole=True),
            row(
                "cache f64 forward alone",
                "permutation",
                lambda x: random.permutation(random.key(0), x),
                normal(50_000),
            ),
            row(
                "large f32 forward alone",
                "categorical",
                lambda x: random.categorical(random.key(0), x),
                normal(1000, 1000),
            ),
            row(
                "cache f64 forward alone",
                "choice with p",
                lambda p: random.choice(random.key(0), 1000, (20_000,), p=p),
                uniform(1000),
            ),
            row(
                "large i64 forward alone",
                "randint",
                lambda x: x + random.randint(random.key(0), x.shape, 0, 1000, x.dtype),
                lambda generator, dtype: generator.integers(0, 9, 10**6).astype(dtype),
            ),
            row(
                "cache f32 forward alone",
                "truncated_normal, gumbel",
                lambda x: (
                    x
                    + random.truncated_normal(random.key(0), -1, 1, x.shape, x.dtype)
                    + random.gumbel(random.key(1), x.shape, x.dtype)
                ),
                normal(50_000),
            ),
            row(
                "cache f64 forward alone",
                "beta, dirichlet",
                lambda a: (
                    random.beta(random.key(0), a, a),
                    random.dirichlet(random.key(1), a[:1000]),
                ),
                uniform(5000, high=3),
            ),
            row(
                "small f64 forward alone",
                "multivariate_normal",
                lambda m, c: random.multivariate_normal(random.key(0), m, c, (20,)),
                normal(4),
                lambda generator, dtype: (2 * jnp.eye(4) + 0.5).astype(dtype),
            ),
            row(
                "large f64 forward alone",
                "bernoulli, exponential",
                lambda p: (
                    random.exponential(random.key(0), p.shape, p.dtype)
                    * random.bernoulli(random.key(1), p)
                ),
                uniform(10**6),
            ),
            row(
                "cache f64 forward alone",
                "binomial",
                lambda p: random.binomial(random.key(0), 20, p),
                uniform(5000),
            ),
        )
    ),
)
