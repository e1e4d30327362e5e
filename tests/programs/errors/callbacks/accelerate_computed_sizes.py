import jax.numpy as jnp

from diastase import accelerate, qjit


def program():
    def positive(x):
        return x[x > 0]

    @qjit
    def f(x):
        return accelerate(positive)(x)

    f(jnp.array([1.0, -1.0]))
