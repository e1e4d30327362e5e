import jax.numpy as jnp

from diastase import qjit, vmap


def root(x):
    if x < 0:
        raise ValueError("negative")
    return x**0.5


@qjit(autograph=True)
def roots(xs):
    return vmap(root)(xs)


def program():
    roots(jnp.ones(3))
