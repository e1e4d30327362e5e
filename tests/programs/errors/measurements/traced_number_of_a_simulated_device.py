import pennylane as qml

from diastase import qjit


def program():
    @qjit
    def compiled(n):
        device = qml.device("reference.qubit", wires=n)
        return qml.QNode(qml.probs, device)()

    compiled(2)
