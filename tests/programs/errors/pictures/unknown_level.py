import pennylane as qml

from diastase import draw_graph, passes, qjit


def program():
    @qjit
    @passes.merge_rotations
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit(x):
        qml.RX(x, 0)
        return qml.state()

    draw_graph(circuit, level="merged")(0.5)
