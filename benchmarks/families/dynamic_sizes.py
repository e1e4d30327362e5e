"""Sizes known at run time only: many operations of one size, and many sizes."""

import jax.numpy as jnp

from diastase import for_loop, qjit
from families import family


def any_size(program):
    return qjit(program, abstracted_axes={0: "n"})


def vector():
    return jnp.linspace(0.0, 1.0, 5)


@family(50)
def elementwise_of_one_size(k):
    def program(a):
        for i in range(k):
            a = jnp.sin(a) * (1 + i)
        return a

    return any_size(program), vector()


@family(30)
def reductions_of_one_size(k):
    def program(a):
        for i in range(k):
            a = a - jnp.sum(a * i)
        return a

    return any_size(program), vector()


@family(20)
def concatenations_of_dynamic_sizes(k):
    def program(a):
        for i in range(k):
            a = jnp.concatenate([a, a[:1] * i])
        return a

    return any_size(program), vector()


@family(20)
def arrays_made_of_one_size(k):
    def program(n):
        total = jnp.zeros(n)
        for i in range(k):
            total = total + jnp.ones(n) * i
        return total

    return program, 3


@family(20)
def arrays_made_of_different_sizes(k):
    def program(n):
        return sum(jnp.sum(jnp.ones(n + i)) for i in range(k))

    return program, 3


@family(20)
def arguments_of_different_sizes(k):
    def program(*arrays):
        return sum(jnp.sum(jnp.sin(a) * i) for i, a in enumerate(arrays))

    sizes = tuple({0: f"n{i}"} for i in range(k))
    return qjit(program, abstracted_axes=sizes), *(jnp.ones(2 + i % 3) for i in range(k))


@family(20)
def loops_of_one_dynamic_size(k):
    def program(n):
        a = jnp.ones(n)
        for i in range(k):
            a = for_loop(0, n, 1)(lambda j, a, i=i: jnp.sin(a) * i + j)(a)
        return jnp.sum(a)

    return program, 3


@family(20)
def elements_set_of_one_size(k):
    def program(a):
        for i in range(k):
            a = a.at[i % 3].set(a[(i + 1) % 3] * 1.1)
        return a

    return any_size(program), vector()
