import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit():
        return {"energy": qml.expval(qml.Z(0)), "name": "ground state"}

    circuit()
