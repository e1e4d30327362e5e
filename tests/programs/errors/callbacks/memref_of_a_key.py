import jax

from diastase import debug, qjit


def program():
    @qjit
    def f(key):
        debug.print_memref(key)
        return jax.random.uniform(key)

    f(jax.random.key(0))
