"""Random circuits of named gates and matrices, and a plain dense simulation of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pennylane as qml

from diastase_engine import GATES

ADJOINTS = {"S": qml.S, "T": qml.T, "SX": qml.SX, "SISWAP": qml.SISWAP, "ISWAP": qml.ISWAP}


@dataclass(frozen=True)
class Step:
    """One gate of a random circuit; `matrix` is given for gates without a name."""

    name: str
    wires: tuple[int, ...]
    parameters: tuple[float, ...] = ()
    controls: tuple[int, ...] = ()
    values: tuple[int, ...] = ()
    matrix: np.ndarray | None = None


def random_circuit(generator: np.random.Generator, qubits: int, length: int) -> list[Step]:
    return [random_step(generator, qubits) for _ in range(length)]


def random_step(generator: np.random.Generator, qubits: int) -> Step:
    order = tuple(int(wire) for wire in generator.permutation(qubits))
    names = ["unitary", *(name for name, row in GATES.items() if (row.wires or 3) <= qubits)]
    # Half of the gates from a few that fuse with each other in every way.
    few = [name for name in ("RY", "RZ", "CNOT", "CZ", "SWAP", "CRX") if name in names]
    name = str(generator.choice(names if generator.random() < 0.5 else few))
    width = (
        int(generator.integers(1, min(3, qubits) + 1))
        if name == "unitary"
        else (GATES[name].wires or int(generator.integers(1, qubits + 1)))
    )
    room = qubits - width
    n_controls = int(generator.integers(0, min(room, 3) + 1)) if generator.random() < 0.3 else 0
    controls = order[width : width + n_controls]
    values = tuple(int(value) for value in generator.integers(0, 2, n_controls))
    if name == "unitary":
        matrix = random_unitary(generator, 2**width)
        return Step(name, order[:width], (), controls, values, matrix)
    count = GATES[name].parameters
    parameters = tuple(float(angle) for angle in generator.uniform(-4, 4, count))
    return Step(name, order[:width], parameters, controls, values)


def random_unitary(generator: np.random.Generator, size: int) -> np.ndarray:
    matrix = generator.normal(size=(size, size)) + 1j * generator.normal(size=(size, size))
    return np.linalg.qr(matrix)[0]


def matrix_of(step: Step) -> np.ndarray:
    """PennyLane's matrix on the step's own wires."""
    if step.matrix is not None:
        return step.matrix
    wires = range(len(step.wires))
    if step.name.startswith("Adjoint("):
        return qml.matrix(qml.adjoint(ADJOINTS[step.name[8:-1]](wires=wires)))
    return qml.matrix(getattr(qml, step.name)(*step.parameters, wires=wires))


def apply_dense(tensor: np.ndarray, step: Step) -> np.ndarray:
    """Contract the gate's matrix with the state, where the controls match."""
    result = tensor.copy()
    place: list[object] = [slice(None)] * tensor.ndim
    for wire, value in zip(step.controls, step.values, strict=True):
        place[wire] = value
    rest = [wire for wire in range(tensor.ndim) if wire not in step.controls]
    axes = [rest.index(wire) for wire in step.wires]
    width = len(axes)
    gate = matrix_of(step).reshape((2,) * (2 * width))
    moved = np.tensordot(gate, tensor[tuple(place)], axes=(range(width, 2 * width), axes))
    result[tuple(place)] = np.moveaxis(moved, range(width), axes)
    return result


def apply_engine(state, step: Step) -> None:
    if step.matrix is not None:
        state.unitary(step.matrix, step.wires, step.controls, step.values)
    elif step.controls:
        state.controlled(step.name, step.controls, step.values, step.wires, *step.parameters)
    else:
        state.gate(step.name, step.wires, *step.parameters)


def dense_amplitudes(circuit: Sequence[Step], qubits: int) -> np.ndarray:
    tensor = np.zeros((2,) * qubits, complex)
    tensor[(0,) * qubits] = 1
    for step in circuit:
        tensor = apply_dense(tensor, step)
    return tensor.ravel()
