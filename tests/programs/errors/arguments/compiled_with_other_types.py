import jax
import jax.numpy as jnp

from diastase import qjit


def program():
    def scale(x, y):
        return x * y

    scalar = jax.ShapeDtypeStruct((), jnp.float64)
    compiled = qjit(scale).lower(scalar, scalar).compile()
    compiled(jnp.float64(1.0), jnp.arange(3, dtype=jnp.int32))
