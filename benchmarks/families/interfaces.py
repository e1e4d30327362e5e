"""Arguments and results: many of them, in lists, dictionaries and trees."""

import jax
import jax.numpy as jnp

from diastase import qjit
from families import family


def vector():
    return jnp.linspace(0.1, 1.0, 3)


@family(200)
def dictionary_of_arrays(k):
    def program(tree):
        return jax.tree.map(lambda a: a * 1.01, tree)

    return program, {f"name{i}": vector() for i in range(k)}


@family(200)
def dictionary_of_arrays_of_different_shapes(k):
    def program(tree):
        return jax.tree.map(lambda a: jnp.sin(a) * 1.01, tree)

    return program, {f"name{i}": jnp.ones((1 + i % 17, 1 + i // 17)) for i in range(k)}


@family(200)
def arguments_that_are_numbers(k):
    def program(*numbers):
        return sum(x * (1 + i) for i, x in enumerate(numbers))

    return program, *(0.1 * i for i in range(k))


@family(200)
def arguments_that_are_arrays(k):
    def program(*arrays):
        return sum(a * (1 + i) for i, a in enumerate(arrays))

    return program, *(vector() for _ in range(k))


@family(200)
def arguments_that_are_not_used(k):
    return lambda *arrays: arrays[0] * 2, *(vector() for _ in range(k))


@family(200)
def results_that_are_numbers(k):
    return lambda x: [x * (1 + i) for i in range(k)], 0.3


@family(200)
def results_that_are_arrays(k):
    return lambda a: [a * (1 + i) for i in range(k)], vector()


@family(200)
def results_that_are_arguments(k):
    return lambda *arrays: arrays, *(vector() for _ in range(k))


@family(200)
def results_that_are_one_array(k):
    def program(a):
        return [a * 2.0] * k

    return program, vector()


@family(100)
def training_step_of_k_arrays(k):
    """Momentum: two trees in, two out, the gradient between them."""

    def program(parameters, momenta):
        def cost(tree):
            return sum(jnp.sum(jnp.sin(a) ** 2) for a in jax.tree.leaves(tree))

        gradient = jax.grad(cost)(parameters)
        momenta = jax.tree.map(lambda m, g: 0.9 * m + g, momenta, gradient)
        return jax.tree.map(lambda p, m: p - 0.1 * m, parameters, momenta), momenta

    tree = {f"name{i}": vector() for i in range(k)}
    return program, tree, jax.tree.map(jnp.zeros_like, tree)


@family(100)
def calls_of_a_function_of_dictionaries(k):
    @qjit
    def step(tree):
        return {name: value * 1.01 for name, value in tree.items()}

    def program(tree):
        for _ in range(k):
            tree = step(tree)
        return tree

    return program, {f"name{i}": 0.1 * i for i in range(4)}
