import pennylane as qml

from diastase import measure, qjit


def program():
    @qjit(method="trajectories")
    @qml.qnode(qml.device("default.mixed", wires=2))
    def coin():
        qml.Hadamard(0)
        outcome = measure(0)
        return qml.sample(outcome)

    coin()
