"""Stages, chunks and tiles: random circuits of every kind of operation against single sweeps."""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from diastase_engine.libraries.tuning import settings_for
from diastase_toolchain.linker import is_provided, undefined_symbols
from diastase_toolchain.processor import HostProcessor
from other_processors import engine_object

NAMED = (
    "CNOT", "CZ", "CRX", "CRY", "CRZ", "ControlledPhaseShift", "IsingZZ", "SWAP",
    "IsingXX", "IsingYY", "IsingXY", "SingleExcitation", "SingleExcitationPlus", "FermionicSWAP",
)  # fmt: skip
FLIP, HADAMARD = np.array([[0, 1], [1, 0]]), np.array([[1, 1], [1, -1]]) / np.sqrt(2)


@dataclass(frozen=True)
class Step:
    """A matrix on one wire with controls, or a named gate on two wires."""

    wires: tuple[int, ...]
    controls: tuple[int, ...] = ()
    values: tuple[int, ...] = ()
    matrix: np.ndarray | None = None
    name: str = ""
    angle: float = 0.0


def random_matrix(generator: np.random.Generator) -> np.ndarray:
    """General, real, a flip, Hadamard, diagonal, a phase on one row, the identity."""
    a, b, c = generator.uniform(-3, 3, 3)
    real = np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])
    diagonal = np.diag(np.exp([1j * b, 1j * c]))
    kinds = [
        diagonal @ real @ np.diag([1, np.exp(0.3j)]),
        real, FLIP, HADAMARD, diagonal, np.diag([1, np.exp(1j * b)]), np.diag([np.exp(1j * c), 1]),
        np.eye(2),
    ]  # fmt: skip
    return kinds[generator.integers(len(kinds))]


def random_step(generator: np.random.Generator, qubits: int) -> Step:
    order = tuple(int(wire) for wire in generator.permutation(qubits))
    if qubits > 1 and generator.random() < 0.4:
        return Step(order[:2], name=str(generator.choice(NAMED)), angle=generator.uniform(-3, 3))
    n_controls = int(generator.choice([0, 0, 0, 1, 2, 3, 4]))
    controls = order[1 : 1 + n_controls]
    values = tuple(int(value) for value in generator.integers(0, 2, len(controls)))
    return Step(order[:1], controls, values, random_matrix(generator))


def apply(state, step: Step) -> None:
    if step.matrix is not None:
        state.unitary(step.matrix, step.wires, step.controls, step.values)
    else:
        state.gate(step.name, step.wires, step.angle)


def run(state, steps: Sequence[Step]) -> np.ndarray:
    for wire in range(state.qubits):
        state.gate("RY", [wire], 0.4 + wire)
        state.gate("RZ", [wire], 0.9 - wire)
    for step in steps:
        apply(state, step)
    assert state.error[0] == 0
    return state.amplitudes


def run_singly(state, steps: Sequence[Step]) -> np.ndarray:
    """Apply every operation before the next one is queued: no fusion, and no plan of several."""
    for wire in range(state.qubits):
        for name, angle in (("RY", 0.4 + wire), ("RZ", 0.9 - wire)):
            state.gate(name, [wire], angle)
            state.probabilities([0])
    for step in steps:
        apply(state, step)
        state.probabilities([0])
    return state.amplitudes


@pytest.fixture(
    scope="session",
    params=[("own", "double"), ("own", "single"), ("four", "double"), ("other", "double")],
    ids="-".join,
)
def tiled(
    request: pytest.FixtureRequest, engines: Callable, engine_with_slots: Callable, slots: int
) -> ctypes.CDLL:
    """The engine of programs; with tiles of four blocks; and with those of other processors.

    Other than the processor's own are the same in both precisions.
    """
    tiles, precision = request.param
    if tiles == "own":
        return engines(precision)
    return engine_with_slots(2 if tiles == "four" else 4 - slots)


@pytest.fixture
def tiled_register(registers: Callable, tiled: ctypes.CDLL) -> Callable:
    return partial(registers, tiled)


@pytest.mark.sample(4)
@pytest.mark.parametrize("qubits", range(1, 13))
def test_every_chunk_size(tiled_register: Callable, qubits: int) -> None:
    for seed in range(3):
        generator = np.random.default_rng([qubits, seed])
        steps = [random_step(generator, qubits) for _ in range(30 if seed else 150)]
        expected = run_singly(tiled_register(qubits), steps)
        for chunk_bits in range(1, qubits + 2):
            state = tiled_register(qubits)
            state.set_chunk_bits(chunk_bits)
            np.testing.assert_allclose(
                run(state, steps), expected, rtol=0, atol=state.within(1e-12)
            )
            state.release()


def diagonal_layers(generator: np.random.Generator, qubits: int) -> list[Step]:
    """Rows of diagonal operations, of phases and projectors, with something else between them."""
    steps: list[Step] = []
    for wire in range(qubits):
        steps.append(Step((wire,), matrix=HADAMARD))
        for other in range(qubits):
            angle = generator.uniform(-3, 3)
            if other == wire:
                phases = np.exp(1j * generator.uniform(-3, 3, 2))
                steps.append(Step((wire,), matrix=np.diag(phases * (1 + (other % 3 == 0)))))
            elif generator.random() < 0.8:
                name = str(generator.choice(["ControlledPhaseShift", "IsingZZ", "CRZ", "CZ"]))
                steps.append(Step((wire, other), name=name, angle=angle))
            else:
                third = (other,) if wire + 1 == qubits else (other, wire + 1)
                controls = tuple(sorted(set(third) - {wire}))
                values = tuple(int(value) for value in generator.integers(0, 2, len(controls)))
                diagonal = np.diag(np.exp(1j * generator.uniform(-3, 3, 2)))
                steps.append(Step((wire,), controls, values, diagonal))
        if wire % 4 == 3:
            steps.append(Step((wire,), matrix=np.diag([0.0, 1.25])))
    return steps


@pytest.mark.parametrize("qubits", [6, 7, 9, 11])
def test_rows_of_diagonal_operations(tiled_register: Callable, qubits: int) -> None:
    for seed in range(3):
        steps = diagonal_layers(np.random.default_rng([qubits, seed]), qubits)
        expected = run_singly(tiled_register(qubits), steps)
        for chunk_bits in range(6, qubits + 1):
            state = tiled_register(qubits)
            state.set_chunk_bits(chunk_bits)
            np.testing.assert_allclose(
                run(state, steps), expected, rtol=0, atol=state.within(1e-12)
            )
            state.release()


@pytest.mark.sample(5)
@pytest.mark.parametrize("turned", ["none", "one", "selected", "diagonal"])
def test_common_factors(tiled_register: Callable, turned: str) -> None:
    """XX and YY by one angle, with ZZ: their common factor goes into another operation."""
    qubits = 8
    steps: list[Step] = []
    for layer in range(3):
        pairs = [(wire, wire + 1) for first in (0, 1) for wire in range(first, qubits - 1, 2)]
        for pair in pairs[:: 1 if turned == "none" else 2]:
            steps += [Step(pair, name=name, angle=0.3 + layer) for name in ("IsingXX", "IsingYY")]
            steps.append(Step(pair, name="IsingZZ", angle=0.7 - layer))
        if turned == "one":
            steps.append(Step((layer,), name="RX", angle=0.4))
        elif turned == "diagonal":
            steps.append(Step((layer,), name="RZ", angle=0.4))
        elif turned == "selected":
            steps.append(Step((layer, layer + 3), name="CRX", angle=0.4))
    expected = run_singly(tiled_register(qubits), steps)
    for chunk_bits in range(6, qubits + 1):
        state = tiled_register(qubits)
        state.set_chunk_bits(chunk_bits)
        state.prepare(run_singly(tiled_register(qubits), []))
        for step in steps:
            apply(state, step)
        np.testing.assert_allclose(state.amplitudes, expected, rtol=0, atol=state.within(1e-12))
        state.release()


def rotation(name: str, angle: float) -> np.ndarray:
    generator = {"RX": FLIP, "RY": np.array([[0, -1j], [1j, 0]])}[name]
    return np.cos(angle / 2) * np.eye(2) - 1j * np.sin(angle / 2) * generator


@pytest.mark.parametrize("least", [0.0, 3.04, 3.141592653], ids=["any", "near_pi", "pi"])
def test_rotations_divided_by_their_cosines(tiled_register: Callable, least: float) -> None:
    """Layers of RX and RY with phases between them, against NumPy; many cosines are small."""
    qubits, generator = 9, np.random.default_rng(5)
    expected = run(tiled_register(qubits), [])
    layers: list[Step] = []
    for layer in range(4):
        for wire in range(qubits):
            name = ("RX", "RY")[(wire + layer) % 2]
            angle = generator.choice([-1, 1]) * generator.uniform(least, np.pi) + 2 * np.pi * layer
            layers.append(Step((wire,), name=name, angle=angle))
            matrix = rotation(name, angle)
            last = (wire + 1) % qubits
            # Wire 0 is the axis of the highest stride.
            tensor = np.moveaxis(expected.reshape((2,) * qubits), wire, 0)
            tensor = np.moveaxis(np.tensordot(matrix, tensor, 1), 0, wire)
            if layer < 3:
                layers.append(Step((wire, last), name="CZ"))
                signs = np.ones((2,) * qubits)
                picked = [slice(None)] * qubits
                picked[wire], picked[last] = 1, 1
                signs[tuple(picked)] = -1
                tensor = tensor * signs
            expected = tensor.reshape(-1)
    for chunk_bits in range(6, qubits + 1):
        state = tiled_register(qubits)
        state.set_chunk_bits(chunk_bits)
        np.testing.assert_allclose(run(state, layers), expected, rtol=0, atol=state.within(1e-12))
        state.release()


def test_large_numbers_are_not_taken_out(tiled_register: Callable) -> None:
    """Amplitudes become large and small again in turns; single precision ends at 1e38."""
    matrices = [np.array([[1, 0.5], [-0.5, 1]]), np.array([[1, 0.5j], [0.5, 1j]])] * 2
    begin = run_singly(tiled_register(9), [])
    steps = [Step((5 + wire,), matrix=matrix) for wire, matrix in enumerate(matrices)]
    reference = tiled_register(9)
    reference.prepare(begin)
    for step in steps:
        apply(reference, step)
        reference.probabilities([0])
    state = tiled_register(9)
    state.set_chunk_bits(9)
    state.prepare(begin)
    for step, size in zip(steps, [1e30, 1e-30] * 2, strict=True):
        assert step.matrix is not None
        state.unitary(step.matrix * size, step.wires)
    np.testing.assert_allclose(
        state.amplitudes, reference.amplitudes, rtol=0, atol=state.within(1e-12)
    )


def test_collapse_between_stages(tiled_register: Callable) -> None:
    generator = np.random.default_rng(5)
    swept, planned = (tiled_register(9, seed=3) for _ in range(2))
    planned.set_chunk_bits(7)
    for _ in range(6):
        steps = [random_step(generator, 9) for _ in range(40)]
        run_singly(swept, steps)
        run(planned, steps)
        for wire, reset in ((3, False), (0, True), (8, False)):
            assert swept.measure(wire, reset) == planned.measure(wire, reset)
        np.testing.assert_allclose(
            planned.amplitudes, swept.amplitudes, rtol=0, atol=planned.within(1e-12)
        )


@pytest.mark.parametrize("qubits", [15, 17])
def test_larger_states(tiled_register: Callable, qubits: int) -> None:
    generator = np.random.default_rng(qubits)
    steps = [random_step(generator, qubits) for _ in range(100)]
    expected = run_singly(tiled_register(qubits), steps)
    for chunk_bits in (0, 6, 11, 14, 16):
        state = tiled_register(qubits)
        state.set_chunk_bits(chunk_bits)
        np.testing.assert_allclose(run(state, steps), expected, rtol=0, atol=state.within(1e-12))
        state.release()


@pytest.mark.sample(1)  # each is a whole engine
@pytest.mark.parametrize(
    ("triple", "processor", "machine", "single"),
    [
        ("aarch64-unknown-linux-gnu", "neoverse-n1", 183, 1),
        ("x86_64-unknown-linux-gnu", "x86-64-v4", 62, 0),
    ],
)
def test_the_engine_compiles_for_other_processors(
    triple: str, processor: str, machine: int, single: int
) -> None:
    compiled = engine_object(triple, processor, {"slots": 1, "chunk_bits": 14, "single": single})
    assert compiled[:4] == b"\x7fELF"
    assert int.from_bytes(compiled[18:20], "little") == machine
    assert all(map(is_provided, undefined_symbols(compiled)))


@pytest.mark.parametrize(
    ("features", "slots"), [("+avx2,+fma", 1), ("+avx2,+avx512f", 3), ("+neon", 1)]
)
def test_tiles_fit_the_registers(features: str, slots: int) -> None:
    assert settings_for(HostProcessor("", "", features))["slots"] == slots


def first_touched(state, kind: str, generator: np.random.Generator) -> None:
    """Change amplitudes of a new state in some way that is no operation of the queue."""
    vector = generator.normal(size=8) + 1j * generator.normal(size=8)
    matrix = np.outer(vector, vector)
    if kind == "matrix":
        state.unitary(matrix, [5, 0, 8])
    elif kind == "vector":
        state.prepare_wires(vector, [1, 7, 2])
    elif kind == "diagonal":
        state.diagonal(np.outer(vector, vector[:2]).ravel(), [0, 3, 8, 1])
    elif kind == "sum":
        other = state.copy()
        for wire in range(state.qubits):
            other.gate("RX", [wire], 0.3 + wire)
        state.scale_add(other, 0.3 - 0.4j)
        other.release()
    elif kind == "zero":
        other = state.copy()
        for wire in range(state.qubits):
            other.gate("RY", [wire], 0.3 - wire)
        state.call("state_zero")
        state.scale_add(other, 1j)
        other.release()
    elif kind == "reset":
        state.gate("RY", [4], 0.7)
        state.measure(4, reset=True)


@pytest.mark.parametrize("kind", ["none", "matrix", "vector", "diagonal", "sum", "zero", "reset"])
def test_what_is_zero_in_a_new_state_is_skipped(register: Callable, kind: str) -> None:
    """Gates on few wires, so that most chunks are zero until the last stages."""
    qubits = 9
    for seed in range(4):
        generator = np.random.default_rng(seed)
        steps = [random_step(generator, 3 + k // 4) for k in range(24)]
        expected = None
        for chunk_bits in (10, 9, 8, 7, 6):
            state = register(qubits, seed)
            state.set_chunk_bits(chunk_bits)
            first_touched(state, kind, np.random.default_rng([seed, 1]))
            for step in steps:
                apply(state, step)
            amplitudes = state.amplitudes
            expected = amplitudes if expected is None else expected
            np.testing.assert_allclose(amplitudes, expected, rtol=0, atol=state.within(1e-12))
            state.release()
        single = register(qubits, seed)
        first_touched(single, kind, np.random.default_rng([seed, 1]))
        for step in steps:
            apply(single, step)
            single.probabilities([0])
        np.testing.assert_allclose(single.amplitudes, expected, rtol=0, atol=single.within(1e-12))


def layers(qubits: int, depth: int) -> list[Step]:
    """Rotations of all wires, then flips along the line: two matrices for each wire and layer."""
    steps: list[Step] = []
    for layer in range(depth):
        for wire in range(qubits):
            steps.append(Step((wire,), name="RY", angle=0.3 + layer))
            steps.append(Step((wire,), name="RZ", angle=0.7 - wire))
        steps += [Step((wire, wire + 1), name="CNOT") for wire in range(qubits - 1)]
    return steps


@pytest.mark.parametrize(("chunk_bits", "most"), [(12, 1), (10, 3), (8, 8), (6, 25)])
def test_stages_are_few(register: Callable, chunk_bits: int, most: int) -> None:
    """Six layers on 12 wires are 72 operations, which need few walks over the amplitudes."""
    state = register(12)
    state.set_chunk_bits(chunk_bits + state.is_single)  # lanes fill a bit more of a chunk
    for step in layers(12, 6):
        apply(state, step)
    state.probabilities([0])
    assert state.field("applied").value == 72
    assert 1 <= state.field("stages").value <= most
