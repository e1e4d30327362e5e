import pennylane as qml

from diastase import measure, qjit


def program():
    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=1), mcm_method="device")
    def circuit():
        qml.Hadamard(0)
        return qml.expval(measure(0))

    circuit()
