import jax.numpy as jnp

from diastase import for_loop, qjit


def program():
    @qjit
    def count(n):
        @for_loop(0, n, 1)
        def body(i, state):
            return {"total": state["total"] + 1, "last": jnp.float32(i)}

        return body({"total": 0, "last": jnp.int32(0)})

    count(3)
