import pennylane as qml

import diastase


def program():
    @diastase.set_method("density")
    @diastase.qjit
    @qml.qnode(qml.device("default.mixed", wires=1))
    def circuit():
        return qml.expval(qml.Z(0))
