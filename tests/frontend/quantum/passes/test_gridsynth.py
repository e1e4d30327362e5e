"""Clifford gates and T for rotations: near enough, in all places, for all angles."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diastase import DiastaseError, adjoint, cond, ctrl, for_loop, passes, qjit
from diastase.quantum.passes.clifford_t import alphabet_of, word_for

DEVICE = qml.device("lightning.qubit", wires=3)
CLIFFORD_T = {
    "Hadamard", "S", "Adjoint(S)", "T", "Adjoint(T)", "PauliX", "PauliY", "PauliZ", "CNOT",
}  # fmt: skip


def gates(compiled):
    return set(re.findall(r'quantum\.gate "(.*?)"', compiled.mlir))


@settings(max_examples=15, deadline=None)
@given(st.floats(-13, 13), st.sampled_from([0.3, 1e-2, 1e-4]), st.booleans())
def test_words_are_near_enough(angle, epsilon, rotations):
    word = word_for(angle, epsilon, rotations)
    matrix = np.exp(-1j * word.phase) * np.eye(2)
    for place in word.letters:
        letter = alphabet_of(rotations)[place]
        if rotations:
            gate = qml.PauliRot(letter.parameters[0], letter.name[-2], wires=0)
        else:
            gate = qml.adjoint(qml.S(0)) if "(" in letter.name else getattr(qml, letter.name)(0)
        matrix = gate.matrix() @ matrix
    assert np.linalg.norm(matrix - qml.RZ(angle, 0).matrix(), 2) <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("angle", [0.0, np.pi / 4, -np.pi / 2, np.pi, 7 * np.pi / 4, 9 * np.pi])
def test_multiples_of_t_are_exact(angle):
    assert len(word_for(angle, 1e-12).letters) <= 3


def everywhere(x, n):
    qml.Hadamard(0)
    qml.Hadamard(1)
    qml.RZ(0.3, 0)
    qml.PhaseShift(x, 1)

    @for_loop(0, n, 1)
    def loop(i):
        qml.RZ(x * i, i)
        qml.PhaseShift(1.1, i)
        qml.CNOT([i, (i + 1) % 3])

    loop()

    @cond(x > 0.5)
    def branch():
        qml.RZ(-x, 2)

    branch()

    def inner():
        qml.RZ(x, 0)

        @for_loop(0, n, 1)
        def again(i):
            qml.RZ(x * i, i % 2)
            qml.Hadamard(i % 2)

        again()

    adjoint(inner)()
    return qml.state()


@pytest.mark.parametrize(
    ("options", "allowed"),
    [
        ({}, CLIFFORD_T),
        ({"epsilon": 1e-2}, CLIFFORD_T),
        (
            {"epsilon": 1e-3, "ppr_basis": True},
            {"Hadamard", "CNOT", "PauliRot[X]", "PauliRot[Y]", "PauliRot[Z]"},
        ),
    ],
)
def test_circuits_are_near_enough(options, allowed):
    compiled = qjit(passes.gridsynth(qml.QNode(everywhere, DEVICE), **options))
    plain = qjit(qml.QNode(everywhere, DEVICE))
    for x, n in [(0.3, 3), (-2.1, 2), (0.9, 0)]:
        rotations = 4 + 3 * n
        distance = np.linalg.norm(compiled(x, n) - plain(x, n))
        assert distance <= rotations * options.get("epsilon", 1e-4)
    assert gates(compiled) <= allowed
    assert "for_loop" in str(compiled.jaxpr)


def test_pennylanes_name_after_other_passes():
    """After rotations have been merged, and after a gate set has made rotations of others."""

    def circuit(x):
        qml.Hadamard(0)
        qml.RZ(0.2, 0)
        qml.RZ(0.1, 0)
        ctrl(qml.PhaseShift, control=1)(x, wires=0)
        return qml.state()

    qnode = passes.graph_decomposition(qml.QNode(circuit, DEVICE), gate_set={"RZ", "H", "CNOT"})
    merged = qml.gridsynth(passes.merge_rotations(qnode), epsilon=1e-3)
    compiled = qjit(merged)
    wanted = qml.QNode(circuit, qml.device("default.qubit", wires=3))(0.7)
    assert np.linalg.norm(compiled(0.7) - wanted) <= 5e-3
    assert gates(compiled) <= CLIFFORD_T


def measured(x, y):
    qml.RX(y, 0)
    qml.Hadamard(1)
    qml.RZ(x, 1)
    qml.RZ(0.3, 0)
    qml.CNOT([0, 1])
    qml.RX(y, 1)
    return qml.expval(qml.X(0) @ qml.Y(1) + qml.Z(1))


@pytest.mark.parametrize("method", ["best", "parameter-shift"])
def test_derivatives_by_what_is_not_approximated(method):
    qnode = passes.gridsynth(epsilon=1e-5)(qml.QNode(measured, DEVICE, diff_method=method))
    wanted = qjit(jax.grad(qml.QNode(measured, DEVICE), argnums=1))(0.3, 0.7)
    found = qjit(jax.grad(qnode, argnums=1))(0.3, 0.7)
    np.testing.assert_allclose(found, wanted, atol=1e-4)
    with pytest.raises(DiastaseError, match="gridsynth has no derivative"):
        qjit(jax.grad(qnode))(0.3, 0.7)


def test_shots_and_batches():
    qnode = passes.gridsynth(epsilon=1e-3)(qml.QNode(measured, DEVICE))
    plain = qjit(qml.QNode(measured, DEVICE))
    assert abs(qjit(qml.set_shots(qnode, 20_000), seed=1)(0.3, 0.7) - plain(0.3, 0.7)) < 0.05
    angles = jnp.array([0.1, 0.2, 0.3])
    found = qjit(jax.vmap(qnode, in_axes=(0, None)))(angles, 0.7)
    np.testing.assert_allclose(found, [plain(angle, 0.7) for angle in angles], atol=5e-3)


def test_no_approximation_is_near_enough():
    """Where the number is known while compiling, and where it is not."""
    for angle in (lambda x: 0.3, lambda x: x):

        def circuit(x):
            qml.RZ(angle(x), 0)  # noqa: B023
            return qml.state()

        compiled = qjit(passes.gridsynth(epsilon=1e-12)(qml.QNode(circuit, DEVICE)))
        with (
            pytest.warns(UserWarning, match="so small"),
            pytest.raises(DiastaseError, match="nothing nearer"),
        ):
            compiled(0.3)


@pytest.mark.parametrize("angle", [1e16, -3e17, 1e300, 1e6 + 0.1])
def test_angles_of_many_turns(angle):
    def circuit(x):
        qml.Hadamard(0)
        qml.RZ(x, 0)
        return qml.state()

    found = qjit(passes.gridsynth(qml.QNode(circuit, qml.device("lightning.qubit", wires=1))))
    wanted = qml.QNode(circuit, qml.device("default.qubit", wires=1))(angle)
    np.testing.assert_allclose(found(angle), wanted, atol=1e-4)
