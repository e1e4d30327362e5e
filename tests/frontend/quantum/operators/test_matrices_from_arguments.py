"""Matrices that are pieces of an argument, against the same circuit on default.qubit."""

import jax.numpy as jnp
import numpy as np
import pennylane as qml
from scipy.stats import unitary_group

from diastase import qjit

WIRES = 5


def circuit(matrices, phases, vector):
    qml.StatePrep(vector, wires=[3, 4])
    for row in range(3):
        for k in range(4):
            wire = row + k
            qml.QubitUnitary(matrices[row, k], [wire % WIRES, (wire + 1) % WIRES])
    qml.QubitUnitary(matrices[1, :, 2], [0, 2])  # not contiguous
    qml.QubitUnitary(matrices[1][::-1][1], [0, 2])
    qml.QubitUnitary(matrices[2, 3].T, [0, 2])
    qml.QubitUnitary(2 * matrices[2, 3], [0, 2])
    qml.DiagonalQubitUnitary(phases[2, 1], [1, 3])
    qml.DiagonalQubitUnitary(phases[1, :, 1:3].reshape(4), [1, 3])

    @qml.for_loop(0, 3, 1)
    def loop(k):
        qml.QubitUnitary(matrices[k, 1], [1, 2])
        qml.QubitUnitary(matrices[2, 1], [1, 2])

    loop()
    return qml.state()


def test_pieces_of_arguments():
    matrices = unitary_group.rvs(4, size=12, random_state=0).reshape(3, 4, 4, 4)
    phases = np.exp(1j * np.random.default_rng(0).normal(size=(4, 2, 4)))
    vector = np.array([0.5, 0.5j, -0.5, 0.5])
    expected = qml.QNode(circuit, qml.device("default.qubit", wires=WIRES))(
        matrices, phases, vector
    )
    compiled = qjit(qml.QNode(circuit, qml.device("lightning.qubit", wires=WIRES)))
    before = matrices.copy()
    for given in (matrices, jnp.asarray(matrices), np.asfortranarray(matrices), matrices[::1]):
        found = compiled(given, phases, vector)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert (matrices == before).all()
