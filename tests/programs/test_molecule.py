"""The energy of H2, whose Hamiltonian comes from `qml.qchem`, against default.qubit."""

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import for_loop, qjit


@pytest.fixture(scope="module")
def hydrogen():
    geometry = np.array([[0.0, 0.0, -0.70050], [0.0, 0.0, 0.70050]])
    molecule = qml.qchem.Molecule(["H", "H"], geometry)
    return qml.qchem.molecular_hamiltonian(molecule)


def energy_of(hamiltonian, wires, device_name):
    @qml.qnode(qml.device(device_name, wires=wires))
    def energy(parameters):
        qml.BasisState(np.array([1, 1, 0, 0]), wires=range(wires))
        qml.DoubleExcitation(parameters[0], wires=[0, 1, 2, 3])
        qml.SingleExcitation(parameters[1], wires=[0, 2])
        qml.SingleExcitation(parameters[2], wires=[1, 3])
        return qml.expval(hamiltonian), qml.var(hamiltonian)

    return energy


def test_energy_and_variance(hydrogen):
    compiled = qjit(energy_of(*hydrogen, "lightning.qubit"))
    reference = energy_of(*hydrogen, "default.qubit")
    for parameters in ([0.0, 0.0, 0.0], [0.22, 0.1, -0.3]):
        np.testing.assert_allclose(
            compiled(np.array(parameters)), reference(np.array(parameters)), atol=1e-10
        )


def test_scan_of_the_double_excitation_reaches_the_ground_state(hydrogen):
    energy = energy_of(*hydrogen, "lightning.qubit")

    @qjit
    def lowest(steps):
        @for_loop(0, steps, 1)
        def body(step, best):
            angle = 0.1 + 0.3 * step / steps
            return jnp.minimum(best, energy(jnp.stack([angle, 0.0, 0.0]))[0])

        return body(0.0)

    matrix = qml.matrix(hydrogen[0], wire_order=range(4))
    exact = np.linalg.eigvalsh(matrix)[0]
    assert abs(float(lowest(300)) - exact) < 1e-5
