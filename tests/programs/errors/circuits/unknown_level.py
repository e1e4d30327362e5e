import pennylane as qml

from diastase import for_loop, qjit


@qjit
@qml.qnode(qml.device("lightning.qubit", wires=1))
def circuit(n):
    for_loop(0, n, 1)(lambda i: qml.X(0) and None)()
    return qml.expval(qml.Z(0))


def program():
    qml.specs(circuit, level="merged")(3)
