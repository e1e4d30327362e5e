"""Shots, each of which has outcomes of its own: a qubit is measured, and turned back if it was 1.

The result is <Z> of the qubit measured last, which is known: cos of its last angle.
"""

from programs import mid_circuit


def qnode(device, qubits, measurements, shots):
    import pennylane as qml

    circuit, values = mid_circuit.qnode(device, qubits, measurements - 1)
    return qml.set_shots(circuit.update(mcm_method="one-shot"), shots=shots), values
