"""Expectation values and variances of every kind of observable, and the other measurements."""

import warnings

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import qjit
from diastase.capture.quantum_errors import (
    UnsupportedMeasurementError,
    UnsupportedObservableError,
    UnsupportedReturnError,
)

WIRES = 4
MATRIX = np.array([[1.0, 0.5 - 0.2j], [0.5 + 0.2j, -0.7]])
LARGE = np.kron(MATRIX, np.array([[0.3, 1j], [-1j, 0.1]]))


def prepare(x):
    for wire in range(WIRES):
        qml.RY(0.3 + x * wire, wire)
        qml.RZ(0.7 - x * wire, wire)
    for wire in range(WIRES - 1):
        qml.CNOT([wire, wire + 1])
    qml.RX(x, 2)


def measured(*processes):
    @qml.qnode(qml.device("default.qubit", wires=WIRES))
    def circuit(x, wire):
        prepare(x)
        return tuple(process(x, wire) for process in processes)

    return circuit


OBSERVABLES = {
    "pauli": lambda x, w: qml.Y(w),
    "identity": lambda x, w: qml.Identity(1),
    "hadamard": lambda x, w: qml.Hadamard(w),
    "word": lambda x, w: qml.X(0) @ qml.Y(w) @ qml.Z(3),
    "same wire": lambda x, w: qml.prod(qml.X(0), qml.X(0), qml.Z(1)),
    "hermitian": lambda x, w: qml.Hermitian(MATRIX, wires=w),
    "hermitian on two": lambda x, w: qml.Hermitian(LARGE, wires=[2, w]),
    "traced hermitian": lambda x, w: qml.Hermitian(jnp.cos(x) * jnp.asarray(MATRIX), wires=0),
    "real traced hermitian": lambda x, w: qml.Hermitian(x * jnp.eye(2), wires=0),
    "projector": lambda x, w: qml.Projector([1, 0], wires=[w, 3]),
    "hermitian in product": lambda x, w: qml.Hermitian(MATRIX, wires=0) @ qml.Z(w),
    "traced hermitian in sum": lambda x, w: qml.sum(
        qml.Hermitian(x * jnp.asarray(MATRIX), wires=0), qml.s_prod(2.0, qml.Hadamard(2))
    ),
    "hamiltonian": lambda x, w: qml.Hamiltonian(
        [0.5, -1.5, 0.25], [qml.Z(0), qml.X(0) @ qml.Z(w), qml.Y(2)]
    ),
    "traced coefficients": lambda x, w: qml.Hamiltonian(
        jnp.stack([x, 2 * x]), [qml.Z(0) @ qml.Z(1), qml.X(w)]
    ),
    "listed traced coefficients": lambda x, w: qml.Hamiltonian([x, 1.5], [qml.Z(0), qml.X(w)]),
    "traced factor": lambda x, w: qml.s_prod(x, qml.X(0) @ qml.Y(2)),
    "nested": lambda x, w: qml.sum(
        qml.s_prod(x, qml.prod(qml.sum(qml.X(0), qml.Z(1)), qml.Hadamard(2))),
        qml.Hamiltonian([1.0, 2.0], [qml.sum(qml.Y(3), qml.Z(3)), qml.Identity(0)]),
        qml.prod(qml.X(1), qml.s_prod(-0.5, qml.X(2)), qml.Z(0)),
    ),
    "powers": lambda x, w: qml.Z(0) @ qml.Z(0),
    "written with plus": lambda x, w: (
        x * qml.Z(0) + w * qml.X(1) + 0.5 * qml.Z(0) + (x - 1) * qml.Z(0) @ qml.X(2) - w * qml.X(1)
    ),
    "equal words": lambda x, w: qml.sum(qml.Z(0), qml.Z(0), qml.s_prod(x, qml.Z(0))),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", OBSERVABLES)
def test_expectation_and_variance(name, same_as_pennylane):
    observable = OBSERVABLES[name]
    circuit = measured(
        lambda x, w: qml.expval(observable(x, w)), lambda x, w: qml.var(observable(x, w))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PennyLane on products that it thinks are not Hermitian
        same_as_pennylane(circuit, 0.43, 1)


def test_probabilities(same_as_pennylane):
    same_as_pennylane(
        measured(
            lambda x, w: qml.probs(wires=[2, 0]),
            lambda x, w: qml.probs(wires=w),
            lambda x, w: qml.probs(),
            lambda x, w: qml.probs(op=qml.X(0) @ qml.Y(2)),
            lambda x, w: qml.expval(qml.X(0)),
            lambda x, w: qml.state(),
        ),
        0.3,
        3,
    )


def test_pytrees_of_measurements_and_classical_values(same_as_pennylane):
    @qml.qnode(qml.device("default.qubit", wires=WIRES))
    def circuit(x):
        prepare(x)
        return {"energy": qml.expval(qml.Z(0)), "list": [qml.probs(wires=0), qml.var(qml.X(1))]}

    found, expected = qjit(circuit)(0.2), circuit(0.2)
    np.testing.assert_allclose(found["energy"], expected["energy"], atol=1e-12)
    np.testing.assert_allclose(found["list"][0], expected["list"][0], atol=1e-12)
    np.testing.assert_allclose(found["list"][1], expected["list"][1], atol=1e-12)


def test_classical_values_are_returned():
    @qjit
    @qml.qnode(qml.device("default.qubit", wires=1))
    def circuit(x):
        qml.RX(x, 0)
        return qml.expval(qml.Z(0)), x * 2, 3

    value, double, three = circuit(0.4)
    np.testing.assert_allclose([value, double, three], [np.cos(0.4), 0.8, 3])


def test_observable_of_the_user_with_a_name_of_pennylanes():
    namesake = type("PauliZ", (qml.operation.Operator,), {"num_wires": 1, "num_params": 0})

    @qml.qnode(qml.device("default.qubit", wires=1))
    def circuit():
        return qml.expval(namesake(wires=0))

    with pytest.raises(UnsupportedObservableError, match="PauliZ"):
        qjit(circuit)()


def test_coefficients_of_a_sum_are_those_of_its_terms():
    @qjit
    def program(x):
        operator = x * qml.Z(0)
        for factor in range(2, 5):
            operator = operator + (factor * x) * qml.X(factor)
        for term in operator.operands:
            ((word, coefficient),) = term.pauli_rep.items()
            assert operator.pauli_rep[word] is coefficient  # not 0.0 plus it, an equation each
        return x

    program(0.3)


def test_a_hamiltonian_is_one_call():
    """However many terms: one operation in the IR, with constant tables."""
    generator = np.random.default_rng(3)
    words = [
        qml.prod(*(getattr(qml, pauli)(wire) for wire, pauli in enumerate(letters)))
        for letters in generator.choice(["X", "Y", "Z"], size=(60, WIRES))
    ]
    coefficients = generator.normal(size=60)

    @qml.qnode(qml.device("default.qubit", wires=WIRES))
    def circuit(x):
        prepare(x)
        return qml.expval(qml.Hamiltonian(coefficients, words))

    compiled = qjit(circuit)
    np.testing.assert_allclose(compiled(0.3), circuit(0.3), atol=1e-10)
    assert compiled.mlir.count("quantum.expval_pauli") == 1


@pytest.mark.parametrize(
    ("process", "error", "message"),
    [
        (lambda: qml.expval(qml.prod(qml.X(0), qml.Y(0))), UnsupportedObservableError, "complex"),
        (lambda: qml.expval(qml.exp(qml.X(0), 0.5j)), UnsupportedObservableError, "complex"),
        (lambda: qml.expval(qml.S(0)), UnsupportedObservableError, "is not Hermitian"),
        (lambda: qml.sample(), UnsupportedMeasurementError, "not compiled yet"),
        (lambda: qml.counts(), UnsupportedMeasurementError, "not compiled yet"),
        (lambda: qml.Z(0), UnsupportedReturnError, "Z"),
        (lambda: "text", UnsupportedReturnError, "text"),
    ],
)
def test_refused(process, error, message):
    @qml.qnode(qml.device("default.qubit", wires=2))
    def circuit():
        qml.Hadamard(0)
        return process()

    with pytest.raises(error, match=message):
        qjit(circuit)()
