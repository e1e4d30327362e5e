"""The sweep back against central differences: any gate, any mix, any size of chunk."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pytest
from scipy.stats import unitary_group

from diastase_engine import GATES
from swept_circuits import Operation, differences, random_circuit, run, swept


@pytest.fixture
def register(register: Callable, registers: Callable, engines: Callable) -> Callable:
    """Registers, those in double precision at hand, too: the reference of single precision."""
    register.double = partial(registers, engines("double"))
    return register


def check(make: Callable, qubits: int, circuit: Sequence[Operation], seed: int, chunk: int = 0):
    generator = np.random.default_rng(seed)
    vector = generator.normal(size=2**qubits) + 1j * generator.normal(size=2**qubits)
    found, at_start = swept(make, qubits, circuit, vector, chunk)
    single = make(1).is_single
    if single:
        wanted, _ = swept(make.double, qubits, circuit, vector)
    else:
        wanted = differences(make, qubits, circuit, vector)
    start = np.zeros(2**qubits)
    start[0] = 1
    np.testing.assert_allclose(at_start, start, atol=1e-5 if single else 1e-12)
    size = np.linalg.norm(vector)
    np.testing.assert_allclose(found, wanted, atol=5e-6 * size if single else 2e-8)
    return found


@pytest.mark.sample(20)
@pytest.mark.parametrize("name", [name for name, gate in GATES.items() if gate.parameters])
def test_every_gate(register: Callable, name: str) -> None:
    generator = np.random.default_rng(5)
    for controls in (0, 1, 2):
        before = random_circuit(7, 5, 12)
        count = GATES[name].wires or 3
        order = tuple(int(wire) for wire in generator.permutation(5))
        if count + controls > 5:
            continue
        gate = (
            name,
            order[:count],
            order[count : count + controls],
            (1, 0)[:controls],
            generator.normal(size=GATES[name].parameters),
        )
        zero = (*gate[:4], np.zeros(GATES[name].parameters))
        check(register, 5, [*before, gate, *random_circuit(9, 5, 4), zero], controls)


@pytest.mark.parametrize("qubits", [1, 2, 3, 4, 5, 6])
def test_random_circuits(register: Callable, qubits: int) -> None:
    for seed in range(6):
        check(register, qubits, random_circuit(seed, qubits, 30), seed)


WORDS = ("X", "YZ", "XY", "XYZ", "ZXZ", "XXYY", "YXXY", "XZZY", "YZZYX", "XYZXYZ")


@pytest.mark.parametrize(("qubits", "chunk"), [(3, 0), (6, 0), (8, 5)])
def test_rotations_about_pauli_words(register: Callable, qubits: int, chunk: int) -> None:
    generator = np.random.default_rng(qubits)
    circuit = random_circuit(3, qubits, 8)
    for word in (word for word in WORDS if len(word) <= qubits):
        order = tuple(int(wire) for wire in generator.permutation(qubits))
        count = len(word)
        for changed in (word, word.translate(str.maketrans("XY", "YX"))):
            controls = order[count : count + int(generator.integers(0, 3))]
            values = (1, 0)[: len(controls)]
            name, angle = f"PauliRot[{changed}]", generator.normal(size=1)
            circuit.append((name, order[:count], controls, values, angle))
        circuit += random_circuit(count, qubits, 2)
    check(register, qubits, circuit, 1, chunk)


LAYERS: dict[str, Sequence[str]] = {
    "real and phases": ("RY", "RZ", "CNOT"),
    "real": ("RY", "CNOT", "CRY", "Hadamard"),
    "turning": ("RX", "CZ", "RX", "CRX"),
    "phases first": ("RZ", "RY", "CZ"),
    "selected phases": ("RY", "CRZ", "CNOT", "PhaseShift", "ControlledPhaseShift"),
    "flips": ("RY", "T", "CNOT", "RZ", "PauliX", "RY", "S", "CNOT"),
    "diagonal": ("Hadamard", "IsingZZ", "RZ", "ControlledPhaseShift"),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(register: Callable, name: str) -> None:
    """Each form of an operation (`backward_forms`), with every bit as its target and selector."""
    generator = np.random.default_rng(len(name))
    circuit = list[Operation]()
    for layer in range(2):
        for gate in LAYERS[name]:
            for wire in range(8 if GATES[gate].wires == 1 else 7):
                pair = (wire + 1, wire) if layer == 1 and gate == "CRX" else (wire, wire + 1)
                wires = pair[: GATES[gate].wires]
                numbers = generator.uniform(-3, 3, GATES[gate].parameters)
                circuit.append((gate, wires, (), (), numbers))
    check(register, 8, circuit, 3)
    vector = np.random.default_rng(1).normal(size=2**8) + 0.3j
    found = [swept(register, 8, circuit, vector, chunk)[0] for chunk in (0, 5, 6, 7)]
    tolerance = 1e-3 if register(1).is_single else 1e-12
    for each in found[1:]:
        np.testing.assert_allclose(each, found[0], atol=tolerance)


PHASES = ("RZ", "PhaseShift", "IsingZZ", "CRZ", "ControlledPhaseShift", "T", "CZ", "PauliZ")


@pytest.mark.parametrize("seed", range(3))
def test_diagonal_operations_in_a_row(register: Callable, seed: int) -> None:
    """With selectors and targets in lanes, pieces, chunks and between; some without derivatives."""
    generator = np.random.default_rng(seed)
    circuit = list[Operation]()
    for mixing in ("RX", "RY", "Rot"):
        for wire in range(8):
            numbers = generator.uniform(-3, 3, GATES[mixing].parameters)
            circuit.append((mixing, (wire,), (), (), numbers))
        for name in generator.choice(PHASES, 12):
            order = tuple(int(wire) for wire in generator.permutation(8))
            count, controls = GATES[name].wires, int(generator.integers(0, 3))
            numbers = generator.uniform(-3, 3, GATES[name].parameters)
            selectors, values = order[count : count + controls], (1, 0)[:controls]
            circuit.append((name, order[:count], selectors, values, numbers))
    for chunk in (0, 5, 6, 7):
        check(register, 8, circuit, seed, chunk)


@pytest.mark.parametrize("chunk", [4, 5, 6, 7])
def test_chunks(register: Callable, chunk: int) -> None:
    found = [check(register, 8, random_circuit(3, 8, 40), 3, size) for size in (0, chunk)]
    np.testing.assert_allclose(*found, atol=1e-4 if register(1).is_single else 1e-12)


def test_a_phase_of_no_qubits(register: Callable) -> None:
    check(register, 0, [("phase", (), (), (), np.array([0.4]))], 1)
    check(register, 3, [("phase", (), (), (), np.array([0.4]))], 1)


def numbers_of(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array, complex).ravel().view(float).copy()


@pytest.mark.parametrize("wires", [1, 2, 3])
def test_arrays(register: Callable, wires: int) -> None:
    """Unitary matrices and others, diagonals, prepared amplitudes, all of them in one circuit."""
    generator = np.random.default_rng(wires)
    size = 2**wires
    unitary = numbers_of(unitary_group.rvs(size, random_state=generator))
    other = numbers_of(generator.normal(size=(size, size)) + 1j * np.eye(size) * 3)
    diagonal = numbers_of(np.exp(1j * generator.normal(size=size)) * 1.2)
    amplitudes = numbers_of(generator.normal(size=size) + 1j * generator.normal(size=size))
    order = (3, 0, 4)[:wires]
    circuit: list[Operation] = [
        ("prepare", order, (), (), amplitudes),
        *random_circuit(1, 5, 8),
        ("unitary", order, (), (), unitary),
        ("SWAP", (0, 2), (), (), np.array([])),
        ("fixed", order, (1,), (0,), unitary),
        ("fixed", order, (), (), other),
        *random_circuit(2, 5, 8),
        ("diagonal", order, (2,), (1,), diagonal),
        ("unitary", order[::-1], (2, 1), (0, 1), other),
        *random_circuit(4, 5, 5),
    ]
    generator = np.random.default_rng(0)
    vector = generator.normal(size=32) + 1j * generator.normal(size=32)
    found, _ = swept(register, 5, circuit, vector)
    if not register(1).is_single:
        wanted = differences(register, 5, circuit, vector)
        np.testing.assert_allclose(found, wanted, atol=1e-6, rtol=1e-7)


def test_long_circuits(register: Callable) -> None:
    """More rows than are undone together, and more than the queue holds."""
    circuit = random_circuit(11, 4, 1500)
    generator = np.random.default_rng(1)
    vector = generator.normal(size=16) + 1j * generator.normal(size=16)
    whole, at_start = swept(register, 4, circuit, vector)
    tolerance = 1e-4 if register(1).is_single else 1e-10
    np.testing.assert_allclose(at_start, np.eye(16)[0], atol=tolerance)
    # The last 40 operations by themselves, from the state before them.
    state = run(register, 4, circuit[:1460])
    short: list[Operation] = [
        ("prepare", (0, 1, 2, 3), (), (), numbers_of(state.amplitudes)),
        *circuit[1460:],
    ]
    tail, _ = swept(register, 4, short, vector)
    count = len(tail) - 32
    np.testing.assert_allclose(whole[-count:], tail[32:], atol=tolerance)


def test_not_a_number_stays_one(register: Callable) -> None:
    circuit = [("RX", (0,), (), (), np.array([np.nan])), ("RY", (1,), (), (), np.array([0.3]))]
    found, _ = swept(register, 2, circuit, np.ones(4))
    assert np.all(np.isnan(found))
