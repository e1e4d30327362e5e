import pennylane as qml

from diastase import for_loop, qjit


@qml.qnode(qml.device("default.qubit", wires=3))
def circuit(n=3):
    @for_loop(0, n, 1)
    def body(k):
        with qml.allocate(1) as wires:
            qml.X(wires[0])

    body()
    return qml.probs(wires=0)


def program():
    qjit(circuit)()
