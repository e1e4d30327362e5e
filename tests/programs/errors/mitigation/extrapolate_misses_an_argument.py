import pennylane as qml

from diastase import mitigate_with_zne


@qml.qnode(qml.device("lightning.qubit", wires=1))
def circuit(x):
    qml.RX(x, wires=0)
    return qml.expval(qml.Z(0))


def program():
    mitigate_with_zne(circuit, scale_factors=[1, 3], extrapolate=qml.noise.poly_extrapolate)
