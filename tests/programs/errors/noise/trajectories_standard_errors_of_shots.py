import pennylane as qml

from diastase import qjit, set_method


@set_method("trajectories", standard_errors=True)
@qml.set_shots(10)
@qml.qnode(qml.device("default.mixed", wires=1))
def circuit():
    qml.BitFlip(0.1, wires=0)
    return qml.expval(qml.Z(0))


def program():
    qjit(circuit)()
