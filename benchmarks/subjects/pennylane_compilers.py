"""What diastase and Catalyst have in common: a function `qjit`, and the device lightning.qubit."""

import warnings

import jax
import numpy as np
import pennylane as qml

warnings.simplefilter("ignore")  # of PennyLane, about versions and deprecated names


def device_of(program):
    """What makes a program's device, of so many qubits."""
    name = getattr(program, "device", "lightning.qubit")
    return lambda qubits: qml.device(name, wires=qubits)


def function_of(program, arguments, **more):
    """The program as a function and its arguments, arrays of JAX where they are arrays."""
    make = program.qnode if hasattr(program, "qnode") else program.classical
    first = (device_of(program),) if hasattr(program, "qnode") else ()
    function, values = make(*first, **arguments, **more)
    return function, tuple(v if np.isscalar(v) else jax.numpy.asarray(v) for v in values)


def prepare(qjit, program, arguments):
    function, values = function_of(program, arguments)
    compiled = getattr(program, "around", lambda same: same)(qjit(function))
    return lambda: jax.block_until_ready(compiled(*values))


def compiler(qjit, program, arguments):
    def make(number):
        function, values = function_of(program, arguments, number=number)
        return lambda: jax.block_until_ready(qjit(function)(*values))

    return make
