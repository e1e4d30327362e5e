import pennylane as qml

import diastase


def program():
    @diastase.passes.merge_rotations
    @diastase.qjit
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit():
        return qml.expval(qml.Z(0))

    return circuit
