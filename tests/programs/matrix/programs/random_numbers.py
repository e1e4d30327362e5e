"""`jax.random`: the same bits as JAX."""

import jax
import jax.numpy as jnp
from jax import random


def key():
    return random.key(42)


PROGRAMS = {
    "normal": lambda n: (random.normal(key(), (n,)), random.normal(key(), (n, 2), jnp.float32)),
    "uniform": lambda n: (
        random.uniform(key(), (n,)),
        random.uniform(key(), (2, n), minval=-1, maxval=3),
    ),
    "bits": lambda n: (
        random.bits(key(), (n,)),
        random.bits(key(), (n,), jnp.uint8),
        random.bits(key(), (n, 3), jnp.uint64),
    ),
    "randint": lambda n: (
        random.randint(key(), (n,), 0, 10),
        random.randint(key(), (2, n), -5, 5, jnp.int32),
    ),
    "bernoulli": lambda n, p: (random.bernoulli(key(), 0.3, (n,)), random.bernoulli(key(), p)),
    "exponential": lambda n: (
        random.exponential(key(), (n,)),
        random.gumbel(key(), (n,)),
        random.laplace(key(), (n,)),
        random.logistic(key(), (n,)),
    ),
    "cauchy": lambda n: (
        random.cauchy(key(), (n,)),
        random.rayleigh(key(), 2.0, (n,)),
        random.weibull_min(key(), 1.0, 2.0, (n,)),
    ),
    "truncated_normal": lambda n: random.truncated_normal(key(), -1, 1, (n,)),
    "rademacher": lambda n: (random.rademacher(key(), (n,)), random.maxwell(key(), (n,))),
    "gamma": lambda n: random.gamma(key(), 2.0, (n,)),
    "poisson": lambda n: random.poisson(key(), 3.0, (n,)),
    "categorical": lambda a, x, n: (
        random.categorical(key(), a),
        random.categorical(key(), jnp.arange(3.0), shape=(n,)),
    ),
    "choice": lambda n: random.choice(key(), 5, (n,)),
    "choice with weights": lambda n: random.choice(key(), 3, (n,), p=jnp.array([0.2, 0.3, 0.5])),
    "choice of an array": lambda x: random.choice(key(), jnp.concatenate([x, jnp.ones(2)]), (4,)),
    "choice without replacement": lambda x, n: random.choice(
        key(), jnp.concatenate([x, jnp.ones(2)]), (n,), replace=False
    ),
    "permutation": lambda n, x: (random.permutation(key(), x), random.permutation(key(), n)),
    "permutation of rows": lambda a: (
        random.permutation(key(), a),
        random.permutation(key(), a, axis=1),
    ),
    "permutation, independent": lambda a: random.permutation(key(), a, independent=True),
    "split": lambda n: random.key_data(random.split(key(), n)),
    "split and use": lambda n: jax.vmap(lambda one: random.normal(one, (2,)))(
        random.split(key(), n)
    ),
    "fold_in": lambda c: jax.vmap(lambda j: random.normal(random.fold_in(key(), j)))(c),
    "multivariate_normal": lambda n: random.multivariate_normal(
        key(), jnp.zeros(2), jnp.eye(2), (n,)
    ),
    "geometric": lambda n: random.geometric(key(), 0.3, (n,)),
    "key from the size": lambda n: random.normal(random.key(n), (3,)),
    "other generators": lambda n: random.normal(random.key(1, impl="rbg"), (n,)),
    "random walk": lambda n: jnp.cumsum(random.rademacher(key(), (n,), float)),
}
