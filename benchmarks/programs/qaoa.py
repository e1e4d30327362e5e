"""QAOA for the maximal cut of a ring with chords (each vertex has three neighbours), p layers."""

from programs.gates import Circuit, apply, expval, spread


def edges(qubits):
    """A ring, and chords to the opposite vertex."""
    ring = [(q, (q + 1) % qubits) for q in range(qubits)]
    return ring + [(q, q + qubits // 2) for q in range(qubits // 2)]


def start(qubits):
    return [("Hadamard", (q,), None) for q in range(qubits)]


def layer(qubits, angles):
    """The phases of one layer, then its mixer."""
    phases = [("IsingZZ", edge, angles[0]) for edge in edges(qubits)]
    return phases + [("RX", (q,), angles[1]) for q in range(qubits)]


def cut(qubits):
    """The observable: the energy of the cut."""
    return [(0.5, {one: "Z", other: "Z"}) for one, other in edges(qubits)]


def circuit(qubits, layers):
    angles = spread(layers, 2)
    gates = [gate for row in angles for gate in layer(qubits, row)]
    return Circuit(qubits, start(qubits) + gates, cut(qubits))


def qnode(device, qubits, layers):
    import pennylane as qml

    @qml.qnode(device(qubits))
    def qaoa(angles):
        apply(qml, start(qubits))
        qml.for_loop(0, layers, 1)(lambda index: apply(qml, layer(qubits, angles[index])))()
        return expval(qml, cut(qubits))

    return qaoa, (spread(layers, 2),)
