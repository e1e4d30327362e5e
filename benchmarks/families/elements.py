"""Updates in place, and reading of elements and slices."""

import jax
import jax.numpy as jnp

from diastase import for_loop
from families import family

SIZE = 50


def array():
    return jnp.linspace(0.0, 1.0, SIZE)


@family(100)
def elements_set(k):
    def program(a, x):
        for i in range(k):
            a = a.at[i % SIZE].set(x * i)
        return a

    return program, array(), 1.3


@family(100)
def elements_added_to(k):
    def program(a, x):
        for i in range(k):
            a = a.at[i % SIZE].add(x * i)
        return a

    return program, array(), 1.3


@family(100)
def elements_set_at_traced_places(k):
    def program(a, x, n):
        for i in range(k):
            a = a.at[n + i % 7].set(x * i)
        return a

    return program, array(), 1.3, 2


@family(100)
def elements_set_of_elements(k):
    def program(a):
        for i in range(k):
            a = a.at[i % SIZE].set(a[(7 * i + 3) % SIZE] * 1.1)
        return a

    return program, array()


@family(50)
def rows_set(k):
    def program(a, b):
        for i in range(k):
            a = a.at[i % 7].set(jnp.sin(b) * i)
        return a

    return program, jnp.ones((7, SIZE)), array()


@family(50)
def slices_set(k):
    def program(a, b):
        for i in range(k):
            a = a.at[i % 40 : i % 40 + 4].set(b * i)
        return a

    return program, array(), jnp.ones(4)


@family(50)
def slices_updated_at_traced_places(k):
    def program(a, b, n):
        for i in range(k):
            a = jax.lax.dynamic_update_slice(a, b * i, (n + i,))
        return a

    return program, array(), jnp.ones(4), 2


@family(30)
def scatters(k):
    def program(a, b, n):
        for i in range(k):
            a = a.at[n + i].add(b * i)
        return a

    return program, array(), jnp.ones(3), jnp.array([1, 4, 2])


@family(50)
def elements_set_in_a_loop(k):
    def program(a, x, n):
        def body(j, a):
            for i in range(k):
                a = a.at[(i + j) % SIZE].set(x * i)
            return a

        return for_loop(0, n, 1)(body)(a)

    return program, array(), 1.3, 3


@family(100)
def elements_set_of_an_array_made_here(k):
    def program(x):
        a = jnp.zeros((k, 2))
        for i in range(k):
            a = a.at[i, i % 2].set(x * i)
        return a

    return program, 1.3


@family(50)
def loops_that_set_elements_in_sequence(k):
    def program(a, n):
        for i in range(k):
            a = for_loop(0, n, 1)(lambda j, a, i=i: a.at[j].set(a[j + 1] * i))(a)
        return a

    return program, array(), 3


@family(200)
def elements_read(k):
    def program(a):
        return sum(a[i % SIZE] * i for i in range(k))

    return program, array()


@family(100)
def elements_read_at_traced_places(k):
    def program(a, n):
        return sum(a[n + i % 7] * i for i in range(k))

    return program, array(), 2


@family(50)
def slices_read(k):
    def program(a):
        return sum(a[i % 40 : i % 40 + 4] * i for i in range(k))

    return program, array()


@family(50)
def slices_read_at_traced_places(k):
    def program(a, n):
        return sum(jax.lax.dynamic_slice(a, (n + i,), (4,)) * i for i in range(k))

    return program, array(), 2


@family(50)
def gathers(k):
    def program(a, n):
        return sum(a[n + i] * i for i in range(k))

    return program, array(), jnp.array([1, 4, 2])
