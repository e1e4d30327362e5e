"""How many operations circuits become, and that they stay the circuits they were."""

import ctypes
from collections.abc import Callable, Iterator
from itertools import chain

import numpy as np
import pytest

Gate = tuple
"""Name, wires, parameters; with controls: their wires and values between."""


@pytest.fixture(params=["double", "single", "other tiles"])
def engine(
    request: pytest.FixtureRequest, engines: Callable, engine_with_slots: Callable, slots: int
) -> ctypes.CDLL:
    """The engine of programs in each precision, and the one that other processors have."""
    if request.param == "other tiles":
        return engine_with_slots(4 - slots)
    return engines(request.param)


@pytest.fixture
def holds_pairs(request: pytest.FixtureRequest, slots: int) -> bool:
    """Whether a tile has room for both bits of a gate that keeps their parity."""
    is_other = "other tiles" in request.node.name
    return (4 - slots if is_other else slots) > 1


def apply(state, gate: Gate) -> None:
    name, wires, *rest = gate
    if len(rest) == 2 and isinstance(rest[0], list):
        state.controlled(name, rest[0], rest[1], wires)
    else:
        state.gate(name, wires, *rest)


def operations(register: Callable, qubits: int, circuit: list[Gate]) -> int:
    """The number of operations; the state is compared with that of gates applied one by one."""
    start = np.random.default_rng(qubits).normal(size=(2, qubits, 2))
    fused, unfused = register(qubits), register(qubits)
    for state in (fused, unfused):
        for wire in range(qubits):
            state.gate("RY", [wire], start[0, wire, 0])
            state.gate("RZ", [wire], start[0, wire, 1])
        state.work_done  # noqa: B018  applies what waits
    for gate in circuit:
        apply(fused, gate)
        apply(unfused, gate)
        unfused.work_done  # noqa: B018
    pushed, applied, _ = fused.work_done
    assert unfused.work_done[0] == pushed
    np.testing.assert_allclose(
        fused.amplitudes, unfused.amplitudes, rtol=0, atol=fused.within(1e-13)
    )
    return applied - qubits


def layers(qubits: int, count: int) -> Iterator[Gate]:
    for layer in range(count):
        for wire in range(qubits):
            yield ("RY", [wire], 0.1 + wire + layer)
            yield ("RZ", [wire], 0.2 - wire * layer)
        for wire in range(qubits - 1):
            yield ("CNOT", [wire, wire + 1])


def test_layers_of_rotations_and_cnots(register: Callable) -> None:
    assert operations(register, 7, list(layers(7, 4))) == 4 * 7


def exponential(angle: float, first: int, second: int) -> list[Gate]:
    cnot = ("CNOT", [first, second])
    return [cnot, ("RZ", [second], angle), cnot]


@pytest.mark.parametrize("named", [False, True])
def test_ring_of_phases_and_a_mixer(register: Callable, named: bool) -> None:
    """One operation for each edge: the mixers become part of the phases before."""
    n, circuit = 8, []
    for layer in range(3):
        for wire in range(n):
            edge = (wire, (wire + 1) % n)
            gate = [("IsingZZ", list(edge), 0.3 + layer)]
            circuit += gate if named else exponential(0.3 + layer, *edge)
        circuit += [("RX", [wire], 0.4 + layer) for wire in range(n)]
    assert operations(register, n, circuit) <= 3 * n + 3


def test_exponential_of_two_letters(register: Callable) -> None:
    assert operations(register, 4, exponential(0.3, 1, 3)) == 1
    twice = exponential(0.3, 1, 3) + exponential(0.4, 3, 1)
    assert operations(register, 4, twice) == 1


def test_heisenberg_pair(register: Callable, holds_pairs: bool) -> None:
    """One operation for the pair where tiles have room for it, otherwise flips around one."""
    letters = ("IsingXX", "IsingYY", "IsingZZ")
    circuit = [(name, [2, 0], 0.1 * k) for k, name in enumerate(letters, 1)]
    phases = [("RZ", [0], 0.3), ("RZ", [2], 0.4), ("CZ", [0, 2])]
    back = [(name, wires, -angle) for name, wires, angle in circuit[::-1]]
    for gates, count, count_with_flips in (
        (circuit, 1, 3),
        (phases + circuit + phases, 1, 4),
        ([*circuit, ("RZ", [1], 0.3), *circuit[::-1]], 2, 4),
        # Not past what changes or reads one of the two wires.
        ([*circuit, ("RX", [0], 0.3), *circuit], 3, 5),
        ([*circuit, ("CNOT", [2, 1]), *circuit], 3, 5),
        ([*circuit, *back, ("RX", [0], 0.3)], 1, 3),
    ):
        assert operations(register, 3, gates) == (count if holds_pairs else count_with_flips)


def test_gates_that_keep_the_parity(register: Callable, holds_pairs: bool) -> None:
    """One operation each, whatever the order of the wires; or three, as with a control."""
    count = 1 if holds_pairs else 3
    for name in ("IsingXX", "IsingXY", "SingleExcitation", "FermionicSWAP", "SISWAP"):
        for wires in ([0, 4], [4, 0], [2, 3], [3, 2], [4, 3]):
            angles = () if name == "SISWAP" else (0.7,)
            assert operations(register, 5, [(name, wires, *angles)]) == count
    # The flips are on the second wire, so those of the other order do not meet them.
    both = [("IsingXX", [1, 3], np.pi), ("IsingYY", [3, 1], np.pi)]
    assert operations(register, 5, both) == (1 if holds_pairs else 6)


SELF_INVERSE = [
    ("CNOT", [0, 1]),
    ("PauliX", [2]),
    ("PauliX", [3], [0, 1, 2], [1, 0, 1]),
    ("CZ", [1, 3]),
    ("SWAP", [0, 2]),
    ("PauliY", [0], [2, 3], [1, 1]),
]


def test_self_inverse_gates_cancel(register: Callable) -> None:
    """From the middle outwards: each pair goes only if the one inside has left no trace."""
    circuit = SELF_INVERSE + SELF_INVERSE[::-1]
    assert operations(register, 4, circuit) == 0
    assert operations(register, 4, [("RX", [3], 0.3), *circuit, ("RX", [3], 0.4)]) == 1


def test_what_cancels_leaves_room(register: Callable) -> None:
    """A thousand pairs, between gates that could not be merged if a pair had stayed."""
    state = register(4)
    for _ in range(1000):
        apply(state, ("RX", [0], 0.1))
        for gate in SELF_INVERSE + SELF_INVERSE[::-1]:
            apply(state, gate)
    assert state.work_done[1] == 1


def test_control_on_zero_and_on_one(register: Callable) -> None:
    circuit = [("PauliX", [1], [0], [0]), ("PauliX", [1], [0], [1])]
    assert operations(register, 2, circuit) == 1
    # Together they are X without any selector, which no longer holds up what comes after.
    circuit += [("RX", [0], 0.1), ("RX", [1], 0.1), ("RX", [0], 0.1)]
    assert operations(register, 2, circuit) == 2


def test_diagonal_gates_pass_selectors(register: Callable) -> None:
    circuit = [("RX", [0], 0.3), ("CNOT", [0, 1]), ("RZ", [0], 0.2), ("CNOT", [0, 2])]
    assert operations(register, 3, circuit) == 3
    phases = [("CZ", [0, 1]), ("CZ", [1, 2]), ("ControlledPhaseShift", [1, 0], 0.3)]
    assert operations(register, 3, phases) == 2


def test_equal_masks(register: Callable) -> None:
    toffoli = ("PauliX", [3], [0, 1, 2], [1, 1, 0])
    phase = ("S", [3], [0, 1, 2], [1, 1, 0])
    assert operations(register, 4, [toffoli, phase, toffoli, ("T", [0])]) == 2


NAMES = [
    "RX", "RZ", "PauliX", "S", "CNOT", "CZ", "ControlledPhaseShift", "IsingZZ", "IsingXX",
    "IsingYY", "IsingXY", "SingleExcitation", "SingleExcitationPlus", "FermionicSWAP",
]  # fmt: skip


@pytest.mark.sample(7)
@pytest.mark.parametrize("seed", range(30))
def test_gates_that_merge_and_cancel(register: Callable, seed: int) -> None:
    """Few wires, few angles: roles are exchanged, operations become diagonal, or nothing."""
    generator = np.random.default_rng(seed)
    qubits = 2 + seed % 4
    circuit: list[Gate] = []
    for _ in range(300):
        name = str(generator.choice(NAMES))
        order = [int(wire) for wire in generator.permutation(qubits)]
        angle = float(generator.choice([0.0, 0.7, -0.7]))
        if name in ("RX", "RZ"):
            circuit.append((name, order[:1], angle))
        elif name in ("PauliX", "S"):
            controls = order[1 : 1 + int(generator.integers(0, qubits))]
            values = [int(value) for value in generator.integers(0, 2, len(controls))]
            circuit.append((name, order[:1], controls, values))
        elif name in ("CNOT", "CZ"):
            circuit.append((name, order[:2]))
        else:
            circuit.append((name, order[:2], angle))
    circuit = list(chain(*([gate] * int(generator.integers(1, 4)) for gate in circuit)))
    operations(register, qubits, circuit)


@pytest.mark.sample(2)
@pytest.mark.parametrize("width", range(1, 8))
def test_phase_of_a_parity(register: Callable, width: int) -> None:
    most = 1 if width < 3 else 2 * width - 3
    assert operations(register, 7, [("MultiRZ", list(range(width)), 0.3)]) == most
