import jax.numpy as jnp

from diastase import qjit


@qjit(autograph=True)
def fill(x):
    table = jnp.zeros(3)

    def put(i):
        table[i] = x

    put(0)
    return table


def program():
    fill(1.0)
