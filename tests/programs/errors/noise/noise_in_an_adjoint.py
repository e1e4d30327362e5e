import pennylane as qml

from diastase import qjit


def program():
    def noisy(p):
        qml.RX(p, wires=0)
        qml.PhaseDamping(p, wires=0)

    @qjit
    @qml.qnode(qml.device("default.mixed", wires=1))
    def circuit(p):
        qml.adjoint(noisy)(p)
        return qml.expval(qml.Z(0))

    circuit(0.1)
