import jax
import jax.numpy as jnp

from diastase import qjit


def program():
    @qjit
    def grow(n):
        return jax.lax.fori_loop(0, 3, lambda i, x: jnp.concatenate([x, x]), jnp.ones(n))

    grow(3)
