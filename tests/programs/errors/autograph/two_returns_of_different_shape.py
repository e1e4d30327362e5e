import jax.numpy as jnp

from diastase import qjit


@qjit(autograph=True)
def f(x):
    if x > 5:
        return jnp.array([1, 2])
    return 0


def program():
    f(1.0)
