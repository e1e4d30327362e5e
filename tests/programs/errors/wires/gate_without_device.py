import pennylane as qml

from diastase import qjit


def program():
    @qjit
    def quantum_function(angle: float):
        qml.RX(angle, wires=0)
        return qml.expval(qml.PauliZ(0))

    quantum_function(0.1)
