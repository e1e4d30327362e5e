import pennylane as qml

from diastase import qjit


def program():
    @qjit
    def run(n):
        @qml.qnode(qml.device("default.mixed", wires=n))
        def circuit():
            return qml.state()

        return circuit()

    run(40)
