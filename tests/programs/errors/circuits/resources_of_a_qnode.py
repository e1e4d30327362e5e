import pennylane as qml

from diastase import passes


@qml.qnode(qml.device("lightning.qubit", wires=1))
def circuit():
    return qml.expval(qml.Z(0))


def program():
    passes.ppm_specs(circuit)
