import jax.numpy as jnp

from diastase import cond, qjit


def program():
    @qjit
    def choose(x):
        @cond(x > 0)
        def branch():
            return jnp.ones(2)

        @branch.otherwise
        def other():
            return jnp.ones((2, 1))

        return branch()

    choose(1.0)
