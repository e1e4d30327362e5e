"""`jax.jit`, for classical programs."""

import jax

jax.config.update("jax_enable_x64", True)


def prepare(program, arguments):
    function, values = program.classical(**arguments)
    compiled = jax.jit(function)
    return lambda: jax.block_until_ready(compiled(*values))


def compiler(program, arguments):
    def make(number):
        function, values = program.classical(**arguments, number=number)
        return lambda: jax.block_until_ready(jax.jit(function)(*values))

    return make


def versions():
    return {"jax": jax.__version__}
