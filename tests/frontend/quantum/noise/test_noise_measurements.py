"""What is measured of density matrices, by default.mixed."""

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
import scipy.sparse

import diastase
from diastase import measure, qjit

mixed = qml.device("default.mixed", wires=4)
MATRIX = np.array([[0.3, 0.2 - 0.1j], [0.2 + 0.1j, -1.0]])
LARGE = np.kron(MATRIX, MATRIX) + np.diag([1, 2, 3, 4])
SPARSE = scipy.sparse.csr_matrix(np.diag([1.0, 2, 3, 4]) + np.diag([0.5j, 0, 1], 1)
                                 + np.diag([-0.5j, 0, 1], -1))  # fmt: skip


def prepare(x):
    qml.RX(x, 0)
    qml.CNOT([0, 1])
    qml.RY(x, 2)
    qml.CRZ(0.7, [2, 3])
    qml.CNOT([1, 2])
    for wire in range(4):
        qml.DepolarizingChannel(0.05 * (wire + 1), wire)
        qml.AmplitudeDamping(0.1, wire)


PROCESSES = {
    "words": lambda x: qml.expval(0.3 * qml.X(0) @ qml.Y(1) - x * qml.Z(3) + 2.0 * qml.I(0)),
    "hamiltonian": lambda x: qml.expval(
        qml.Hamiltonian(x * jnp.ones(2), [qml.X(1), qml.Z(0) @ qml.Z(2)])
    ),
    "variance of words": lambda x: qml.var(qml.X(0) @ qml.Y(1) + x * qml.Z(0) + qml.Z(3)),
    "matrix": lambda x: qml.expval(qml.Hermitian(LARGE, [2, 0])),
    "traced matrix": lambda x: qml.expval(qml.Hermitian(x * MATRIX, 1)),
    "variance of a matrix": lambda x: qml.var(qml.Hermitian(LARGE, [2, 0])),
    "projector": lambda x: qml.expval(qml.Projector([0, 1, 0], [2, 1, 3])),
    "onto a vector": lambda x: qml.expval(qml.Projector(np.array([0.6, 0, 0, 0.8j]), [0, 3])),
    "variance of a projector": lambda x: qml.var(qml.Projector([0, 1], [2, 1])),
    "hadamards": lambda x: qml.expval(qml.H(0) @ qml.H(1) @ qml.X(2)),
    "product of sums": lambda x: qml.expval(
        (qml.X(0) + qml.Z(1)) @ (qml.Hermitian(MATRIX, 2) + qml.Y(3))
    ),
    "sum with a matrix": lambda x: qml.var(qml.X(0) + qml.Hermitian(LARGE, [1, 2])),
    "probs": lambda x: qml.probs(),
    "probs of some": lambda x: qml.probs(wires=[2, 0]),
    "probs of an observable": lambda x: qml.probs(op=qml.X(0) @ qml.H(2)),
    "state": lambda x: qml.state(),
    "part": lambda x: qml.density_matrix([3, 1]),
    "purity": lambda x: qml.purity([0, 1, 2]),
    "purity of all": lambda x: qml.purity(range(4)),
    "entropy": lambda x: qml.vn_entropy([0, 2, 3], log_base=2),
    "information": lambda x: qml.mutual_info([0, 1], [2]),
}  # fmt: skip


@pytest.mark.parametrize("name", PROCESSES)
def test_measurement(same_uncompiled, name):
    @qml.qnode(mixed)
    def circuit(x):
        prepare(x)
        return PROCESSES[name](x)

    same_uncompiled(circuit, 0.8)


def test_sparse_hamiltonian():
    @qml.qnode(mixed)
    def circuit(x):
        prepare(x)
        return qml.expval(qml.SparseHamiltonian(SPARSE, wires=[1, 3])), qml.density_matrix([1, 3])

    found, rho = qjit(circuit)(0.8)
    assert found == pytest.approx(np.trace(SPARSE.toarray() @ rho).real, abs=1e-12)


def test_large_sparse_hamiltonian():
    """On more wires than a matrix is made for: entry by entry."""
    wires = 11
    rng = np.random.default_rng(3)
    matrix = scipy.sparse.random(2**wires, 2**wires, 1e-3, random_state=rng, format="csr")
    matrix = matrix + matrix.T

    @qml.qnode(qml.device("default.mixed", wires=wires))
    def circuit(x):
        for wire in range(wires):
            qml.RY(x * wire, wire)
        qml.BitFlip(0.2, 3)
        return qml.expval(qml.SparseHamiltonian(matrix, wires=range(wires))), qml.state()

    found, rho = qjit(circuit)(0.3)
    assert found == pytest.approx(matrix.multiply(rho.T).sum().real, abs=1e-10)


def test_snapshots():
    @qml.qnode(mixed)
    def circuit(x):
        qml.RX(x, 0)
        qml.BitFlip(0.1, 0)
        qml.Snapshot()
        qml.Snapshot(measurement=qml.probs(wires=[0]))
        qml.CNOT([0, 1])
        return qml.expval(qml.Z(1))

    (state, probabilities), result = qjit(circuit)(0.4)
    seen = qml.snapshots(circuit)(0.4)
    np.testing.assert_allclose(state, seen[0], atol=1e-12)
    np.testing.assert_allclose(probabilities, seen[1], atol=1e-12)
    assert result == pytest.approx(seen["execution_results"])


def test_start_and_middle(same_uncompiled):
    rho = np.array([[0.4, 0.1j], [-0.1j, 0.6]])

    @qml.qnode(mixed)
    def circuit(x):
        qml.StatePrep(np.array([0.6, 0, 0, 0.8]), wires=[2, 0])
        qml.QubitDensityMatrix(np.kron(rho, np.diag([0.9, 0.1])), wires=[3, 1])
        qml.CNOT([0, 1])
        qml.CRX(x, [3, 2])
        qml.QubitDensityMatrix(rho, wires=1)
        qml.CNOT([1, 0])
        return qml.state()

    same_uncompiled(circuit, 0.7)
    traced = qjit(lambda x, matrix: _replaced(x, matrix))(0.7, rho)
    np.testing.assert_allclose(traced, _replaced(0.7, rho), atol=1e-12)


@qml.qnode(mixed)
def _replaced(x, matrix):
    qml.RX(x, 0)
    qml.CNOT([0, 1])
    qml.QubitDensityMatrix(matrix, wires=0)
    return qml.density_matrix([0, 1])


@pytest.mark.parametrize("prob", [0.0, 0.15, 1])
def test_readout_errors(prob):
    """As channels before a measurement in the computational basis, after a rotation into it."""
    device = qml.device("default.mixed", wires=2, readout_prob=prob)
    exact = qml.device("default.mixed", wires=2)

    def prepare(x):
        qml.RX(x, 0)
        qml.CNOT([0, 1])
        qml.PhaseDamping(0.2, 1)

    @qml.qnode(device)
    def measured(x):
        prepare(x)
        return (
            qml.expval(qml.X(0) @ qml.Y(1)),
            qml.expval(0.5 * qml.Z(0) + qml.H(1)),
            qml.var(qml.X(0)),
            qml.var(qml.Z(0) + qml.Y(1)),
            qml.probs(wires=[1]),
            qml.probs(),
            qml.expval(qml.Hermitian(MATRIX, 1)),
            qml.expval(qml.Projector([1, 0], [0, 1])),
        )

    @qml.qnode(exact)
    def flipped(x, gates, process):
        prepare(x)
        for gate in gates:
            qml.apply(gate)
        qml.BitFlip(prob, 0)
        qml.BitFlip(prob, 1)
        return qml.apply(process)

    def of(observable, process=None, wires=None):
        gates = observable.diagonalizing_gates()
        p = flipped(0.7, gates, qml.probs(wires=wires or observable.wires))
        values = np.real(observable.eigvals())
        return p @ values, p @ values**2 - (p @ values) ** 2

    found = qjit(measured)(0.7)
    wanted = (
        of(qml.X(0) @ qml.Y(1))[0],
        0.5 * of(qml.Z(0))[0] + of(qml.H(1))[0],
        of(qml.X(0))[1],
        of(qml.Z(0) + qml.Y(1))[1],
        flipped(0.7, [], qml.probs(wires=[1])),
        flipped(0.7, [], qml.probs()),
        of(qml.Hermitian(MATRIX, 1))[0],
        flipped(0.7, [], qml.probs())[2],
    )
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)


def test_sampled_readout_errors():
    @qml.set_shots(40_000)
    @qml.qnode(qml.device("default.mixed", wires=3, readout_prob=0.2))
    def circuit():
        qml.X(0)
        qml.H(1)
        return qml.expval(qml.Z(0)), qml.expval(qml.X(1)), qml.sample(wires=[0, 2]), qml.counts()

    z, x, samples, counts = qjit(circuit, seed=4)()
    bound = 5 / np.sqrt(40_000)
    assert abs(z + 0.6) < bound
    assert abs(x - 0.6) < bound
    assert abs(np.mean(samples[:, 0]) - 0.8) < bound
    assert abs(np.mean(samples[:, 1]) - 0.2) < bound
    assert abs(np.mean(samples[:, 0] * samples[:, 1]) - 0.16) < bound
    assert sum(counts.values()) == 40_000


READ_WRONGLY = 0.1


def fed_forward(x, measured):
    """An outcome that decides about a gate, and another one."""
    qml.RX(x, 0)
    qml.BitFlip(0.2, 0)
    first = measure(0) if measured is measure else qml.measure(0)
    qml.cond(first, qml.RY)(2.0, 1)
    second = measure(1) if measured is measure else qml.measure(1)
    return first, second


OF_OUTCOMES = [
    lambda m, n: qml.expval(m),
    lambda m, n: qml.var(n),
    lambda m, n: qml.probs(op=m),
    lambda m, n: qml.probs(op=[n, m]),
    lambda m, n: qml.expval(qml.Z(1)),
]


def pennylanes_outcomes(of):
    """PennyLane 0.45 wants a list of channels where `readout_prob` puts a number."""
    device = qml.device("default.mixed", wires=4)
    device.readout_err = [lambda wires: qml.BitFlip(READ_WRONGLY, wires=wires)]
    return qml.QNode(lambda x: of(*fed_forward(x, qml.measure)), device, mcm_method="deferred")(0.7)


@pytest.mark.parametrize("of", OF_OUTCOMES)
@pytest.mark.parametrize("method", [None, "trajectories"])
def test_outcomes_are_read_wrongly_and_feedback_is_not(of, method):
    wanted = pennylanes_outcomes(of)
    device = qml.device("default.mixed", wires=2, readout_prob=READ_WRONGLY)
    qnode = qml.QNode(lambda x: of(*fed_forward(x, measure)), device)
    found = qjit(qnode, method=method, trajectories=20_000, seed=5)(0.7)
    tolerance = 1e-10 if method is None else 5 / np.sqrt(20_000)
    np.testing.assert_allclose(found, wanted, atol=tolerance)
    shots = 20_000
    sampled = qjit(qml.set_shots(qnode, shots), method=method, seed=6)(0.7)
    np.testing.assert_allclose(sampled, wanted, atol=5 / np.sqrt(shots))


def test_an_outcome_is_read_once_in_each_shot():
    @qml.set_shots(4000)
    @qml.qnode(qml.device("default.mixed", wires=2, readout_prob=0.3))
    def circuit():
        qml.Hadamard(0)
        outcome = measure(0)
        return qml.sample(outcome), qml.sample([outcome, outcome]), qml.counts(outcome), outcome

    alone, twice, counts, found = qjit(circuit, seed=2)()
    np.testing.assert_array_equal(np.stack([alone, alone], axis=1), twice)
    assert int(counts[1]) == np.sum(alone)
    wrong = np.mean(np.asarray(alone) != np.asarray(found))
    assert abs(wrong - 0.3) < 5 * np.sqrt(0.21 / 4000)


def test_derivatives_of_outcomes_that_are_read_wrongly():
    device = qml.device("default.mixed", wires=2, readout_prob=READ_WRONGLY)
    of = OF_OUTCOMES[0]
    qnode = qml.QNode(lambda x: of(*fed_forward(x, measure)), device)
    slope = qjit(diastase.grad(qnode))(0.7)
    assert slope == pytest.approx(0.8 * 0.6 * np.sin(0.7) / 2)


def test_readout_errors_on_a_traced_number_of_wires():
    @qjit
    def program(n):
        @qml.qnode(qml.device("default.mixed", wires=n, readout_prob=0.1))
        def circuit():
            qml.X(0)
            return qml.probs()

        return circuit()

    for n in (1, 3):
        wanted = np.array([1.0])
        for p in (0.1, *[0.9] * (n - 1)):
            wanted = np.kron(wanted, [p, 1 - p])
        np.testing.assert_allclose(program(n), wanted, atol=1e-12)


def test_shots_and_shadows():
    @qml.set_shots(20_000)
    @qml.qnode(mixed)
    def circuit(x):
        prepare(x)
        return (
            qml.expval(qml.X(0) @ qml.X(1)),
            qml.probs(wires=[0, 2]),
            qml.shadow_expval(qml.Z(0)),
            qml.classical_shadow(wires=[0, 1]),
            qml.var(qml.Z(3)),
        )

    @qml.qnode(mixed)
    def exact(x):
        prepare(x)
        return (
            qml.expval(qml.X(0) @ qml.X(1)),
            qml.probs(wires=[0, 2]),
            qml.expval(qml.Z(0)),
            qml.var(qml.Z(3)),
        )

    found, wanted = qjit(circuit, seed=11)(0.8), qjit(exact)(0.8)
    bound = 5 / np.sqrt(20_000)
    assert abs(found[0] - wanted[0]) < bound
    assert np.abs(found[1] - wanted[1]).max() < bound
    assert abs(found[2] - wanted[2]) < 3 * bound
    assert found[3].shape == (2, 20_000, 2)
    assert abs(found[4] - wanted[3]) < 2 * bound


def test_single_precision():
    @qml.qnode(mixed)
    def circuit(x):
        prepare(x)
        return qml.state(), qml.probs(wires=[0, 1]), qml.expval(qml.Z(0)), qml.density_matrix([2])

    for found, wanted in zip(qjit(circuit, precision="single")(0.8), circuit(0.8), strict=True):
        np.testing.assert_allclose(found, wanted, atol=2e-6)
    state, probabilities, *_ = qjit(circuit, precision="single")(0.8)
    assert state.dtype == np.complex64
    assert probabilities.dtype == np.float32
