"""A loop of rounds: measure a qubit, flip it back if it was 1, rotate it, entangle it.

Whatever the outcomes are, the qubit measured last is |0> before its last rotation, so the result
is known: cos of that angle.
"""

from programs.gates import Circuit, spread

LAST = 0.3


def circuit(qubits, rounds):
    """`Reset` stands for measuring and flipping back."""
    angles, made = spread(qubits), []
    for number in range(rounds):
        q = number % qubits
        made += [
            ("Reset", (q,), None),
            ("RY", (q,), angles[q]),
            ("CNOT", (q, (q + 1) % qubits), None),
        ]
    made += [("Reset", (0,), None), ("RY", (0,), LAST)]
    return Circuit(qubits, made, [(1.0, {0: "Z"})])


def qnode(device, qubits, rounds):
    import pennylane as qml

    def reset(wire):
        outcome = qml.measure(wire)
        qml.cond(outcome == 1, qml.PauliX)(wires=wire)

    @qml.qnode(device(qubits))
    def corrected(angles):
        @qml.for_loop(0, rounds, 1)
        def loop(number):
            q = number % qubits
            reset(q)
            qml.RY(angles[q], wires=q)
            qml.CNOT(wires=[q, (q + 1) % qubits])

        loop()
        reset(0)
        qml.RY(LAST, wires=0)
        return qml.expval(qml.Z(0))

    return corrected, (spread(qubits),)
