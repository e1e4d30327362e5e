import pennylane as qml

import diastase


def program():
    @diastase.passes.apply_pass("cancel_inverse")
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit():
        return qml.expval(qml.Z(0))

    return circuit
