import pennylane as qml

from diastase import for_loop, qjit

NOISE = qml.NoiseModel({qml.noise.wires_in([0]): qml.noise.partial_wires(qml.BitFlip, 0.1)})


def program():
    @qjit
    @qml.qnode(qml.noise.add_noise(qml.device("default.mixed", wires=3), NOISE))
    def circuit():
        @for_loop(0, 3, 1)
        def flips(wire):
            qml.X(wire)

        flips()
        return qml.expval(qml.Z(0))

    circuit()
