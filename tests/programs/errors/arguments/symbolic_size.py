import jax
import jax.numpy as jnp
from jax.export import symbolic_shape

from diastase import qjit


def program():
    @qjit
    def total(x):
        return jnp.sum(x)

    rows, columns = symbolic_shape("rows, columns")
    total.trace(jax.ShapeDtypeStruct((rows * columns, 3), jnp.float64))
