import jax.numpy as jnp

from diastase import grad, qjit


def program():
    def waves(x):
        return jnp.sin(x)

    @qjit
    def slope(x):
        return grad(waves)(x)

    slope(jnp.ones(3))
