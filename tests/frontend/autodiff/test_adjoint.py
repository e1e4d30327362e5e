"""Gradients by a sweep back: every gate, array and measurement, beside PennyLane's backprop."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from scipy.stats import unitary_group

from diastase import for_loop, qjit, while_loop
from diastase_engine import GATES

DEVICE = qml.device("default.qubit", wires=4)
X = jnp.array([0.3, 0.7, -1.1, 0.2])
HERMITIAN = np.array([[1, 2j], [-2j, 0.5]])
UNITARY = unitary_group.rvs(4, random_state=np.random.default_rng(3))


def gradients(body, *arguments, argnums=0):
    """Ours, by all results at once, and PennyLane's."""

    def loss(node):
        def weighted(*args):
            results = jax.tree.leaves(node(*args))
            total = 0.0
            for number, result in enumerate(results):
                flat = jnp.ravel(result)
                weights = jnp.cos(jnp.arange(flat.size) + number) + 0.3j * (flat.size > 1)
                total = total + jnp.real(jnp.sum(weights * flat))
            return total

        return jax.grad(weighted, argnums)

    ours = qjit(loss(qml.QNode(body, DEVICE)))(*arguments)
    theirs = jax.jit(loss(qml.QNode(body, DEVICE, diff_method="backprop")))(*arguments)
    return ours, theirs


def check(body, *arguments, argnums=0):
    ours, theirs = gradients(body, *arguments, argnums=argnums)
    for mine, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-10)


@pytest.mark.thorough
def test_all_gates_in_one_circuit():
    """Plain, under controls, and with parameters of 0, where a gate is the identity."""
    rows = [gate for gate in GATES.values() if gate.parameters]

    def body(x):
        qml.Hadamard(0)
        qml.RY(0.4, 3)
        for number, gate in enumerate(rows):
            wires = [(number + k) % 4 for k in range(gate.wires or 3)]
            angles = [x[(number + k) % 4] * (k + 1) for k in range(gate.parameters)]
            getattr(qml, gate.name)(*angles, wires=wires)
            if number % 3 == 0 and len(wires) < 3:
                others = [wire for wire in range(4) if wire not in wires]
                qml.ctrl(
                    getattr(qml, gate.name)(*angles, wires=wires), others[:2], control_values=[1, 0]
                )
            if number % 5 == 0:
                qml.CNOT([number % 4, (number + 1) % 4])
                zeros = [x[0] * 0 for _ in angles]
                getattr(qml, gate.name)(*zeros, wires=wires)
        return qml.expval(qml.Z(0) @ qml.X(1)), qml.expval(qml.Y(2)), qml.probs([3, 0])

    check(body, X)


MEASUREMENTS = {
    "sum": lambda x: qml.expval(
        qml.Hamiltonian([x[0], x[1] ** 2], [qml.Z(0) @ qml.X(2), qml.Y(1)])
    ),
    "matrix": lambda x: qml.expval(qml.Hermitian(x[2] * HERMITIAN, 1)),
    "projector": lambda x: qml.expval(qml.Projector([1, 0], [0, 2])),
    "var": lambda x: qml.var(qml.Z(0) @ qml.X(1) + 0.5 * qml.Y(2)),
    "var of a matrix": lambda x: qml.var(qml.Hermitian(HERMITIAN, 1)),
    "probs": lambda x: qml.probs([2, 0]),
    "all probs": lambda x: qml.probs(wires=range(4)),
    "state": lambda x: qml.state(),
    "density matrix": lambda x: qml.density_matrix([1, 3]),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", MEASUREMENTS)
def test_measurements(name):
    def body(x):
        qml.RX(x[0], 0)
        qml.Rot(x[1], x[2], x[0] * x[3], 1)
        qml.SWAP([0, 2])
        qml.CNOT([2, 1])
        qml.QubitUnitary(UNITARY, [3, 0])
        qml.RY(x[3], 3)
        qml.ISWAP([3, 2])
        qml.RZ(x[1], 2)
        return MEASUREMENTS[name](x)

    check(body, X)


def test_arrays():
    """Matrices, diagonals and amplitudes that depend on arguments, beside such that do not."""

    def body(x, amplitudes):
        qml.StatePrep(amplitudes / jnp.linalg.norm(amplitudes), [0, 2])
        generator = x[0] * HERMITIAN
        values, vectors = jnp.linalg.eigh(generator)
        matrix = (vectors * jnp.exp(1j * values)) @ vectors.conj().T
        qml.QubitUnitary(matrix, 1)
        qml.QubitUnitary(UNITARY, [1, 3])
        qml.ctrl(qml.QubitUnitary(matrix @ matrix, 3), 0)
        qml.DiagonalQubitUnitary(jnp.exp(1j * jnp.stack([x[0], x[1], x[2], x[0] * x[1]])), [1, 2])
        qml.DiagonalQubitUnitary(np.exp(1j * np.arange(4)), [0, 3])
        qml.QubitUnitary(jnp.kron(matrix, matrix), [2, 0])
        qml.CNOT([0, 1])
        qml.GlobalPhase(x[1])
        return qml.expval(qml.X(0) @ qml.Y(1)), qml.probs([2, 3])

    check(body, X, jnp.array([0.2, -0.4, 0.7, 0.1]), argnums=(0, 1))


def test_loops_of_parameters():
    def body(x):
        for layer in range(3):
            for wire in range(4):
                qml.RX(x[layer, wire, 0], wire)
                qml.RZ(x[layer, wire, 1] * x[0, wire, 0], wire)
            for wire in range(3):
                qml.CNOT([wire, wire + 1])
        for wire in range(4):
            qml.RY(x[0, 0, 1], wire)
        return qml.expval(qml.Z(3))

    check(body, jnp.linspace(-1, 2, 24).reshape(3, 4, 2))


def circuit_of_loops(loop, until):
    def body(x):
        qml.RY(x[2], 1)

        @loop
        def layers(i, angle):
            qml.RX(angle * x[0], i % 3)
            qml.CRY(x[1], [i % 3, 3])
            return angle * x[3] + 1.0

        @until
        def more(angle):
            qml.RZ(angle, 0)
            qml.RX(angle * x[1], 0)
            return angle * 0.5

        more(layers(x[2]))
        qml.Hadamard(0)
        return qml.expval(qml.Z(0)), qml.expval(qml.Y(1) @ qml.Z(3))

    return body


def repeated(count, takes_index):
    """A loop of Python's, as a decorator."""

    def decorate(function):
        def run(value):
            for i in range(count):
                value = function(i, value) if takes_index else function(value)
            return value

        return run

    return decorate


def test_control_flow():
    """Loops whose bodies have other parameters each time, and that end where values say so."""
    angle = repeated(5, True)(lambda i, angle: angle * float(X[3]) + 1.0)(float(X[2]))
    turns = int(np.ceil(np.log2(angle / 0.2)))
    assert turns > 1
    ours = circuit_of_loops(for_loop(0, 5, 1), while_loop(lambda angle: angle > 0.2))
    plain = circuit_of_loops(repeated(5, True), repeated(turns, False))

    def total(node):
        return jax.grad(lambda x: sum(node(x)))

    found = qjit(total(qml.QNode(ours, DEVICE)))(X)
    reference = qml.QNode(plain, DEVICE, diff_method="backprop")
    np.testing.assert_allclose(found, jax.jit(total(reference))(X), atol=1e-10)


def test_one_sweep_for_all_results(monkeypatch):
    """Structure: a gradient of many results has one sweep, and no loop over arguments."""

    def body(x):
        for wire in range(3):
            qml.RX(x[wire], wire)
        return qml.probs([0, 1]), qml.expval(qml.Z(0)), qml.expval(qml.X(2))

    node = qml.QNode(body, DEVICE)
    program = qjit(lambda x: jax.vjp(node, x)[1]((jnp.ones(4), 1.0, 2.0)))
    text = str(program.trace(X).jaxpr)
    assert text.count("= sweep[") == 1
    assert text.count("= record ") == 1
    assert "parallel_map" not in text
    assert "scan" not in text
