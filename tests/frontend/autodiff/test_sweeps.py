"""Gradients by a sweep back of whole circuits: random ones, of any size, in both precisions.

The reference is PennyLane's backprop on `default.qubit`. The number of random circuits is
`DIASTASE_RANDOM_SWEEPS` (3 unless set).
"""

import os

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import unitary_group

from diastase import for_loop, grad, qjit, switch
from diastase_engine import GATES
from sampled import examples

CIRCUITS = int(os.environ.get("DIASTASE_RANDOM_SWEEPS", examples(3)))
PARAMETERS = 3
ANGLES = jnp.array([0.7, -1.9, 0.0])
UNITARIES = {
    size: unitary_group.rvs(2**size, random_state=np.random.default_rng(size)) for size in (1, 2, 3)
}
HERMITIAN = np.array([[1, 2j], [-2j, 0.5]])
NAMES = sorted(set(GATES) - {"Identity"})
KINDS = ("gate", "gate", "gate", "word", "unitary", "diagonal", "phase")


def weighted(results):
    """One real number that depends on all results."""
    total = 0.0
    for number, result in enumerate(jax.tree.leaves(results)):
        flat = jnp.ravel(result)
        weights = jnp.cos(jnp.arange(flat.size) + number) + 0.3j * (flat.size > 1)
        total = total + jnp.real(jnp.sum(weights * flat))
    return total


def operator_of(row, wires, x):
    """An operator on the first of the wires; its angles are sums and products of parameters."""
    kind, name, places, word = row
    angles = [x[place] * (k + 1) - 0.3 * k for k, place in enumerate(places)]
    if kind == "word":
        letters = word[: len(wires)]
        return qml.PauliRot(angles[0], letters, wires=wires[: len(letters)])
    if kind in ("unitary", "diagonal"):
        size = min(len(wires), len(word))
        matrix = UNITARIES[size]
        if kind == "unitary":
            return qml.QubitUnitary(matrix, wires=wires[:size])
        return qml.DiagonalQubitUnitary(np.exp(1j * np.angle(matrix[0])), wires=wires[:size])
    if kind == "phase":
        return qml.GlobalPhase(angles[0])
    if name.startswith("Adjoint("):
        return qml.adjoint(getattr(qml, name[8:-1])(wires=wires[: GATES[name].wires]))
    count = GATES[name].wires or min(len(wires), 3)
    return getattr(qml, name)(*angles[: GATES[name].parameters], wires=wires[:count])


def fits(row, qubits):
    """Whether there are wires enough."""
    return row[0] != "gate" or GATES[row[1]].wires <= qubits


MEASUREMENTS = {
    "word": lambda wires: qml.expval(qml.prod(*(qml.Y(wire) for wire in wires[:3]))),
    "sum": lambda wires: qml.expval(0.3 * qml.X(wires[0]) - 1.2 * qml.Z(wires[-1])),
    "matrix": lambda wires: qml.expval(qml.Hermitian(HERMITIAN, wires[-1])),
    "var": lambda wires: qml.var(qml.X(wires[0])),
    "probs": lambda wires: qml.probs(wires=wires[:2]),
    "state": lambda wires: qml.state(),
    "density": lambda wires: qml.density_matrix(wires[:1]),
}

letters = st.text("XYZI", min_size=1, max_size=3).filter(lambda word: set(word) != {"I"})
rows = st.tuples(
    st.sampled_from(KINDS),
    st.sampled_from(NAMES),
    st.lists(st.integers(0, PARAMETERS - 1), min_size=3, max_size=3),
    letters,
)
steps = st.tuples(rows, st.randoms(use_true_random=False), st.integers(0, 2), st.booleans())


@settings(
    max_examples=CIRCUITS, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(
    st.integers(1, 5),
    st.lists(steps, min_size=6, max_size=14),
    st.lists(st.sampled_from(sorted(MEASUREMENTS)), min_size=1, max_size=3, unique=True),
)
def test_random_circuits(qubits, circuit, measured):
    """All gates, plain, adjoint, with controls of either value, on wires used again and again."""
    plan = []
    for row, order, controls, is_adjoint in circuit:
        wires = order.sample(range(qubits), qubits)
        values = [order.random() < 0.5 for _ in range(min(controls, qubits - 1))]
        if fits(row, qubits - len(values)):
            plan.append((row, wires, values, is_adjoint))

    def body(x):
        for wire in range(qubits):
            qml.RY(0.4 + x[wire % PARAMETERS], wire)
        for row, wires, values, is_adjoint in plan:
            operator = operator_of(row, wires[len(values) :], x)
            if is_adjoint:
                operator = qml.adjoint(operator)
            if values:
                qml.ctrl(operator, wires[: len(values)], control_values=values)
        return [MEASUREMENTS[name](range(qubits)) for name in measured]

    def loss(method):
        node = qml.QNode(body, qml.device("default.qubit", wires=qubits), diff_method=method)
        return jax.grad(lambda x: weighted(node(x)))

    found = qjit(loss("adjoint"))(ANGLES)
    np.testing.assert_allclose(found, loss("backprop")(ANGLES), atol=1e-10)


def along_wires(n, x, device="lightning.qubit", method="adjoint"):
    """A number from rotations and CNOTs: products of every form, selected by every bit."""

    def rotations(wire):
        qml.RY(x[0] + 0.1 * wire, wire)
        qml.RZ(x[1] * wire, wire)

    @qml.qnode(qml.device(device, wires=n), diff_method=method)
    def node(x):
        for_loop(0, n, 1)(rotations)()
        for_loop(0, n - 1, 1)(lambda wire: qml.CNOT([wire, wire + 1]))()
        for_loop(0, n, 1)(rotations)()
        qml.RX(x[2], n - 1)
        for_loop(0, n - 1, 1)(lambda wire: qml.CNOT([wire, wire + 1]))()
        return qml.expval(qml.Z(0)), qml.expval(qml.X(n - 1)), qml.probs(wires=[0])

    return weighted(node(x))


@pytest.mark.thorough
def test_traced_number_of_wires():
    """One program for any number of wires; with 11 of them, a chunk has several pieces."""
    program = qjit(jax.value_and_grad(along_wires, argnums=1))
    for n in (1, 2, 3, 7):
        expected = jax.grad(along_wires, argnums=1)(n, ANGLES, "default.qubit", "backprop")
        np.testing.assert_allclose(program(n, ANGLES)[1], expected, atol=1e-10)
    steps = 1e-5 * np.eye(PARAMETERS)
    moved = [program(11, ANGLES + step)[0] - program(11, ANGLES - step)[0] for step in steps]
    np.testing.assert_allclose(program(11, ANGLES)[1], np.array(moved) / 2e-5, atol=1e-8)


def test_single_precision():
    """Gradients in single precision are near those in double, and of the same type."""

    def gradients(x):
        return [jax.grad(lambda x, n=n: along_wires(n, x))(x) for n in (1, 5, 11)]

    double, single = qjit(gradients)(ANGLES), qjit(gradients, precision="single")(ANGLES)
    for mine, other in zip(single, double, strict=True):
        assert mine.dtype == other.dtype
        np.testing.assert_allclose(mine, other, atol=1e-5)
        assert not np.array_equal(mine, other)


def body_of_branches(x):
    """Each branch has other gates, and other numbers of them; an index picks one in each turn."""
    qml.RY(x[0], 0)
    qml.RY(x[1], 2)

    @for_loop(0, 6, 1)
    def turns(k):
        angle = x[0] * (k + 1)

        @switch(jnp.array([1, 0, 2, 3, 1, 0])[k])
        def choose():
            qml.CNOT([2, 1])

        @choose.branch(0)
        def few():
            qml.RX(angle, 1)
            qml.CRY(x[1], [0, 2])

        @choose.branch(1)
        def many():
            qml.Rot(angle, x[2] + 0.2, x[0], 1)
            qml.ctrl(qml.RZ, (0, 1), control_values=(1, 0))(angle * x[0], wires=2)
            qml.IsingXY(angle, [2, 0])

        @choose.branch(2)
        def none():
            pass

        choose()

    turns()
    return qml.expval(qml.Z(2)), qml.probs(wires=[0, 1])


def test_gates_in_branches():
    def gradient(method):
        node = qml.QNode(body_of_branches, qml.device("default.qubit", wires=3), diff_method=method)
        return jax.grad(lambda x: weighted(node(x)))

    found = qjit(gradient("adjoint"))(ANGLES)
    np.testing.assert_allclose(found, gradient("backprop")(ANGLES), atol=1e-10)


def test_circuits_without_parameters():
    """Nothing to sweep for but the observable's coefficients; arguments that no gate has."""
    device = qml.device("default.qubit", wires=2)

    def node_by(method):
        @qml.qnode(device, diff_method=method)
        def node(x, unused):
            qml.Hadamard(0)
            qml.CNOT([0, 1])
            qml.T(1)
            return qml.expval(qml.Hamiltonian([x[0] ** 2, x[1]], [qml.X(0) @ qml.X(1), qml.Z(0)]))

        return node

    found = qjit(grad(node_by("adjoint"), argnums=(0, 1)))(ANGLES, 0.3)
    expected = jax.grad(node_by("backprop"), argnums=(0, 1))(ANGLES, 0.3)
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-12)
    nothing = qjit(grad(lambda x: qml.QNode(lambda x: qml.expval(qml.Z(0)), device)(x)))
    np.testing.assert_array_equal(nothing(ANGLES), np.zeros(PARAMETERS))


@pytest.mark.thorough
def test_gates_that_cancel():
    """Behind an array, which is undone alone, nothing is left to be undone."""

    def gradient(method):
        @qml.qnode(qml.device("default.qubit", wires=2), diff_method=method)
        def node(x):
            c, s = jnp.cos(x[0]), jnp.sin(x[0])
            qml.QubitUnitary(jnp.array([[c, -s], [s, c]]), 0)
            for _ in range(2):
                qml.CNOT([1, 0])
            return qml.expval(qml.Z(0)), qml.probs(wires=[1])

        return jax.grad(lambda x: weighted(node(x)))

    found = qjit(gradient("adjoint"))(ANGLES)
    np.testing.assert_allclose(found, gradient("backprop")(ANGLES), atol=1e-12)
