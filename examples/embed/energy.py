"""The energy of a chain of spins, and its gradient, for the programs in C and Rust beside it.

The number of spins is four; how many layers there are, those programs decide.
"""

import pennylane as qml

from diastase import for_loop, qjit, value_and_grad

SPINS = 4
HAMILTONIAN = qml.sum(
    *(-1.0 * qml.Z(spin) @ qml.Z(spin + 1) for spin in range(SPINS - 1)),
    *(-0.5 * qml.X(spin) for spin in range(SPINS)),
)


@qml.qnode(qml.device("lightning.qubit", wires=SPINS))
def chain(angles):
    """Prepare a state in layers of rotations, one row of angles for each, and measure it."""

    @for_loop(0, angles.shape[0], 1)
    def layers(layer):
        for spin in range(SPINS):
            qml.RY(angles[layer, spin], wires=spin)
        for spin in range(SPINS - 1):
            qml.CNOT(wires=[spin, spin + 1])

    layers()
    return qml.expval(HAMILTONIAN)


energy = qjit(value_and_grad(chain))
