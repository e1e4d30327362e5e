import jax.numpy as jnp

from diastase import qjit


def program():
    @qjit(abstracted_axes=({}, {1: "n"}))
    def scaled(factor, x):
        return factor * x

    scaled(2.0, jnp.ones(3))
