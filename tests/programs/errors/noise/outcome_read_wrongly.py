import pennylane as qml

from diastase import measure, qjit


def program():
    @qjit
    @qml.qnode(qml.device("default.mixed", wires=1, readout_prob=0.1))
    def circuit():
        first, second = measure(0), measure(0)
        return qml.expval(first + second)

    circuit()
