"""Layers of RX on every qubit, a chain of CNOTs, depolarising noise on every qubit.

The result is <Z0 Z(n-1)> of the density matrix; with `shots`, how often each qubit was 1 in
trajectories. The angles, and the strength of the noise, are arguments of the call. A `number` other
than 0 makes another program: it is added to the first angles.
"""

from programs.gates import Circuit, apply, expval, spread, zz

STRENGTH = 0.01
device = "default.mixed"


def layer(qubits, angles, strength):
    """The operations of one layer; `angles` has shape (qubits,)."""
    return (
        [("RX", (q,), angles[q]) for q in range(qubits)]
        + [("CNOT", (q, q + 1), None) for q in range(qubits - 1)]
        + [("DepolarizingChannel", (q,), strength) for q in range(qubits)]
    )


def circuit(qubits, layers, shots=None):
    angles = spread(layers, qubits)
    gates = [gate for row in angles for gate in layer(qubits, row, STRENGTH)]
    return Circuit(qubits, gates, zz(0, qubits - 1), shots)


def qnode(device, qubits, layers, shots=None, number=0):
    import pennylane as qml

    def noisy(angles, strength):
        for index in range(layers):
            shifted = angles[index] + number if number else angles[index]
            apply(qml, layer(qubits, shifted, strength))
        return qml.sample(wires=range(qubits)) if shots else expval(qml, zz(0, qubits - 1))

    made = qml.QNode(noisy, device(qubits), shots=shots)
    return made, (spread(layers, qubits), STRENGTH)


def value(result):
    """What is compared: simulators give fractions, PennyLane gives the samples."""
    return result.mean(axis=0) if getattr(result, "ndim", 0) == 2 else result
