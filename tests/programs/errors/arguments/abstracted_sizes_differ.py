import jax.numpy as jnp

from diastase import qjit


def program():
    @qjit(abstracted_axes=(("n",), {"w": ("m", "n")}))
    def layer(x, params):
        return params["w"] @ x

    layer(jnp.ones(3), {"w": jnp.ones((2, 4))})
