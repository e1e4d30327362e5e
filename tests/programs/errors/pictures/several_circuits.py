import pennylane as qml

from diastase import draw_graph, qjit


def program():
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit(x):
        qml.RX(x, 0)
        return qml.expval(qml.Z(0))

    @qjit
    def difference(x):
        return circuit(x) - circuit(2 * x)

    draw_graph(difference)(0.5)
