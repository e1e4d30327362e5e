import pennylane as qml

from diastase import for_loop, qjit

NOISY = qml.noise.insert(qml.device("default.mixed", wires=3), qml.BitFlip, 0.1, position="end")


def program():
    @qjit
    @qml.qnode(NOISY)
    def circuit():
        @for_loop(0, 3, 1)
        def flips(wire):
            qml.X(wire)

        flips()
        return qml.expval(qml.Z(0))

    circuit()
