import pennylane as qml

from diastase import qjit


def program():
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def coin():
        qml.Hadamard(0)
        return qml.sample()

    @qjit
    def toss(times):
        return qml.set_shots(coin, times)()

    toss(0)
