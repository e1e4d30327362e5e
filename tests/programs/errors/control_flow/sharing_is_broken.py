import jax.numpy as jnp

from diastase import for_loop, qjit


def program():
    @qjit
    def grow(n):
        @for_loop(0, 10, 1)
        def loop(i, a, a_):
            b = jnp.ones([n + 1], dtype=float)
            return a, b

        a0 = jnp.ones(n)
        return loop(a0, a0)

    grow(3)
