"""Ground state of LiH by VQE: ten qubits, 24 excitations, trained by Adam in one compiled program.

The Hamiltonian comes from the geometry (STO-3G, Li-H 1.57 Å), with two electrons in five orbitals.
The circuit is the Hartree-Fock state with all single and double excitations. The whole training,
with Optax's Adam, is one call: a `for_loop` of gradients and updates.

    python examples/lih_vqe.py [--steps 150] [--folder WHERE THE PLOT GOES]

It exits non-zero if the energy is not within chemical accuracy (1.6e-3 Ha) after all steps.
"""

import argparse
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
import optax
import pennylane as qml
from scipy.sparse.linalg import eigsh

from diastase import for_loop, qjit

ELECTRONS, ORBITALS = 2, 5
QUBITS = 2 * ORBITALS
CHEMICAL_ACCURACY = 1.6e-3
STEPS = 150


def lithium_hydride():
    """The Hamiltonian and its exact lowest eigenvalue, in hartree."""
    geometry = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.57]])
    molecule = qml.qchem.Molecule(["Li", "H"], geometry, unit="angstrom", basis_name="sto-3g")
    hamiltonian, _ = qml.qchem.molecular_hamiltonian(
        molecule, active_electrons=ELECTRONS, active_orbitals=ORBITALS
    )
    matrix = hamiltonian.sparse_matrix(wire_order=range(QUBITS))
    return hamiltonian, eigsh(matrix, k=1, which="SA")[0][0]


def training(hamiltonian, steps):
    """The training as a function of the first angles, and these."""
    singles, doubles = qml.qchem.excitations(ELECTRONS, QUBITS)
    hartree_fock = qml.qchem.hf_state(ELECTRONS, QUBITS)
    optimizer = optax.adam(0.05)

    @qml.qnode(qml.device("lightning.qubit", wires=QUBITS))
    def energy(angles):
        qml.BasisState(hartree_fock, range(QUBITS))
        for number, wires in enumerate(doubles):
            qml.DoubleExcitation(angles[number], wires)
        for number, wires in enumerate(singles, len(doubles)):
            qml.SingleExcitation(angles[number], wires)
        return qml.expval(hamiltonian)

    @qjit
    def train(angles):
        """The energy before each step, and after the last one."""

        @for_loop(0, steps, 1)
        def step(k, angles, state, energies):
            value, gradient = jax.value_and_grad(energy)(angles)
            updates, state = optimizer.update(gradient, state)
            return optax.apply_updates(angles, updates), state, energies.at[k].set(value)

        angles, _, energies = step(angles, optimizer.init(angles), jnp.zeros(steps + 1))
        return energies.at[steps].set(energy(angles))

    return train, jnp.zeros(len(singles) + len(doubles))


def plot(energies, exact, path):
    """Write the energy above the exact one, by step, as a PNG."""
    mpl.use("Agg")
    figure, axes = mpl.pyplot.subplots(figsize=(6, 4), layout="constrained")
    axes.semilogy(np.maximum(energies - exact, 1e-12))
    axes.axhline(CHEMICAL_ACCURACY, color="grey", linestyle=":", label="chemical accuracy")
    axes.set(xlabel="step of Adam", ylabel="energy above the exact one (Ha)", title="LiH, VQE")
    axes.legend()
    figure.savefig(path, dpi=120)


def main():
    """Train, compare, plot; the exit code says whether the energy is right."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent)
    given = parser.parse_args()
    hamiltonian, exact = lithium_hydride()
    train, start = training(hamiltonian, given.steps)
    print(f"{QUBITS} qubits, {len(hamiltonian.operands)} terms, {start.size} parameters")
    began = time.perf_counter()
    energies = np.asarray(train(start))
    compiled = time.perf_counter() - began
    began = time.perf_counter()
    train(start)
    seconds = time.perf_counter() - began
    print(f"compiled and trained in {compiled:.2f} s, trained again in {seconds:.2f} s")
    for step in range(0, given.steps + 1, max(1, given.steps // 6)):
        print(f"    step {step:4}: {energies[step]:.8f} Ha")
    error = energies[-1] - exact
    print(f"final energy {energies[-1]:.8f} Ha, exact {exact:.8f} Ha, off by {error:.1e} Ha")
    picture = given.folder / "lih_vqe.png"
    plot(energies, exact, picture)
    print(f"plot: {picture}")
    return 0 if error < CHEMICAL_ACCURACY or given.steps < STEPS else 1


if __name__ == "__main__":
    sys.exit(main())
