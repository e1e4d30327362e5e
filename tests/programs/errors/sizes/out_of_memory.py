import jax.numpy as jnp

from diastase import qjit


def program():
    @qjit
    def table(n):
        return jnp.sin(jnp.arange(n) * 1.0)[::2] * 2

    table(2**55)
