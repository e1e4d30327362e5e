import pennylane as qml

from diastase import measure, qjit


def program():
    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=2), mcm_method="deferred")
    def circuit(angle):
        qml.RY(angle, 0)
        qml.CNOT([0, 1])
        first = measure(0, postselect=0)
        measure(1, postselect=1)
        return qml.expval(first)

    circuit(0.4)
