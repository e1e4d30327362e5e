"""qsim, which computes in complex64 only. Gates are fused to at most four qubits.

Translating a circuit of Cirq takes milliseconds of Python in each call. In its favour only what
qsim itself does is measured: the call of its C++ code, with arguments prepared once.
"""

import importlib.metadata
import os
from types import SimpleNamespace

import cirq
import numpy as np
import qsimcirq

_FIXED = {"Hadamard": cirq.H, "CNOT": cirq.CNOT, "SWAP": cirq.SWAP}
_ROTATIONS = {"RX": cirq.rx, "RY": cirq.ry, "RZ": cirq.rz}
_ISING = {"IsingXX": cirq.XXPowGate, "IsingYY": cirq.YYPowGate, "IsingZZ": cirq.ZZPowGate}
_PAULI = {"X": cirq.X, "Y": cirq.Y, "Z": cirq.Z}


def prepare(program, arguments):
    circuit = program.circuit(**arguments)
    qubits = cirq.LineQubit.range(circuit.qubits)
    built = cirq.Circuit(_operation(qubits, *gate) for gate in circuit.gates)
    options = {"t": int(os.environ["BENCH_THREADS"]), "f": 4}
    simulator = qsimcirq.QSimSimulator(qsim_options=options)
    if circuit.shots is not None:
        built.append(cirq.measure(*qubits, key="all"))
        run = simulator.run
        return lambda: run(built, repetitions=circuit.shots).measurements["all"].mean(axis=0)
    observable = sum(_term(qubits, *term) for term in circuit.terms)
    return _prepared_call(simulator, built, observable, qubits)


def _prepared_call(simulator, circuit, observable, qubits):
    """The call of C++ that a simulation makes, with the arguments that it was given."""
    recorded = []
    native = simulator._sim_module.qsim_simulate_expectation_values

    def record(*arguments):
        recorded[:] = arguments
        return native(*arguments)

    module = simulator._sim_module
    simulator._sim_module = SimpleNamespace(
        **{name: getattr(module, name) for name in dir(module) if not name.startswith("__")}
        | {"qsim_simulate_expectation_values": record}
    )
    simulator.simulate_expectation_values(circuit, observable, qubit_order=qubits)
    recorded[0] = dict(recorded[0])
    return lambda: np.real(native(*recorded))


def _operation(qubits, name, wires, angle):
    on = [qubits[wire] for wire in wires]
    if name in _FIXED:
        return _FIXED[name](*on)
    if name in _ROTATIONS:
        return _ROTATIONS[name](float(angle))(*on)
    if name == "DepolarizingChannel":
        return cirq.depolarize(float(angle)).on(*on)
    if name in _ISING:
        return _ISING[name](exponent=float(angle) / np.pi)(*on)
    if name == "ControlledPhaseShift":
        return cirq.CZPowGate(exponent=float(angle) / np.pi)(*on)
    raise NotImplementedError(name)


def _term(qubits, factor, word):
    return cirq.PauliString({qubits[q]: _PAULI[p] for q, p in word.items()}, coefficient=factor)


def versions():
    return {name: importlib.metadata.version(name) for name in ("qsimcirq", "cirq-core")}
