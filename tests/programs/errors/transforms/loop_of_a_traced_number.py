import pennylane as qml

from diastase import for_loop, qjit


def program():
    @qjit
    @qml.transforms.commute_controlled
    @qml.qnode(qml.device("lightning.qubit", wires=3))
    def circuit(n):
        @for_loop(0, n, 1)
        def body(i):
            qml.Hadamard(i)

        body()
        return qml.expval(qml.Z(0))

    circuit(2)
