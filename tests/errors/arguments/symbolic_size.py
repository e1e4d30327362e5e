import jax
import jax.numpy as jnp
from jax.export import symbolic_shape

from diastase import qjit


def program():
    @qjit
    def total(x):
        return jnp.sum(x)

    total.trace(jax.ShapeDtypeStruct(symbolic_shape("n, 3"), jnp.float64))
