"""`jax.jit`, for classical programs, and for circuits on PennyLane's devices that it can trace."""

import importlib.metadata

import jax

from subjects import pennylane_compilers

jax.config.update("jax_enable_x64", True)


def prepare(program, arguments):
    function, values = pennylane_compilers.function_of(program, arguments)
    compiled = jax.jit(function)
    return lambda: jax.block_until_ready(compiled(*values))


def compiler(program, arguments):
    def make(number):
        function, values = pennylane_compilers.function_of(program, arguments, number=number)
        return lambda: jax.block_until_ready(jax.jit(function)(*values))

    return make


def versions():
    return {name: importlib.metadata.version(name) for name in ("jax", "pennylane")}
