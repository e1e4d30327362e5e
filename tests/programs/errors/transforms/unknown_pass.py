import pennylane as qml

from diastase import qjit


def program():
    @qjit
    @qml.transform(pass_name="cancel-inverse")
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit():
        qml.T(0)
        return qml.expval(qml.Z(0))

    circuit()
