import numpy as np
import pennylane as qml

from diastase import qjit


class Plugin(qml.devices.Device):
    name = "plugin.qubit"

    def execute(self, circuits, execution_config=None):
        return [np.full(4, 0.25) for _ in circuits]


def program():
    @qjit
    @qml.qnode(Plugin(wires=1))
    def circuit():
        return qml.probs(wires=0)

    circuit()
