import pennylane as qml

from diastase import passes, qjit


def program():
    @qjit
    @passes.graph_decomposition(gate_set={"RX", "CNOT"})
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit(x):
        qml.RX(x, 0)
        qml.RY(x, 0)
        return qml.state()

    circuit(0.3)
