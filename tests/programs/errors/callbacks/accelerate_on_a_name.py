import jax.numpy as jnp

from diastase import accelerate


def program():
    return accelerate(jnp.sin, dev="gpu")
