"""Lane registers on a GPU that is none (`emulated_gpu`), against those of the processor.

The processor's have an independent reference in `test_lanes`, all of which runs here, too, with
`DIASTASE_EMULATED_GPU=1`.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from diastase_engine.libraries.build import LANE_GRIDS, grids_ir
from diastase_runtime.abi import ErrorCode
from diastase_toolchain.ptx import ARCHITECTURE, TRIPLE, ptx
from emulated_gpu import BACKWARDS, EmulatedGpu
from lane_registers import LaneRegister
from ptx_assembler import ARCHITECTURES, assembled, assembler

GATES = (
    ("RX", 1, 1), ("RY", 1, 1), ("RZ", 1, 1), ("Rot", 1, 3), ("Hadamard", 1, 0), ("S", 1, 0),
    ("PauliX", 1, 0), ("CNOT", 2, 0), ("CRY", 2, 1), ("IsingXY", 2, 1), ("IsingZZ", 2, 1),
    ("SWAP", 2, 0), ("ISWAP", 2, 0),
)  # fmt: skip


@pytest.fixture(scope="module", params=["forwards", "backwards"])
def gpu(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> EmulatedGpu:
    """Also with the threads and blocks of all launches in reverse."""
    order = BACKWARDS if request.param == "backwards" else 0
    return EmulatedGpu(tmp_path_factory.mktemp("gpu"), "lanes", order=order)


@pytest.fixture
def there(gpu: EmulatedGpu) -> Iterator[Callable[..., LaneRegister]]:
    made: list[LaneRegister] = []

    def make(*arguments: int) -> LaneRegister:
        made.append(LaneRegister(gpu.library, *arguments))
        return made[-1]

    gpu.settings()
    yield make
    gpu.settings()
    for each in made:
        each.release()
    assert gpu.settings() == 0


def apply_random(registers: list[LaneRegister], seed: int, length: int) -> None:
    """The same gates on all of these registers, some in some of their lanes only."""
    random = np.random.default_rng(seed)
    wires, lanes = registers[0].wires, registers[0].lanes
    for _ in range(length):
        fitting = [gate for gate in GATES if gate[1] <= wires]
        name, count, parameters = fitting[random.integers(len(fitting))]
        order = [int(wire) for wire in random.permutation(wires)]
        angles = [random.normal(size=lanes) * 2 for _ in range(parameters)]
        controls = order[count : count + int(random.integers(0, 3))]
        values = [int(value) for value in random.integers(0, 2, len(controls))]
        mask = random.integers(0, 2, lanes) if random.random() < 0.2 else np.ones(lanes, int)
        for register in registers:
            register.activate(mask)
            register.gate(name, order[:count], *angles, controls=controls, values=values)
    for register in registers:
        register.activate(np.ones(lanes, int))


@pytest.mark.parametrize(("wires", "count"), [(1, 8), (2, 24), (5, 40), (8, 16), (10, 8)])
def test_gates_and_what_is_read(there: Callable, lanes: Callable, wires: int, count: int) -> None:
    ours, theirs = there(wires, count, 3), lanes(wires, count, 3)
    apply_random([ours, theirs], wires, 60)
    matrix = np.linalg.qr(np.random.default_rng(1).normal(size=(count, 4, 4)))[0]
    for register in (ours, theirs) if wires > 1 else ():
        register.unitary(matrix, [0, wires - 1])
    some = list(range(wires))[:3][::-1]
    words = [("XYZ"[: len(some)], some), ("Z", [0]), ("Y", [wires - 1])]
    np.testing.assert_allclose(ours.pauli_values(words), theirs.pauli_values(words), atol=1e-12)
    for each in (some, ()):
        found, wanted = ours.probabilities(each), theirs.probabilities(each)
        np.testing.assert_allclose(found, wanted, atol=1e-12)
    np.testing.assert_array_equal(ours.sample(some, 20), theirs.sample(some, 20))
    np.testing.assert_allclose(ours.amplitudes, theirs.amplitudes, atol=1e-12)
    apply_random([ours, theirs], wires + 1, 10)  # from the host back to the GPU
    np.testing.assert_allclose(ours.amplitudes, theirs.amplitudes, atol=1e-12)


@pytest.mark.parametrize("reset", [False, True])
def test_measurements(there: Callable, lanes: Callable, reset: bool) -> None:
    registers = [there(4, 24, 7), lanes(4, 24, 7)]
    for step in range(4):
        apply_random(registers, step, 15)
        mask = np.arange(24) % 3 != step % 3
        for register in registers:
            register.activate(mask.astype(int))
        found, wanted = (register.measure(step, reset) for register in registers)
        np.testing.assert_array_equal(found, wanted)
    found, wanted = (register.amplitudes for register in registers)
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_gates_copy_matrices_and_nothing_comes_back(there: Callable) -> None:
    register = there(10, 64, 0)
    apply_random([register], 1, 40)
    register.pauli_values([("Z", [0])])
    context, size = register.context, 16 * 64 << 10
    assert 0 < context.launches < 4 * 40
    assert context.to_device < 80 * 64 * 64  # a matrix for each lane and gate
    assert context.to_host < size // 100


def test_an_angle_that_is_no_number_spoils_its_lane(there: Callable) -> None:
    register = there(2, 8, 0)
    angles = np.full(8, 0.3)
    angles[3] = np.nan
    register.gate("RX", [0], angles)
    register.gate("CNOT", [0, 1])
    found = register.probabilities()
    assert np.isnan(found[3]).all()
    np.testing.assert_allclose(np.delete(found, 3, 0).sum(axis=1), 1.0)


@pytest.mark.parametrize("failing", range(1, 14, 2))
def test_whatever_fails_is_an_error(gpu: EmulatedGpu, there: Callable, failing: int) -> None:
    gpu.settings(failing=failing, failure=719)
    register = there(3, 8, 0)
    for _ in range(2):
        register.gate("RX", [0], np.ones(8))
        register.gate("CNOT", [0, 1])
        register.measure(1)
        register.probabilities()
    assert register.context.code == ErrorCode.GPU_FAILED
    assert register.context.detail[0] == 719


def test_too_little_memory_is_an_error(gpu: EmulatedGpu, there: Callable) -> None:
    gpu.settings(limit=1 << 16)
    assert there(10, 64, 0).context.code == ErrorCode.OUT_OF_MEMORY


@pytest.mark.skipif(
    assembler() is None, reason="no ptxas (pip install nvidia-cuda-nvcc), or checks"
)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_kernels_have_all_they_need_in_registers(architecture: str, tmp_path: Path) -> None:
    used = assembled(ptx(grids_ir(TRIPLE, LANE_GRIDS), ARCHITECTURE), architecture, tmp_path)
    assert used.keys() == LANE_GRIDS.keys()
    for usage in used.values():
        assert usage.spilled == 0
        assert usage.registers <= 96
