"""Arithmetic of numbers."""

import jax.numpy as jnp

from families import family


@family(250)
def arithmetic_in_a_chain(k):
    def program(x, y):
        for i in range(k):
            x = x * y + (1 + i)
        return x

    return program, 0.3, 0.9


@family(250)
def functions_in_a_chain(k):
    def program(x):
        for i in range(k):
            x = jnp.sin(x) * (1 + i)
        return x

    return program, 0.3


@family(250)
def functions_of_one_number(k):
    def program(x):
        return sum(jnp.sin(x * i) for i in range(k))

    return program, 0.3


@family(250)
def integers_in_a_chain(k):
    def program(n):
        for i in range(k):
            n = (n * 3 + i) % 1001
        return n

    return program, 3


@family(250)
def complex_numbers_in_a_chain(k):
    def program(z):
        for i in range(k):
            z = z * 1j + jnp.abs(z) * i
        return z

    return program, 0.3 + 0.1j


@family(250)
def comparisons(k):
    def program(x):
        for i in range(k):
            x = jnp.where(x > i, x * 0.5, x + 1.0)
        return x

    return program, 0.3


@family(250)
def formulas_that_share(k):
    """Each step uses the two before, as Fibonacci's numbers do."""

    def program(x, y):
        for i in range(k):
            x, y = y, x * 0.5 + y * i
        return y

    return program, 0.3, 0.4
