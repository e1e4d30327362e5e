import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.transforms.commute_controlled
    @qml.qnode(qml.device("lightning.qubit", wires=3))
    def circuit(n):
        @qml.for_loop(n)
        def body(i):
            qml.Hadamard(i)

        body()
        return qml.expval(qml.Z(0))

    circuit(2)
