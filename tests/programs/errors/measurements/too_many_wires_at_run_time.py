import pennylane as qml

from diastase import for_loop, qjit


def program():
    @qjit
    def compiled(n):
        @qml.qnode(qml.device("lightning.qubit", wires=n))
        def circuit():
            @for_loop(0, n, 1)
            def everywhere(i):
                qml.Hadamard(i)

            everywhere()
            return qml.state()

        return circuit()

    compiled(10**12)
