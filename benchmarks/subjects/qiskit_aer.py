"""qiskit-aer, complex128: state vectors with its gate fusion; noise as density matrices, or, where
there are shots, as trajectories of state vectors. Circuits are built before.
"""

import importlib.metadata
import os

import numpy as np
from qiskit import QuantumCircuit
from qiskit.quantum_info import SparsePauliOp
from qiskit_aer import AerSimulator
from qiskit_aer.noise import depolarizing_error

_NAMES = {
    "Hadamard": "h", "CNOT": "cx", "SWAP": "swap", "RX": "rx", "RY": "ry", "RZ": "rz",
    "IsingXX": "rxx", "IsingYY": "ryy", "IsingZZ": "rzz", "ControlledPhaseShift": "cp",
}  # fmt: skip


def prepare(program, arguments):
    circuit = program.circuit(**arguments)
    built = QuantumCircuit(circuit.qubits)
    is_noisy = False
    for name, wires, angle in circuit.gates:
        if name == "DepolarizingChannel":
            is_noisy = True
            # Here the strength is that of becoming the maximally mixed state.
            built.append(depolarizing_error(4 * angle / 3, 1).to_instruction(), wires)
            continue
        angles = () if angle is None else (float(angle),)
        getattr(built, _NAMES[name])(*angles, *wires)
    options = {"method": "statevector", "max_parallel_threads": int(os.environ["BENCH_THREADS"])}
    if is_noisy and circuit.shots is None:  # where fusion costs more than it saves
        options |= {"method": "density_matrix", "fusion_enable": False}
    simulator = AerSimulator(**options)
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
