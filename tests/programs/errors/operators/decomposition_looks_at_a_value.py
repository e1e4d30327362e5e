import pennylane as qml

from diastase import qjit


class Flip(qml.operation.Operation):
    num_params = 1
    num_wires = 1

    @staticmethod
    def compute_decomposition(angle, wires):
        return [qml.X(wires)] if angle > 1 else [qml.RX(angle, wires)]


@qml.qnode(qml.device("default.qubit", wires=1))
def circuit(angle):
    Flip(angle, wires=0)
    return qml.probs()


def program():
    qjit(circuit)(0.3)
