"""Two states, and sums of Pauli words, on a GPU that is emulated: against NumPy; what is copied."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pytest
import scipy.sparse

from diastase_runtime.abi import ErrorCode
from emulated_gpu import EmulatedGpu
from random_circuits import apply_engine, dense_amplitudes, random_circuit

QUBITS = [1, 3, 6, 11, 12]
PAULIS = {
    "X": np.array([[0, 1], [1, 0]]),
    "Y": np.array([[0, -1j], [1j, 0]]),
    "Z": np.diag([1, -1]),
}
Term = tuple[float, str, Sequence[int]]
QUBITS_AND_WORDS = [(1, 4), (3, 1), (5, 30), (9, 12), (12, 40)]


@pytest.fixture
def register(gpu_register: Callable) -> Callable:
    return gpu_register


def prepared(register: Callable, qubits: int, seed: int):
    """A register after a random circuit, and its amplitudes."""
    circuit = random_circuit(np.random.default_rng([qubits, seed]), qubits, 60)
    state = register(qubits, seed)
    for step in circuit:
        apply_engine(state, step)
    if qubits > 1:  # renames wires
        state.gate("SWAP", (0, qubits - 1))
    tensor = dense_amplitudes(circuit, qubits).reshape((2,) * qubits)
    return state, np.swapaxes(tensor, 0, qubits - 1).ravel()


def random_terms(qubits: int, count: int) -> list[Term]:
    """Words of any length, that of no letters, too; some of them alike but for Y."""
    generator = np.random.default_rng([qubits, count])
    terms: list[Term] = []
    for number in range(count):
        wires = [int(wire) for wire in generator.permutation(qubits)[: number % (qubits + 1)]]
        for word in ("".join(generator.choice(list("XYZ"), len(wires))), "Y" * len(wires)):
            terms.append((float(generator.normal()), word, wires))
    return terms


def applied(terms: list[Term], vector: np.ndarray) -> np.ndarray:
    """The sum of the words applied to a vector."""
    qubits = len(vector).bit_length() - 1
    total = np.zeros(len(vector), complex)
    for coefficient, word, wires in terms:
        part = vector.reshape((2,) * qubits)
        for letter, wire in zip(word, wires, strict=True):
            part = np.moveaxis(np.tensordot(PAULIS[letter], part, axes=(1, wire)), 0, wire)
        total += coefficient * part.ravel()
    return total


def on_the_processor(register: Callable, vector: np.ndarray):
    """A register of these amplitudes, which were last changed on the processor."""
    qubits = len(vector).bit_length() - 1
    state = register(qubits)
    state.prepare_wires(vector, range(qubits))
    state.apply_sparse(scipy.sparse.identity(2, format="csr"), [0])
    return state


def copied(*states) -> int:
    """How many bytes were copied, of operations, sums and amplitudes."""
    return sum(each.context.to_device + each.context.to_host for each in states)


@pytest.mark.parametrize("qubits", QUBITS)
def test_inner_products(register: Callable, qubits: int) -> None:
    bra, left = prepared(register, qubits, 1)
    ket, right = prepared(register, qubits, 2)
    for state, other, wanted in (
        (bra, ket, np.vdot(left, right)), (ket, bra, np.vdot(right, left)), (bra, bra, 1.0),
    ):  # fmt: skip
        assert state.inner(other) == pytest.approx(wanted, abs=state.within(1e-13))
    np.testing.assert_allclose(bra.amplitudes, left, atol=bra.within(1e-13))


@pytest.mark.parametrize("qubits", QUBITS)
def test_multiples_are_added(register: Callable, qubits: int) -> None:
    target, start = prepared(register, qubits, 3)
    source, added = prepared(register, qubits, 4)
    source.gate("PauliX", [0])  # waits
    added = added.reshape(2, -1)[::-1].ravel()
    target.scale_add(source, 0.3 - 0.7j)
    wanted = start + (0.3 - 0.7j) * added
    np.testing.assert_allclose(target.amplitudes, wanted, atol=target.within(1e-13))
    np.testing.assert_allclose(source.amplitudes, added, atol=target.within(1e-13))
    target.scale_add(target, 1j)
    np.testing.assert_allclose(target.amplitudes, wanted * (1 + 1j), atol=target.within(1e-13))


@pytest.mark.parametrize("qubits", [1, 12])
def test_a_state_of_zeros(register: Callable, qubits: int) -> None:
    state, _ = prepared(register, qubits, 5)
    source, added = prepared(register, qubits, 6)
    for angle in (0.5, float("nan")):
        state.gate("RX", [0], angle)  # waits, and must be forgotten; or spoils the state
        state.call("state_zero")
        assert state.inner(state) == 0
        state.scale_add(source, 2.0)
        np.testing.assert_allclose(state.amplitudes, 2 * added, atol=state.within(1e-13))
    state.call("state_zero")
    np.testing.assert_array_equal(state.amplitudes, 0)


def test_no_amplitudes_are_copied(register: Callable) -> None:
    state, amplitudes = prepared(register, 12, 7)
    other = state.copy()
    other.call("state_zero")
    state.inner(other)  # which applies what waits, and brings wires into their order
    before = copied(state)
    other.call("state_zero")
    other.scale_add(state, 2j)
    assert state.inner(other) == pytest.approx(2j, abs=state.within(1e-12))
    other.scale_add(state, 1.0)
    assert other.inner(other) == pytest.approx(5.0, abs=state.within(1e-12, 1e-5))
    assert copied(state) - before <= 2 * 16 * 1024
    before = copied(state)
    np.testing.assert_allclose(other.amplitudes, (1 + 2j) * amplitudes, atol=other.within(1e-12))
    assert copied(state) - before == (8 if state.is_single else 16) << 12  # what was old
    other.release()


def test_a_state_of_the_processor_is_brought_once(register: Callable) -> None:
    generator = np.random.default_rng(8)
    vectors = generator.normal(size=(2, 1 << 10)) + 1j * generator.normal(size=(2, 1 << 10))
    states = [on_the_processor(register, vector) for vector in vectors]
    before = [state.context.to_device for state in states]
    first, second = states
    wanted = np.vdot(*vectors)
    for _ in range(2):
        assert first.inner(second) == pytest.approx(wanted, rel=first.within(1e-12, 1e-5))
    size = (8 if first.is_single else 16) << 10
    assert [state.context.to_device - n for state, n in zip(states, before, strict=True)] == [
        size, size,
    ]  # fmt: skip
    first.call("state_zero")
    first.scale_add(second, 1.0)
    np.testing.assert_allclose(first.amplitudes, vectors[1], rtol=first.within(1e-15, 1e-6))


def test_states_of_other_sizes_do_not_meet(register: Callable) -> None:
    state, other = register(3), register(4)
    assert state.inner(other) == 0
    code, _, detail = state.error
    assert (code, detail[:2]) == (ErrorCode.SIZE_MISMATCH, [4, 3])


@pytest.mark.parametrize("failing", range(1, 14))
def test_whatever_fails_is_an_error(gpu: EmulatedGpu, register: Callable, failing: int) -> None:
    state = on_the_processor(register, np.ones(8))
    other = state.copy()
    gpu.settings(failing=failing, failure=719)
    for _ in range(2):
        other.call("state_zero")
        other.scale_add(state, 1j)
        result = state.inner(other)
    assert result == 0
    code, site, detail = state.error
    assert (code, site, detail[0]) == (ErrorCode.GPU_FAILED, 7, 719)
    gpu.settings()
    other.release()


def test_too_little_memory_is_an_error(gpu: EmulatedGpu, register: Callable) -> None:
    state = register(13)
    other = state.copy()
    used = gpu.settings()
    gpu.settings(limit=used)  # none for the sums
    assert state.inner(other) == 0
    code, _, detail = state.error
    assert (code, detail[0]) == (ErrorCode.OUT_OF_MEMORY, 16 * 1024)
    other.release()
    state.release()
    assert gpu.settings() == 0
    state.state = None


@pytest.mark.parametrize(("qubits", "count"), QUBITS_AND_WORDS)
def test_moments(register: Callable, qubits: int, count: int) -> None:
    state, vector = prepared(register, qubits, 1)
    terms = random_terms(qubits, count)
    image = applied(terms, vector)
    mean = np.vdot(vector, image).real
    near = partial(pytest.approx, rel=state.within(1e-12, 1e-5), abs=state.within(1e-12, 1e-4))
    assert state.pauli("expval_pauli", terms) == near(mean)
    assert state.pauli("var_pauli", terms) == near(np.vdot(image, image).real - mean**2)
    np.testing.assert_allclose(state.amplitudes, vector, atol=state.within(1e-13))


def test_variances_copy_no_amplitudes(register: Callable) -> None:
    state, vector = prepared(register, 12, 2)
    terms = random_terms(12, 3)
    state.gate("Hadamard", [1])
    state.pauli("expval_pauli", terms)
    back = state.context.to_host
    for _ in range(3):
        state.pauli("var_pauli", terms)
    assert state.context.to_host - back <= 3 * 16 * 1024
    there = state.context.to_device
    state.gate("Hadamard", [1])
    np.testing.assert_allclose(state.amplitudes, vector, atol=state.within(1e-12))
    assert state.context.to_device - there < 8 << 12


@pytest.mark.parametrize(("qubits", "count"), QUBITS_AND_WORDS)
def test_applied_sums(register: Callable, qubits: int, count: int) -> None:
    target, start = prepared(register, qubits, 3)
    source, vector = prepared(register, qubits, 4)
    terms = random_terms(qubits, count)
    target.add_pauli_sum(source, terms)
    wanted = start + applied(terms, vector)
    within = {"rtol": source.within(1e-12, 1e-5), "atol": source.within(1e-12, 1e-4)}
    np.testing.assert_allclose(target.amplitudes, wanted, **within)
    np.testing.assert_allclose(source.amplitudes, vector, atol=source.within(1e-13))


def test_seeds_copy_no_amplitudes(register: Callable) -> None:
    """What a sweep back begins with."""
    state, vector = prepared(register, 12, 5)
    terms = random_terms(12, 4)
    state.pauli("expval_pauli", terms)
    state.inner(state)  # brings wires into their order
    before = state.context.to_device, state.context.to_host
    adjoint = state.copy()
    adjoint.call("state_zero")
    adjoint.add_pauli_sum(state, terms)
    adjoint.gate("PauliX", [0])
    found = adjoint.inner(adjoint).real
    assert state.context.to_device - before[0] <= 8 * 32 + 4 * 1024
    assert state.context.to_host - before[1] <= 16 * 1024
    image = applied(terms, vector)
    assert found == pytest.approx(np.vdot(image, image).real, rel=state.within(1e-12, 1e-5))
    adjoint.release()


def test_no_words_are_nothing(register: Callable) -> None:
    state, vector = prepared(register, 4, 6)
    other = state.copy()
    other.add_pauli_sum(state, [])
    assert state.pauli("var_pauli", []) == 0
    np.testing.assert_allclose(other.amplitudes, vector, atol=state.within(1e-12))
    other.release()


@pytest.mark.parametrize("failing", range(1, 16))
def test_whatever_fails_with_words_is_an_error(
    gpu: EmulatedGpu, register: Callable, failing: int
) -> None:
    state = on_the_processor(register, np.ones(8))
    other = state.copy()
    gpu.settings(failing=failing, failure=719)
    for _ in range(3):
        other.add_pauli_sum(state, [(1.0, "X", [0])])
        result = state.pauli("var_pauli", [(1.0, "Z", [1])])
    assert result == 0
    code, site, detail = state.error
    assert (code, site, detail[0]) == (ErrorCode.GPU_FAILED, 7, 719)
    gpu.settings()
    other.release()


def test_too_little_memory_for_words_is_an_error(gpu: EmulatedGpu, register: Callable) -> None:
    state = register(6)
    other = state.copy()
    terms = random_terms(6, 100)
    gpu.settings(limit=gpu.settings())
    other.add_pauli_sum(state, terms)
    code, _, detail = state.error
    assert (code, detail[0]) == (ErrorCode.OUT_OF_MEMORY, 32 * 200)
    other.release()
    state.release()
    assert gpu.settings() == 0
    state.state = None
