import pennylane as qml

from diastase import qjit


def program():
    @qjit
    def compiled(n):
        @qml.qnode(qml.device("lightning.qubit", wires=n - 3))
        def circuit():
            return qml.probs()

        return circuit()

    compiled(2)
