import pennylane as qml

from diastase import accelerate, qjit


@qml.qnode(qml.device("lightning.qubit", wires=1))
def circuit(x):
    qml.RX(x, wires=0)
    return qml.expval(qml.Z(0))


def program():
    @qjit
    def f(x):
        return accelerate(circuit)(x)

    f(1.0)
