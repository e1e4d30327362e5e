"""One program that calls small QNodes many times, each with another angle."""


def qnode(device, calls, number=0):
    import pennylane as qml

    @qml.qnode(device(2))
    def small(x):
        qml.RX(x + number, wires=0)
        qml.CNOT(wires=[0, 1])
        return qml.expval(qml.Z(1))

    return lambda x: sum(small(x + 0.001 * k) for k in range(calls)), (0.1,)
