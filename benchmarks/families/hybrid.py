"""Circuits between classical code, callbacks, and functions that are compiled on their own."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml

from diastase import debug, pure_callback, qjit
from families import family
from families.circuits import qnode


@family(50)
def circuits_between_array_operations(k):
    def program(x):
        qml.RX(x[0], wires=0)
        qml.RY(x[1], wires=1)
        return qml.probs(wires=[0, 1])

    circuit = qnode(program, wires=2)

    def chain(x):
        for i in range(k):
            x = jnp.tanh(circuit(x) * (1 + i))
        return x

    return chain, jnp.array([0.1, 0.2, 0.3, 0.4])


@family(50)
def callbacks(k):
    def one(i):
        def double(x) -> float:
            return np.float64(x * 2 + i)

        return pure_callback(double)

    def program(x):
        for i in range(k):
            x = one(i)(x)
        return x

    return program, 0.3


@family(50)
def callbacks_of_arrays(k):
    shape = jax.ShapeDtypeStruct((3,), jnp.float64)

    def program(x):
        for i in range(k):
            x = pure_callback(lambda a, i=i: np.sin(a) + i, shape)(x)
        return x

    return program, jnp.array([0.1, 0.2, 0.3])


@family(50)
def prints(k):
    def program(x):
        for i in range(k):
            x = x * (1 + i)
            debug.print("{x}", x=x)
        return x

    return program, 0.3


@family(100)
def calls_of_jitted_functions(k):
    def one(i):
        return jax.jit(lambda a: jnp.sin(a) * i + a)

    def program(a):
        for i in range(k):
            a = one(i)(a)
        return a

    return program, jnp.linspace(0.0, 1.0, 4)


@family(100)
def calls_of_one_jitted_function(k):
    one = jax.jit(lambda a: jnp.sin(a) * 2 + a)

    def program(a):
        for _ in range(k):
            a = one(a)
        return a

    return program, jnp.linspace(0.0, 1.0, 4)


@family(100)
def calls_of_qjit_functions(k):
    def one(i):
        return qjit(lambda a: jnp.sin(a) * i + a)

    def program(a):
        for i in range(k):
            a = one(i)(a)
        return a

    return program, jnp.linspace(0.0, 1.0, 4)
