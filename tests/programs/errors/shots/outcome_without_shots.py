import pennylane as qml

from diastase import measure, qjit


def program():
    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=1), mcm_method="tree-traversal")
    def circuit(angle):
        qml.RY(angle, 0)
        return measure(0)

    circuit(0.4)
