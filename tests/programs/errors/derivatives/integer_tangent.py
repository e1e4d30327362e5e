import jax.numpy as jnp

from diastase import jvp, qjit


@qjit
def along(x, direction):
    return jvp(jnp.sin, (x,), (direction,))


def program():
    along(0.5, 1)
