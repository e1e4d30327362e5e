import jax.numpy as jnp

from diastase import qjit


@qjit
def product(a, b):
    return a @ b


def program():
    product(jnp.ones((2, 3)), jnp.ones((2, 3)))
