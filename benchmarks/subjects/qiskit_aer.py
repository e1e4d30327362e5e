"""qiskit-aer's state vector, complex128, with its gate fusion. Circuits are built before."""

import importlib.metadata
import os

import numpy as np
from qiskit import QuantumCircuit
from qiskit.quantum_info import SparsePauliOp
from qiskit_aer import AerSimulator

_NAMES = {
    "Hadamard": "h", "CNOT": "cx", "SWAP": "swap", "RX": "rx", "RY": "ry", "RZ": "rz",
    "IsingXX": "rxx", "IsingYY": "ryy", "IsingZZ": "rzz", "ControlledPhaseShift": "cp",
}  # fmt: skip


def prepare(program, arguments):
    circuit = program.circuit(**arguments)
    built = QuantumCircuit(circuit.qubits)
    for name, wires, angle in circuit.gates:
        angles = () if angle is None else (float(angle),)
        getattr(built, _NAMES[name])(*angles, *wires)
    threads = int(os.environ["BENCH_THREADS"])
    simulator = AerSimulator(method="statevector", max_parallel_threads=threads)
    if circuit.shots is not None:
        built.measure_all()
        return lambda: _fractions(simulator.run(built, shots=circuit.shots).result().get_counts())
    words = [("".join(word.values()), list(word), factor) for factor, word in circuit.terms]
    observable = SparsePauliOp.from_sparse_list(words, circuit.qubits)
    built.save_expectation_value(observable, range(circuit.qubits), "value")
    return lambda: simulator.run(built).result().data()["value"]


def _fractions(counts):
    """How often each qubit was 1; the last letter of an outcome is qubit 0."""
    bits = np.array([[int(bit) for bit in reversed(outcome)] for outcome in counts])
    return np.average(bits, axis=0, weights=list(counts.values()))


def versions():
    return {name: importlib.metadata.version(name) for name in ("qiskit-aer", "qiskit")}
