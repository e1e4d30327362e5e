"""Random numbers of unknown and known sizes: the bits are JAX's, for each of its generators."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

SIZES = (0, 1, 2, 3, 6)


@pytest.mark.sample(1)
@pytest.mark.parametrize("algorithm", list(lax.RandomAlgorithm))
def test_rng_bit_generator(compare_native_dynamic, algorithm):
    def function(words, state, a):
        n = a.shape[0]
        shapes = (("uint8", (n,)), ("uint32", (n, 3)), ("uint64", (3, n)), ("uint16", (n, 5, 3)))
        return [
            lax.rng_bit_generator(key, shape, dtype=dtype, algorithm=algorithm)
            for key in (words, state)
            for dtype, shape in shapes
        ]

    # The second counter overflows.
    words = np.array([0xFFFFFFFF, 2, 3, 4], np.uint32)
    state = np.array([5, 2**64 - 2], np.uint64)
    arguments = [[words, state, np.ones(size)] for size in SIZES]
    specs = [("uint32", "4"), ("uint64", "2"), ("float64", "n")]
    compare_native_dynamic(function, specs, arguments)


@pytest.mark.sample(2)
@pytest.mark.parametrize("algorithm", list(lax.RandomAlgorithm))
def test_rng_bit_generator_of_known_sizes(compare_native, algorithm):
    def function(state):
        shapes = [(), (0,), (3, 5), (5, 3), (3, 3, 5), (1, 1), (3, 4, 2)]
        return [lax.rng_bit_generator(state, one, algorithm=algorithm) for one in shapes]

    compare_native(function, np.array([2**63 + 5, 7], np.uint64))


@pytest.mark.sample(1)
@pytest.mark.parametrize("implementation", ["threefry2x32", "rbg", "unsafe_rbg"])
def test_keys(compare_native_dynamic, implementation):
    def function(a):
        n = a.shape[0]
        key = jax.random.key(7, impl=implementation)
        return (
            jax.random.bits(key, (n, 2), "uint32"),
            jax.random.bits(key, (n,), "uint8"),
            jax.random.normal(key, (n,)),
            jax.random.key_data(jax.random.split(key, 3)),
            jax.random.key_data(jax.random.fold_in(key, 5)),
        )

    compare_native_dynamic(function, [("float64", "n")], [[np.ones(size)] for size in SIZES])


DISTRIBUTIONS = {
    "uniform": lambda key, shape: jax.random.uniform(key, shape, "float32"),
    "randint": lambda key, shape: jax.random.randint(key, shape, -5, 99),
    "bernoulli": lambda key, shape: jax.random.bernoulli(key, 0.3, shape),
    "exponential": lambda key, shape: jax.random.exponential(key, shape),
    "gumbel": lambda key, shape: jax.random.gumbel(key, shape),
    "gamma": lambda key, shape: jax.random.gamma(key, 2.5, shape),
    "poisson": lambda key, shape: jax.random.poisson(key, 3.5, shape),
    "truncated": lambda key, shape: jax.random.truncated_normal(key, -1, 2, shape),
    "halves": lambda key, shape: jax.random.normal(key, shape, "bfloat16"),
    "complex": lambda key, shape: jax.random.normal(key, shape, "complex64"),
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distribution(compare_native_dynamic, name):
    def function(a):
        return DISTRIBUTIONS[name](jax.random.key(3), (a.shape[0], 2))

    compare_native_dynamic(function, [("float64", "n")], [[np.ones(size)] for size in SIZES])


def test_empty(compare_native):
    compare_native(lambda: jax.random.normal(jax.random.key(0), (0, 3)))
    compare_native(lambda: jax.random.gamma(jax.random.key(0), 2.0, (0,)))


def test_permutation_of_known_size(compare_native):
    compare_native(lambda a: jax.random.permutation(jax.random.key(3), a), jnp.arange(7))


def test_arrays_of_keys(compare_native_dynamic):
    def function(a):
        keys = jax.random.split(jax.random.key(1), 3 * a.shape[0])
        rows = keys.reshape(-1, 3)
        moved = rows[:, 1:], rows[::-1], jnp.concatenate([keys, keys]), rows[:, None, 0], rows.T
        return [jax.random.key_data(one) for one in moved], jax.vmap(jax.random.bits)(keys)

    compare_native_dynamic(function, [("float64", "n")], [[np.ones(size)] for size in SIZES])
