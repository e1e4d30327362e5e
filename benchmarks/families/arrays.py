"""Operations on arrays: in chains, and many on equal operands."""

import jax
import jax.numpy as jnp
import numpy as np

from families import family


def vector():
    return jnp.linspace(0.1, 1.0, 6)


def matrix():
    return jnp.linspace(0.1, 1.0, 16).reshape(4, 4)


@family(25)
def products_and_statistics(k):
    def program(a):
        for _ in range(k):
            a = jnp.tanh(a @ a.T)
            a = (a - jnp.mean(a)) / (jnp.std(a) + 1.0)
        return a

    return program, matrix()


@family(100)
def elementwise_in_a_chain(k):
    def program(a, b):
        for i in range(k):
            a = jnp.sin(a) * b + i
        return a

    return program, vector(), vector()


@family(100)
def elementwise_of_one_array(k):
    def program(a):
        return sum(jnp.sin(a * i) for i in range(k))

    return program, vector()


@family(50)
def broadcasts(k):
    def program(a, b):
        for i in range(k):
            b = jnp.sin(b + a[:, None] * i)
        return b

    return program, vector(), jnp.ones((6, 5))


@family(50)
def selections(k):
    def program(a):
        for i in range(k):
            a = jnp.where(a > i, a * 0.5, a + 1.0)
        return a

    return program, vector()


@family(50)
def reductions_in_a_chain(k):
    def program(a):
        for i in range(k):
            a = a - jnp.sum(a * i)
        return a

    return program, vector()


@family(50)
def reductions_of_one_array(k):
    def program(a):
        return sum(jnp.max(a * i) for i in range(k))

    return program, vector()


@family(30)
def cumulative_sums(k):
    def program(a):
        for i in range(k):
            a = jnp.cumsum(a) / (1 + i)
        return a

    return program, vector()


@family(50)
def products(k):
    def program(a, b):
        for i in range(k):
            a = a @ b + i
        return a

    return program, matrix(), matrix()


@family(50)
def transposes(k):
    def program(a):
        for i in range(k):
            a = jnp.sin(a.T.reshape(2, 8)).reshape(4, 4) + i
        return a

    return program, matrix()


@family(100)
def arrays_of_one_concatenation(k):
    def program(a):
        return jnp.concatenate([a * i for i in range(k)])

    return program, vector()


@family(50)
def concatenations_in_a_chain(k):
    def program(a):
        for i in range(k):
            a = jnp.concatenate([a[2:], a[:2] * i])
        return a

    return program, vector()


@family(200)  # with fewer, loops are too short for LLVM to optimise them: a step of its own
def concatenations_that_grow(k):
    def program(a):
        for i in range(k):
            a = jnp.concatenate([a, a[-1:] * i])
        return a

    return program, vector()


@family(200)
def numbers_of_one_array(k):
    def program(x):
        return jnp.array([jnp.sin(x * i) for i in range(k)])

    return program, 0.3


@family(50)
def small_arrays_of_numbers(k):
    def program(a):
        for i in range(k):
            a = jnp.array([[a[1, 1], -a[0, 1]], [a[1, 0] * i, a[0, 0]]]) * 0.5
        return a

    return program, jnp.ones((2, 2))


@family(100)
def constants(k):
    def program(a):
        for i in range(k):
            a = a * np.linspace(0.0, 1.0 + i, 6)
        return a

    return program, vector()


@family(20)
def systems_of_equations(k):
    def program(a, b):
        for i in range(k):
            b = jnp.linalg.solve(a + i, b)
        return b

    return program, matrix() + jnp.eye(4), jnp.ones(4)


@family(20)
def matrix_exponentials(k):
    def program(a):
        for i in range(k):
            a = jax.scipy.linalg.expm(a * 0.1) / (1 + i)
        return a

    return program, matrix()


@family(30)
def sorts(k):
    def program(a):
        for i in range(k):
            a = jnp.sort(jnp.sin(a + i))
        return a

    return program, vector()


@family(20)
def transforms_of_fourier(k):
    def program(a):
        for i in range(k):
            a = jnp.fft.fft(a).real + i
        return a

    return program, vector()


@family(20)
def random_numbers(k):
    def program(seed):
        key, total = jax.random.PRNGKey(seed), 0.0
        for _ in range(k):
            key, sub = jax.random.split(key)
            total = total + jax.random.normal(sub, (3,))
        return total

    return program, 7
