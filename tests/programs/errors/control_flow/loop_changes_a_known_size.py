import jax.numpy as jnp

from diastase import qjit, while_loop


def program():
    @qjit
    def double(limit):
        @while_loop(lambda state: jnp.sum(state["x"]) < limit)
        def loop(state):
            return {"x": jnp.concatenate([state["x"], state["x"]])}

        return loop({"x": jnp.ones(2)})

    double(10)
