import pennylane as qml

from diastase import draw_graph


def program():
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit(x):
        qml.RX(x, 0)
        return qml.state()

    draw_graph(circuit)(0.5)
