import pennylane as qml

from diastase import qjit


def program():
    @qml.transforms.clifford_t_decomposition
    @qml.qnode(qml.device("lightning.qubit", wires=3))
    def circuit(x):
        qml.RX(x, 0)
        return qml.expval(qml.Z(0))

    qjit(lambda x: 2 * circuit(x))(0.3)
