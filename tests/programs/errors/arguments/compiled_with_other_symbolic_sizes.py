import jax
import jax.numpy as jnp
from jax.export import symbolic_shape

from diastase import qjit


def program():
    @qjit
    def halves(x):
        return x.reshape(2, -1).sum(0)

    compiled = halves.trace(jax.ShapeDtypeStruct(symbolic_shape("2*n"), float)).lower().compile()
    compiled(jnp.ones(5))
