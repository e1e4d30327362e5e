"""The circuit of `cluster.py` and `saved_functions.py`: it imports what a user of `qjit` does."""

import numpy as np
import pennylane as qml

from diastase import for_loop, qjit

QUBITS, LAYERS = 12, 12


@qjit
@qml.qnode(qml.device("lightning.qubit", wires=QUBITS))
def energy(angles):
    """Layers of rotations and a ring of CNOTs; the energy of a chain in a transverse field."""

    @for_loop(0, LAYERS, 1)
    def layers(layer):
        for wire in range(QUBITS):
            qml.RY(angles[layer, wire, 0], wires=wire)
            qml.RZ(angles[layer, wire, 1], wires=wire)
        for wire in range(QUBITS):
            qml.CNOT(wires=[wire, (wire + 1) % QUBITS])

    layers()
    words = [qml.Z(wire) @ qml.Z((wire + 1) % QUBITS) for wire in range(QUBITS)]
    words += [qml.X(wire) for wire in range(QUBITS)]
    return qml.expval(qml.dot(np.repeat([-1.0, -0.5], QUBITS), words))
