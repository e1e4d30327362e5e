"""qulacs: complex128. Circuit and observable are built before, in its favour.

A gradient is that of its parametric circuits, whose parameters stay what they are.
"""

import importlib.metadata

import numpy as np
from qulacs import Observable, ParametricQuantumCircuit, QuantumCircuit, QuantumState
from qulacs import gate as gates

_PAULI = {"X": 1, "Y": 2, "Z": 3}
_FIXED = {"Hadamard": gates.H, "CNOT": gates.CNOT, "SWAP": gates.SWAP}
# qulacs rotates by the opposite angle.
_ROTATIONS = {"RX": gates.RX, "RY": gates.RY, "RZ": gates.RZ}


def prepare(program, arguments):
    circuit = program.circuit(**arguments)
    if getattr(program, "is_gradient", False):
        return _gradient(circuit)
    built = QuantumCircuit(circuit.qubits)
    for gate in circuit.gates:
        for made in _gates_of(*gate):
            built.add_gate(made)
    state = QuantumState(circuit.qubits)
    observable = _observable(circuit)

    def run():
        state.set_zero_state()
        built.update_quantum_state(state)
        if circuit.shots is None:
            return observable.get_expectation_value(state)
        return _fractions(state.sampling(circuit.shots), circuit.qubits)

    return run


def _gradient(circuit):
    built = ParametricQuantumCircuit(circuit.qubits)
    for name, wires, angle in circuit.gates:
        if angle is None:
            built.add_gate(_FIXED[name](*wires))
        else:
            getattr(built, f"add_parametric_{name}_gate")(*wires, -angle)
    observable = _observable(circuit)
    return lambda: -np.array(built.backprop(observable))


def _gates_of(name, wires, angle):
    if name in _FIXED:
        return [_FIXED[name](*wires)]
    if name in _ROTATIONS:
        return [_ROTATIONS[name](*wires, -angle)]
    if name == "ControlledPhaseShift":
        return [gates.DiagonalMatrix(list(wires), np.array([1, 1, 1, np.exp(1j * angle)]))]
    if name.startswith("Ising"):
        return [gates.PauliRotation(list(wires), [_PAULI[p] for p in name[5:]], -angle)]
    if name == "Reset":
        flip = gates.Adaptive(gates.X(wires[0]), lambda bits: bits[wires[0]] == 1)
        return [gates.Measurement(wires[0], wires[0]), flip]
    raise NotImplementedError(name)


def _observable(circuit):
    observable = Observable(circuit.qubits)
    for factor, word in circuit.terms:
        observable.add_operator(factor, " ".join(f"{pauli} {q}" for q, pauli in word.items()))
    return observable


def _fractions(samples, qubits):
    """How often each qubit was 1; bit q of a sample is qubit q."""
    return (np.array(samples)[:, None] >> np.arange(qubits) & 1).mean(axis=0)


def versions():
    return {"qulacs": importlib.metadata.version("qulacs")}
