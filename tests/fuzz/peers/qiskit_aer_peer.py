"""Qiskit Aer: probabilities of a circuit, in its own environment."""

import numpy as np
from children import serve
from qiskit import QuantumCircuit
from qiskit_aer import AerSimulator

WIRES = 3
METHODS = {
    "Hadamard": "h", "RX": "rx", "RY": "ry", "RZ": "rz", "PhaseShift": "p", "CNOT": "cx",
    "PauliX": "x", "PauliZ": "z", "S": "s", "T": "t",
}  # fmt: skip
SIMULATOR = AerSimulator(method="statevector")


def answer(gates: list) -> list:
    circuit = QuantumCircuit(WIRES)
    for name, parameters, wires in gates:
        # Qiskit's first qubit is the last bit of an index.
        getattr(circuit, METHODS[name])(*parameters, *(WIRES - 1 - wire for wire in wires))
    circuit.save_statevector()
    state = SIMULATOR.run(circuit).result().get_statevector()
    return (np.abs(np.asarray(state)) ** 2).tolist()


if __name__ == "__main__":
    serve(answer)
