"""Rotations about Pauli words: by definition, among other gates, in any plan, with controls."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pennylane as qml
import pytest

Wires = Sequence[int]
Word = tuple[str, Wires, Wires, Wires, float]


def rotated(
    word: str,
    wires: Wires,
    angle: float,
    vector: np.ndarray,
    controls: Wires = (),
    values: Wires = (),
) -> np.ndarray:
    """The rotation by its definition, on the amplitudes."""
    qubits = int(np.log2(len(vector)))
    flipped = vector.reshape((2,) * qubits)
    for letter, wire in zip(word, wires, strict=True):
        matrix = qml.matrix(getattr(qml, f"Pauli{letter}")(0))
        flipped = np.moveaxis(np.tensordot(matrix, flipped, (1, wire)), 0, wire)
    result = np.cos(angle / 2) * vector - 1j * np.sin(angle / 2) * flipped.reshape(-1)
    index = np.arange(len(vector))
    acts = np.ones(len(vector), bool)
    for wire, value in zip(controls, values, strict=True):
        acts &= (index >> (qubits - 1 - wire)) & 1 == value
    return np.where(acts, result, vector)


def random_words(generator: np.random.Generator, qubits: int, count: int) -> Iterator[Word]:
    """Words with wires, controls, values and angles; neighbours often flip the same bits."""
    last = None
    for _ in range(count):
        order = [int(wire) for wire in generator.permutation(qubits)]
        length = int(generator.integers(1, qubits + 1))
        word, wires = "".join(generator.choice(list("XYZ"), length)), order[:length]
        if last is not None and generator.random() < 0.5:
            word, wires = last
            word = "".join(a if a == "Z" else str(generator.choice(["X", "Y"])) for a in word)
        last = word, wires
        rest = [wire for wire in order if wire not in wires]
        n_controls = int(generator.integers(0, min(3, len(rest)) + 1))
        values = tuple(int(value) for value in generator.integers(0, 2, n_controls))
        yield word, wires, tuple(rest[:n_controls]), values, float(generator.normal())


def with_cnot(vector: np.ndarray, control: int, target: int) -> np.ndarray:
    qubits = int(np.log2(len(vector)))
    index = np.arange(len(vector))
    on = (index >> (qubits - 1 - control)) & 1
    return vector[index ^ (on << (qubits - 1 - target))]


@pytest.mark.parametrize(
    ("qubits", "chunk"), [(1, 0), (2, 0), (3, 0), (5, 0), (8, 6), (9, 7), (10, 10), (13, 0)]
)
def test_among_other_gates(register: Callable, qubits: int, chunk: int) -> None:
    generator = np.random.default_rng(qubits)
    vector = np.zeros(2**qubits, complex)
    vector[0] = 1
    state, plain = register(qubits), register(qubits)
    state.set_chunk_bits(chunk)
    for word, wires, controls, values, angle in random_words(generator, qubits, 40):
        turn = float(generator.normal())
        for each in (state, plain):
            each.gate("RY", [wires[0]], turn)
            if controls:
                each.gate("CNOT", [wires[0], controls[0]])
                each.controlled(f"PauliRot[{word}]", controls, values, wires, angle)
            else:
                each.gate(f"PauliRot[{word}]", wires, angle)
        vector = rotated("Y", [wires[0]], turn, vector)
        if controls:
            vector = with_cnot(vector, wires[0], controls[0])
        vector = rotated(word, wires, angle, vector, controls, values)
        np.testing.assert_allclose(plain.amplitudes, vector, atol=plain.within(1e-12, 1e-5))
    np.testing.assert_allclose(state.amplitudes, vector, atol=state.within(1e-12, 1e-5))


def test_words_that_flip_the_same_bits_are_one_walk(register: Callable) -> None:
    state = register(15)
    for wire in range(15):
        state.gate("Hadamard", [wire])
    *_, before = state.work_done
    wires = [0, 3, 5, 7, 10, 14]
    for word in ("XXZZXY", "XYZZYY", "YXZZYY", "YYZZXY"):
        state.gate(f"PauliRot[{word}]", wires, 0.3)
    assert state.work_done[2] - before == 1


def test_a_parameter_that_is_no_number_spoils(register: Callable) -> None:
    state = register(4)
    state.gate("PauliRot[XYZ]", [0, 1, 3], float("inf"))
    assert np.all(np.isnan(state.amplitudes))


def test_wires_are_checked(register: Callable) -> None:
    state = register(4)
    state.gate("PauliRot[XYZ]", [0, 1, 1], 0.5)
    assert state.error[0] != 0
