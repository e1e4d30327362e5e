import pennylane as qml

from diastase import qjit


class Unknown(qml.operation.Operator):
    num_wires = 1
    num_params = 0


def program():
    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit():
        return qml.expval(Unknown(wires=0))

    circuit()
