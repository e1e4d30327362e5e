"""Every measurement with shots of every observable, against the exact distribution."""

import numpy as np
import pennylane as qml
import pytest

from diastase import qjit
from diastase.capture.quantum_errors import UnsupportedMeasurementError, UnsupportedObservableError
from diastase_runtime.errors import OverlappingWiresError

SHOTS = 20_000
HERMITIAN = np.array([[1.0, 0.5 - 1j], [0.5 + 1j, -0.4]])
RANDOM = np.random.default_rng(7).normal(size=(4, 4))
SPARSE = qml.Hamiltonian([0.5, 1.0], [qml.Z(0) @ qml.X(1), qml.Y(0)]).sparse_matrix([0, 1])
OBSERVABLES = {
    "X": lambda: qml.X(0),
    "Y": lambda: qml.Y(1),
    "Z": lambda: qml.Z(3),
    "I": lambda: qml.I(2),
    "Hadamard": lambda: qml.Hadamard(2),
    "word": lambda: qml.X(0) @ qml.Y(3) @ qml.Z(1),
    "word with identity": lambda: qml.Z(2) @ qml.I(0),
    "scaled word": lambda: 0.7 * (qml.Y(2) @ qml.X(1)),
    "scaled twice": lambda: -2.0 * (0.25 * qml.Z(0)),
    "Hermitian": lambda: qml.Hermitian(HERMITIAN, 1),
    "Hermitian on two": lambda: qml.Hermitian(RANDOM + RANDOM.T, [2, 0]),
    "Projector": lambda: qml.Projector([1, 0], [1, 3]),
    "Projector on a state": lambda: qml.Projector(np.array([0.6, 0.8]), [1]),
    "commuting sum": lambda: qml.Z(0) + 0.5 * qml.Z(1) - 2.0 * (qml.Z(0) @ qml.Z(2)),
    "sum": lambda: qml.X(0) + 0.5 * qml.Z(1) - qml.Y(0) @ qml.X(2),
    "LinearCombination": lambda: qml.Hamiltonian(
        [0.3, -1.2, 0.8], [qml.Z(0), qml.X(0) @ qml.X(1), qml.Hadamard(3)]
    ),
    "product of sums": lambda: (qml.X(0) + qml.Z(0)) @ (qml.Y(1) + 2 * qml.Z(1)),
    "product with a Hermitian": lambda: qml.Hermitian(HERMITIAN, 1) @ qml.Z(0),
    "power": lambda: qml.pow(qml.Hermitian(HERMITIAN, 1), 2),
    "SparseHamiltonian": lambda: qml.SparseHamiltonian(SPARSE, [0, 1]),
}


def spread(observable) -> float:
    """A bound on the standard deviation where words are measured in shots of their own."""
    return sum(abs(np.real(c)) for c in qml.pauli_decompose(qml.matrix(observable)).terms()[0])


WITHOUT_PROBABILITIES = {"LinearCombination", "SparseHamiltonian"}
"""Observables of which PennyLane makes no `probs`."""


@pytest.mark.sample(2)
@pytest.mark.filterwarnings("ignore:Using qml.probs with a Hermitian", "ignore:Using qp.probs")
@pytest.mark.parametrize("name", OBSERVABLES)
def test_statistics(name, prepared, exact):
    make = OBSERVABLES[name]

    @qml.qnode(qml.device("default.qubit", wires=4), shots=SHOTS)
    def circuit():
        prepared()
        return (
            qml.expval(make()),
            qml.var(make()),
            qml.sample(make()),
            qml.counts(make()),
            qml.counts(make(), all_outcomes=True),
            qml.probs(wires=0) if name in WITHOUT_PROBABILITIES else qml.probs(op=make()),
        )

    expected = exact(make())
    mean, variance, samples, counts, all_counts, probs = qjit(circuit, seed=len(name))()
    assert mean.shape == variance.shape == ()
    assert mean.dtype == variance.dtype == samples.dtype == probs.dtype == np.float64
    assert abs(mean - expected.mean) <= 4.9 * spread(make()) / np.sqrt(SHOTS) + 1e-9
    expected.check_variance(variance, SHOTS)
    assert samples.shape == (SHOTS,)
    expected.check_samples(samples)
    assert sum(counts.values()) == sum(all_counts.values()) == SHOTS
    expected.check_counts(counts)
    expected.check_counts(all_counts)
    assert all(counts.values())
    eigenvalues = np.real(np.asarray(make().eigvals()))
    assert len(all_counts) <= len(eigenvalues)
    assert set(np.round(list(all_counts), 6) + 0.0) == set(np.round(eigenvalues, 6) + 0.0)
    if name in WITHOUT_PROBABILITIES:
        return
    expected.check_counts(
        {value: 0 for value in eigenvalues}
        | {
            value: SHOTS * probs[np.isclose(eigenvalues, value, atol=1e-6)].sum()
            for value in np.unique(np.round(eigenvalues, 6))
        }
    )


def test_shapes_and_dtypes_are_pennylanes(prepared):
    @qml.qnode(qml.device("default.qubit", wires=4), shots=7)
    def circuit():
        prepared()
        return [
            *(
                kind(make())
                for kind in (qml.expval, qml.var, qml.sample)
                for name, make in OBSERVABLES.items()
                if name not in ("I", "power", "SparseHamiltonian")  # PennyLane fails
            ),
            qml.sample(),
            qml.sample(wires=2),
            qml.sample(wires=[3, 1]),
            qml.sample(wires=[0], dtype="int8"),
            qml.sample(qml.Z(0), dtype="float32"),
            qml.probs(),
            qml.probs(wires=[2, 0]),
        ]

    for found, wanted in zip(qjit(circuit)(), circuit(), strict=True):
        assert found.shape == np.shape(wanted)
        assert found.dtype == np.asarray(wanted).dtype


def test_wires(prepared, exact_bits, frequencies):
    @qml.qnode(qml.device("lightning.qubit", wires=4), shots=SHOTS)
    def circuit(wire):
        prepared()
        return (
            qml.sample(wires=[2, 0]),
            qml.counts(),
            qml.counts(wires=[3, 1, 0], all_outcomes=True),
            qml.probs(wires=[1, wire]),
            qml.sample(qml.X(wire) @ qml.Z(0)),
        )

    samples, counts, three, probs, traced = qjit(circuit, seed=1)(3)
    frequencies(np.bincount(samples @ np.array([2, 1]), minlength=4), exact_bits(2, 0))
    found = np.array([counts.get(f"{key:04b}", 0) for key in range(16)])
    frequencies(found, exact_bits(0, 1, 2, 3))
    assert list(three) == [f"{key:03b}" for key in range(8)]
    frequencies(np.array(list(three.values())), exact_bits(3, 1, 0))
    frequencies(np.asarray(probs) * SHOTS, exact_bits(1, 3))
    assert set(np.unique(traced)) == {-1.0, 1.0}


def test_commuting_measurements_share_their_shots(prepared):
    """Shot by shot: the product of two results is the result of the product."""

    @qml.qnode(qml.device("default.qubit", wires=4), shots=500)
    def circuit():
        prepared()
        return (
            qml.sample(qml.X(0)),
            qml.sample(qml.Y(1)),
            qml.sample(qml.X(0) @ qml.Y(1)),
            qml.expval(qml.X(0) @ qml.Y(1)),
            qml.sample(qml.Z(2)),
            qml.sample(wires=[2, 3]),
            qml.counts(wires=[3, 2]),
            qml.probs(wires=2),
        )

    x, y, product, mean, z, bits, counts, probs = qjit(circuit, seed=3)()
    np.testing.assert_array_equal(x * y, product)
    np.testing.assert_allclose(mean, np.mean(product))
    np.testing.assert_array_equal(z, 1 - 2 * bits[:, 0])
    swapped = bits[:, ::-1] @ np.array([2, 1])
    assert counts == {f"{k:02b}": n for k, n in enumerate(np.bincount(swapped)) if n}
    np.testing.assert_allclose(probs, np.bincount(bits[:, 0], minlength=2) / 500)


def test_the_state_is_measured_as_it_is(prepared, exact):
    """Rotations into bases of groups do not add up: the last of many groups is as right."""
    words = [qml.prod(*(getattr(qml, p)(w) for w, p in enumerate(word)))
             for word in ("XYZX", "YYXX", "ZXXY", "XXXX", "YZYZ", "ZZXX", "XZZY")]  # fmt: skip

    @qml.qnode(qml.device("default.qubit", wires=4), shots=SHOTS)
    def circuit():
        prepared()
        return [qml.expval(word) for word in words]

    for word, found in zip(words, qjit(circuit, seed=9)(), strict=True):
        exact(word).check_mean(found, SHOTS)


def test_traced_coefficients_and_matrices(prepared, exact):
    @qml.qnode(qml.device("default.qubit", wires=4), shots=SHOTS)
    def circuit(coefficients, matrix):
        prepared()
        hamiltonian = qml.Hamiltonian(coefficients, [qml.Z(0), qml.Z(1) @ qml.Z(2), qml.X(3)])
        scaled = coefficients[0] * qml.X(0)
        hermitian = qml.Hermitian(matrix, [1, 3])
        return (
            qml.expval(hamiltonian), qml.expval(scaled), qml.sample(scaled),
            qml.expval(hermitian), qml.sample(hermitian), qml.counts(hermitian),
        )  # fmt: skip

    coefficients, matrix = np.array([0.4, -1.5, 0.2]), (RANDOM + RANDOM.T).astype(complex)
    results = qjit(circuit, seed=21)(coefficients, matrix)
    hamiltonian = qml.Hamiltonian(coefficients, [qml.Z(0), qml.Z(1) @ qml.Z(2), qml.X(3)])
    expected = exact(hamiltonian)
    assert abs(results[0] - expected.mean) < 4.9 * 2.1 / np.sqrt(SHOTS)
    exact(0.4 * qml.X(0)).check_mean(results[1], SHOTS)
    exact(0.4 * qml.X(0)).check_samples(results[2])
    expected = exact(qml.Hermitian(matrix, [1, 3]))
    expected.check_mean(results[3], SHOTS)
    expected.check_samples(results[4])
    expected.check_counts(results[5])


def test_large_hamiltonian():
    """Many words in few groups: one loop over the words of each group."""
    wires = 10
    hamiltonian = qml.sum(
        *(0.1 * (k + 1) * (qml.Z(k) @ qml.Z(j)) for k in range(wires) for j in range(k)),
        *(0.3 * qml.X(k) for k in range(wires)),
        *(0.2 * (qml.Y(k) @ qml.Y(k + 1)) for k in range(wires - 1)),
    )

    def body():
        for wire in range(wires):
            qml.RY(0.2 + 0.1 * wire, wire)
        return qml.expval(hamiltonian)

    device = qml.device("default.qubit", wires=wires)
    found = qjit(qml.QNode(body, device, shots=50_000), seed=4)()
    wanted = qml.QNode(body, device)()
    total = sum(abs(c) for c in hamiltonian.terms()[0])
    assert abs(found - wanted) < 4.9 * total / np.sqrt(50_000)


@pytest.mark.parametrize(
    "make",
    [
        lambda w: qml.probs(wires=[w, 1]),
        lambda w: qml.sample(qml.X(w) @ qml.Z(1)),
        lambda w: qml.expval(qml.Z(w) @ qml.Z(1)),
        lambda w: qml.classical_shadow([1, w]),
    ],
)
def test_traced_wires_that_are_one(make):
    @qml.qnode(qml.device("default.qubit", wires=2), shots=5)
    def circuit(wire):
        return make(wire)

    program = qjit(circuit)
    program(0)
    with pytest.raises(OverlappingWiresError, match="wire 1 more than once"):
        program(1)


def test_not_hermitian():
    @qml.qnode(qml.device("default.qubit", wires=1), shots=5)
    def circuit():
        return qml.expval(1j * qml.X(0))

    with pytest.raises(UnsupportedObservableError, match="not Hermitian"):
        qjit(circuit)()


def test_processes_with_eigenvalues():
    """As PennyLane's transforms make them: eigenvalues of the outcomes on wires."""

    @qml.qnode(qml.device("default.qubit", wires=2), shots=SHOTS)
    def circuit():
        qml.RY(1.0, 0)
        given = {"eigvals": np.array([2.0, -1.0]), "wires": qml.wires.Wires([0])}
        return (
            qml.measurements.SampleMP(**given), qml.measurements.CountsMP(**given),
            qml.measurements.ExpectationMP(**given), qml.measurements.VarianceMP(**given),
        )  # fmt: skip

    samples, counts, mean, variance = qjit(circuit, seed=1)()
    assert counts == {value: int(np.sum(samples == value)) for value in (-1.0, 2.0)}
    np.testing.assert_allclose(mean, np.mean(samples))
    np.testing.assert_allclose(variance, np.var(samples))
    assert abs(mean - (2 - 3 * np.sin(0.5) ** 2)) < 4.9 * 1.5 / np.sqrt(SHOTS)


OF_THE_STATE = [
    qml.state,
    lambda: qml.density_matrix(0),
    lambda: qml.purity(0),
    lambda: qml.vn_entropy(0),
    lambda: qml.mutual_info(0, 1),
]


@pytest.mark.parametrize("kind", OF_THE_STATE)
def test_properties_of_the_state_have_no_shots(kind):
    @qml.qnode(qml.device("default.qubit", wires=2), shots=5)
    def circuit():
        qml.Hadamard(0)
        return kind()

    with pytest.raises(UnsupportedMeasurementError, match="property of the exact state"):
        qjit(circuit)()
