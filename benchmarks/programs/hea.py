"""HEA: layers of RY and RZ with different angles on every qubit, then CNOTs (0,1), (1,2), ...

The result is <Z0 Z(n-1)>. All angles are arguments of the call. The layers are a `for_loop`, or
`written_out`. A `number` other than 0 makes another program: it is added to the first angles.
"""

from programs.gates import Circuit, apply, expval, spread, zz


def layer(qubits, angles):
    """The gates of one layer; `angles` has shape (qubits, 2)."""
    rotations = [
        (name, (q,), angles[q, k]) for q in range(qubits) for k, name in enumerate(("RY", "RZ"))
    ]
    return rotations + [("CNOT", (q, q + 1), None) for q in range(qubits - 1)]


def circuit(qubits, layers, written_out=False):
    angles = spread(layers, qubits, 2)
    gates = [gate for number in range(layers) for gate in layer(qubits, angles[number])]
    return Circuit(qubits, gates, zz(0, qubits - 1))


def qnode(device, qubits, layers, written_out=False, number=0):
    import pennylane as qml

    @qml.qnode(device(qubits))
    def hea(angles):
        def apply_layer(index):
            shifted = angles[index] + number if number else angles[index]
            apply(qml, layer(qubits, shifted))

        if written_out:
            for index in range(layers):
                apply_layer(index)
        else:
            qml.for_loop(0, layers, 1)(apply_layer)()
        return expval(qml, zz(0, qubits - 1))

    return hea, (spread(layers, qubits, 2),)
