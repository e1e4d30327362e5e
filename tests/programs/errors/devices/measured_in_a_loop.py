import pennylane as qml

from diastase import for_loop, measure, qjit


def program():
    @qjit
    @qml.qnode(qml.device("reference.qubit", wires=3))
    def circuit():
        @for_loop(0, 3, 1)
        def body(i):
            measure(i)

        body()
        return qml.expval(qml.Z(0))

    circuit()
