import pennylane as qml

from diastase import mitigate_with_zne, qjit


@qml.qnode(qml.device("lightning.qubit", wires=1))
def circuit(x):
    qml.RX(x, wires=0)
    return qml.expval(qml.Z(0))


def program():
    poly, order = qml.noise.poly_extrapolate, {"order": "linear"}
    mitigated = mitigate_with_zne(
        circuit, scale_factors=[1, 3], extrapolate=poly, extrapolate_kwargs=order
    )
    qjit(mitigated)(0.1)
