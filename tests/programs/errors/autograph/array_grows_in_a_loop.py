import jax.numpy as jnp

from diastase import qjit


@qjit(autograph=True)
def f(n):
    grown = jnp.ones(2)
    for _ in range(n):
        grown = jnp.concatenate([grown, grown])
    return grown


def program():
    f(3)
