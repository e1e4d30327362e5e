import pennylane as qml

from diastase import measure, qjit


@qml.set_shots(10)
@qml.qnode(qml.device("default.qubit", wires=2))
def circuit():
    qml.Hadamard(0)
    outcome = measure(0)
    qml.cond(outcome, qml.Hadamard)(1)
    return qml.sample(wires=1)


def program():
    return qjit(circuit, method="clifford")()
