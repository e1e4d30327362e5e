"""PennyLane without a compiler: lightning.qubit, or the program's device, called gate by gate."""

import importlib.metadata
import warnings

import numpy as np
import pennylane as qml

warnings.simplefilter("ignore")


def prepare(program, arguments):
    name = getattr(program, "device", "lightning.qubit")
    function, values = program.qnode(lambda n: qml.device(name, wires=n), **arguments)
    if getattr(program, "is_gradient", False):  # by autograd, with lightning's adjoint method
        values = [qml.numpy.array(value, requires_grad=True) for value in values]
    return lambda: np.asarray(function(*values))


def versions():
    return {name: importlib.metadata.version(name) for name in ("pennylane", "pennylane-lightning")}
