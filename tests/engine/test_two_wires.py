"""4x4 matrices as operations of the queue: every kind of zeros and of degeneracy."""

from collections.abc import Callable

import numpy as np
import pennylane as qml
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.linalg import block_diag, expm
from scipy.stats import unitary_group

X, Z = np.array([[0, 1], [1, 0]]), np.diag([1, -1])
H = (X + Z) / np.sqrt(2)
SWAP = np.eye(4)[[0, 2, 1, 3]]
CHANGES_NO_STATE = [HealthCheck.function_scoped_fixture]


@pytest.fixture(scope="session")
def precision():
    """Matrices are decomposed in double precision, whatever the amplitudes are."""
    return "double"


def applied(register: Callable, matrix, qubits, wires, controls=(), values=()) -> float:
    """Apply to a random state; assert the result, return how many operations it took."""
    vector = unitary_group.rvs(2**qubits, random_state=qubits)[:, 0] if qubits > 1 else None
    state = register(qubits)
    state.prepare(vector)
    before = state.work_done[1]
    state.unitary(matrix, wires, controls, values)
    expected = controlled_matrix(matrix, qubits, wires, controls, values) @ vector
    after = state.work_done[1]
    np.testing.assert_allclose(state.amplitudes, expected, rtol=0, atol=1e-13)
    state.release()
    return after - before


def controlled_matrix(matrix, qubits, wires, controls, values) -> np.ndarray:
    """The matrix on all wires, the first wire most significant."""
    full = np.zeros((2**qubits,) * 2, complex)
    for column in range(2**qubits):
        bits = [(column >> (qubits - 1 - wire)) & 1 for wire in range(qubits)]
        if any(bits[wire] != value for wire, value in zip(controls, values, strict=True)):
            full[column, column] = 1
            continue
        source = 2 * bits[wires[0]] + bits[wires[1]]
        for row in range(4):
            bits[wires[0]], bits[wires[1]] = row >> 1, row & 1
            index = sum(bit << (qubits - 1 - wire) for wire, bit in enumerate(bits))
            full[index, column] = matrix[row, source]
    return full


def random_matrix(seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return generator.normal(size=(2, 2)) + 1j * generator.normal(size=(2, 2))


U = [unitary_group.rvs(2, random_state=seed) for seed in range(4)]
_ANY = unitary_group.rvs(4, random_state=2)
HERMITIAN = _ANY + _ANY.conj().T
PARITY_ORDER = np.eye(4)[[0, 3, 1, 2]].T
FEW_ZEROS = {
    "any": unitary_group.rvs(4, random_state=1),
    "real": np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0],
    "product": np.kron(U[0], U[1]),
    "product with the Hadamard": np.kron(H, H),
    "fourier": np.exp(0.5j * np.pi * np.outer(range(4), range(4))) / 2,
    "near the identity": expm(1e-9j * HERMITIAN),
    "nearly a swap": SWAP @ expm(1e-8j * HERMITIAN),
    "nearly diagonal": np.diag([1, 1j, -1, 1]) @ expm(1e-12j * HERMITIAN),
    "one small sine": block_diag(U[0], U[1])
    @ np.array([[1, 0, -1e-9, 0], [0, 0.6, 0, -0.8], [1e-9, 0, 1, 0], [0, 0.8, 0, 0.6]])
    @ block_diag(U[2], U[3]),
    "two small sines": block_diag(U[0], U[1])
    @ np.array([[1, 0, -1e-9, 0], [0, 1, 0, -1e-11], [1e-9, 0, 1, 0], [0, 1e-11, 0, 1]])
    @ block_diag(U[2], U[3]),
    "two small cosines": block_diag(U[0], U[1])
    @ np.array([[1e-9, 0, -1, 0], [0, 1e-13, 0, -1], [1, 0, 1e-9, 0], [0, 1, 0, 1e-13]])
    @ block_diag(U[2], U[3]),
    "one zero sine": block_diag(U[0], U[1])
    @ np.array([[1, 0, 0, 0], [0, 0, 0, -1], [0, 0, 1, 0], [0, 1, 0, 0]])
    @ block_diag(U[2], U[3]),
    "equal sines": block_diag(U[0], U[1])
    @ np.kron([[0.6, -0.8], [0.8, 0.6]], np.eye(2))
    @ block_diag(U[2], U[3]),
}  # fmt: skip
"""Three operations, or two where selectors make no difference: no dense sweep, which is none."""

ZEROS = {
    "identity": (np.eye(4), 0),
    "swap": (SWAP, 0),
    "controlled": (block_diag(np.eye(2), U[0]), 1),
    "selected": (block_diag(U[0], U[1]), 1),
    "selected by the second": (SWAP @ block_diag(U[0], U[1]) @ SWAP, 1),
    "diagonal": (np.diag([1, 1j, -1, 0.6 + 0.8j]), 1),
    "not unitary": (block_diag(random_matrix(0), random_matrix(1)), 1),
    "projector": (np.diag([0, 1, 0, 0]), 1),
    "zero": (np.zeros((4, 4)), 1),
    "iswap": (np.array([[1, 0, 0, 0], [0, 0, 1j, 0], [0, 1j, 0, 0], [0, 0, 0, 1]]), 1),
    "swap of a selection": (SWAP @ block_diag(random_matrix(0), random_matrix(1)), 1),
    "flip of the first": (np.kron(X, np.eye(2)) @ block_diag(U[0], U[1]), 2),
    "flip of the second": (np.kron(np.eye(2), X) @ SWAP @ block_diag(U[0], U[1]) @ SWAP, 2),
    "flips": (np.kron(X, X), 2),
    "parity": (qml.matrix(qml.SingleExcitation(0.3, [0, 1])), 3),
    "parity, not unitary": (
        PARITY_ORDER @ block_diag(random_matrix(0), random_matrix(1)) @ PARITY_ORDER.T,
        3,
    ),
}  # fmt: skip
"""How many operations they become at most."""


@pytest.mark.parametrize("name", FEW_ZEROS)
def test_unitary(register: Callable, name: str) -> None:
    for qubits, wires in ((2, (0, 1)), (2, (1, 0)), (4, (2, 0)), (6, (1, 3)), (7, (0, 6))):
        assert applied(register, FEW_ZEROS[name], qubits, wires) in (2, 3)
    applied(register, FEW_ZEROS[name], 5, (3, 1), (4, 0), (1, 0))
    applied(register, FEW_ZEROS[name], 3, (2, 0), (1,), (0,))


@pytest.mark.parametrize("name", ZEROS)
def test_zeros(register: Callable, name: str) -> None:
    matrix, most = ZEROS[name]
    for qubits, wires in ((2, (0, 1)), (2, (1, 0)), (4, (2, 0)), (6, (1, 3)), (7, (0, 6))):
        assert applied(register, matrix, qubits, wires) <= most
    applied(register, matrix, 5, (3, 1), (4, 0), (1, 0))
    applied(register, matrix, 3, (2, 0), (1,), (0,))


@pytest.mark.parametrize("size", [1e-3, 1e-9, 1e-13, 1e-300])
def test_a_matrix_that_is_not_quite_unitary_is_applied_as_it_is(
    register: Callable, size: float
) -> None:
    matrix = FEW_ZEROS["any"].copy()
    matrix[2, 1] += size
    applied(register, matrix, 5, (3, 1))
    applied(register, size * FEW_ZEROS["any"], 5, (3, 1))
    applied(register, np.ones((4, 4)) * size, 5, (3, 1))


def test_what_is_no_number_stays_so(register: Callable) -> None:
    for bad in (np.nan, np.inf):
        state = register(3)
        matrix = FEW_ZEROS["any"].copy()
        matrix[0, 0] = bad
        state.unitary(matrix, [0, 1])
        assert np.isnan(state.amplitudes).any() or np.isinf(state.amplitudes).any()


ANGLES = st.one_of(
    st.floats(-4, 4),
    st.sampled_from([0.0, np.pi / 2, np.pi, -np.pi / 2, 1e-8, 1e-16, np.pi / 2 + 1e-9]),
)


@settings(max_examples=150, deadline=None, suppress_health_check=CHANGES_NO_STATE)
@given(angles=st.lists(ANGLES, min_size=16, max_size=16), wires=st.permutations(range(4)))
def test_products_of_rotations(register: Callable, angles, wires) -> None:
    matrix = np.eye(4, dtype=complex)
    for k, pair in enumerate(("XI", "ZI", "YI", "IX", "IZ", "IY", "XX", "YY", "ZZ", "XY", "ZX")):
        matrix = qml.matrix(qml.PauliRot(angles[k], pair, wires=[0, 1])) @ matrix
    applied(register, matrix, 4, wires[:2])
    applied(register, matrix, 4, wires[:2], wires[2:3], (1,))
