"""The engine on several threads: the same results as on one, whatever their number."""

import ctypes
import shutil
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pytest

from diastase_engine import threads_library
from diastase_runtime.abi import library_symbol

QUBITS = 15
Configure = Callable[[int], None]


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """A pool of its own: the number of threads of the programs' pool stays as it is."""
    path = tmp_path_factory.mktemp("pool") / "threads.so"
    return ctypes.CDLL(str(shutil.copy(threads_library(), path)))


@pytest.fixture(scope="module")
def parallel(pool: ctypes.CDLL, precision: str, load_engine: Callable) -> ctypes.CDLL:
    """An engine that knows the pool."""
    library = load_engine(precision)
    names = ("parallel_for", "thread_count", "poll", "poll_now")
    addresses = [
        ctypes.cast(pool[library_symbol("threads", name)], ctypes.c_void_p) for name in names
    ]
    name = "single" if precision == "single" else "engine"
    library[library_symbol(name, "use_threads")](*addresses)
    return library


@pytest.fixture
def configure(pool: ctypes.CDLL) -> Iterator[Configure]:
    def threads(number: int) -> None:
        pool[library_symbol("threads", "configure")](ctypes.c_int64(number))

    yield threads
    threads(1)


def circuit(state, layers: int) -> None:
    generator = np.random.default_rng(3)
    for _ in range(layers):
        for wire in range(state.qubits):
            state.gate("RY", [wire], generator.uniform(-3, 3))
            state.gate("RZ", [wire], generator.uniform(-3, 3))
        for wire in range(state.qubits - 1):
            state.gate("CNOT", [wire, wire + 1])
        first, second = (int(wire) for wire in generator.permutation(state.qubits)[:2])
        state.gate("IsingXX", [first, second], generator.uniform(-3, 3))


def results(registers: Callable, library: ctypes.CDLL) -> dict[str, np.ndarray]:
    """All that can be asked for of one state."""
    state = registers(library, QUBITS, seed=5)
    circuit(state, 3)
    terms = [(0.5, "ZZ", (0, QUBITS - 1)), (1.5, "XY", (1, 9)), (-0.2, "Z", (3,))]
    found = {
        "amplitudes": state.amplitudes,
        "expval": state.pauli("expval_pauli", terms),
        "var": state.pauli("var_pauli", terms),
        "probabilities": state.probabilities(),
        "marginal": state.probabilities([2, 11, 0]),
        "samples": state.sample([0, 4, QUBITS - 1], 200),
        "outcome": state.measure(5),
    }
    state.gate("RX", [2], 0.3)  # swept alone
    found["swept"] = state.amplitudes
    copy = state.copy()
    found["copied"] = copy.amplitudes
    found["inner"] = copy.inner(state)
    copy.release()
    assert state.error[0] == 0
    return {name: np.asarray(value) for name, value in found.items()}


def test_results_do_not_depend_on_the_number_of_threads(
    registers: Callable, parallel: ctypes.CDLL, configure: Configure, precision: str
) -> None:
    tolerance = 1e-12 if precision == "double" else 2e-6
    alone = results(registers, parallel)
    for threads in (2, 3, 8, 8, 2):
        configure(threads)
        for name, value in results(registers, parallel).items():
            if name == "samples" and precision == "single":
                # A shot that falls within rounding of a border may go to the next outcome.
                assert np.mean(value != alone[name]) <= 0.02
                continue
            np.testing.assert_allclose(value, alone[name], rtol=0, atol=tolerance, err_msg=name)


def gradient(
    registers: Callable, library: ctypes.CDLL, chunk_bits: int, start: Callable[[], None]
) -> np.ndarray:
    """The derivatives by all angles of a circuit, by a sweep back that begins with `start`."""
    state = registers(library, QUBITS)
    state.call("tape_record", ctypes.c_int64(0))
    circuit(state, 2)
    state.pauli("expval_pauli", [(1.0, "Z", (0,))])  # All gates are applied.
    state.set_chunk_bits(chunk_bits)
    adjoint = state.copy()
    adjoint.call("state_zero")
    adjoint.add_pauli_sum(state, [(2.0, "Z", (0,)), (0.6, "XY", (QUBITS - 1, 3))])
    size = state.call("tape_length", result=ctypes.c_int64)
    found = np.full(size, np.nan)
    arguments = (ctypes.c_void_p(adjoint.state), ctypes.c_int64(0), ctypes.c_int64(size))
    start()
    state.call("tape_sweep", *arguments, ctypes.c_void_p(found.ctypes.data))
    assert state.error[0] == 0
    adjoint.release()
    return found


def test_gradients_do_not_depend_on_the_number_of_threads(
    registers: Callable, parallel: ctypes.CDLL, configure: Configure, precision: str
) -> None:
    """Bit for bit, whatever the size of the chunks; sizes differ by rounding."""
    alone = {}
    for chunk_bits in (0, 7, 11, 13, QUBITS):
        for threads in (1, 2, 5):
            configure(1)
            found = gradient(registers, parallel, chunk_bits, partial(configure, threads))
            alone.setdefault(chunk_bits, found)
            np.testing.assert_array_equal(found, alone[chunk_bits])
        tolerance = 1e-12 if precision == "double" else 1e-5
        np.testing.assert_allclose(alone[chunk_bits], alone[0], rtol=0, atol=tolerance)
    assert np.linalg.norm(alone[0]) > 0.1


def test_every_chunk_size(registers: Callable, parallel: ctypes.CDLL, configure: Configure) -> None:
    state = registers(parallel, QUBITS)
    circuit(state, 2)
    expected = state.amplitudes
    for threads in (2, 8):
        configure(threads)
        for chunk_bits in (6, 9, 12, 14, 15):
            state = registers(parallel, QUBITS)
            state.set_chunk_bits(chunk_bits)
            circuit(state, 2)
            np.testing.assert_allclose(state.amplitudes, expected, rtol=0, atol=state.within(1e-12))
            state.release()
