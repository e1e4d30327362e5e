"""Noise on density matrices: how a state fades, and how extrapolation brings energies back.

The first picture has the fidelity of a GHZ state against the strength of depolarising noise after
each gate, by density matrices and by trajectories with their standard errors; the second one the
energy of a chain of spins in a transverse field, noisy, extrapolated to no noise, and exact.

    python examples/noise.py [--qubits 6] [--points 9] [--trajectories 400] [--folder FOR THE PLOTS]
"""

import argparse
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
import pennylane as qml

import diastase
from diastase import mitigate_with_zne, qjit

SEED = 7
STEPS = 4
TIME = 0.8
STRONGEST = 0.08
SCALES = (1, 3, 5)


def ghz(qubits):
    """The fidelity of a noisy GHZ state with the ideal one, as a QNode of the strength."""
    ideal = np.zeros(2**qubits)
    ideal[0] = ideal[-1] = np.sqrt(0.5)

    @qml.qnode(qml.device("default.mixed", wires=qubits))
    def fidelity(strength):
        qml.Hadamard(0)
        qml.DepolarizingChannel(strength, wires=0)
        for wire in range(qubits - 1):
            qml.CNOT([wire, wire + 1])
            qml.DepolarizingChannel(strength, wires=wire)
            qml.DepolarizingChannel(strength, wires=wire + 1)
        return qml.expval(qml.Projector(ideal, wires=range(qubits)))

    return fidelity


def energies(qubits, strengths):
    """Energies of a quenched chain of spins: exact, noisy and extrapolated."""
    wires = range(qubits)
    words = [qml.Z(wire) @ qml.Z(wire + 1) for wire in wires[:-1]]
    energy = qml.dot([-1.0] * len(words), words) + qml.dot(
        [-0.5] * qubits, [qml.X(wire) for wire in wires]
    )

    def quench(field):
        for wire in wires:
            qml.Hadamard(wire)

        @qml.for_loop(0, STEPS, 1)
        def step(_):
            for wire in wires[:-1]:
                qml.IsingZZ(-2 * TIME / STEPS, [wire, wire + 1])
            for wire in wires:
                qml.RX(-2 * field * TIME / STEPS, wire)

        step()
        return qml.expval(energy)

    device = qml.device("default.mixed", wires=qubits)

    def noisy(strength):
        return qml.QNode(
            quench, qml.noise.insert(device, qml.DepolarizingChannel, strength, position="all")
        )

    @qjit
    def of_strength(strength):
        circuit = noisy(strength)
        return circuit(0.5), mitigate_with_zne(circuit, scale_factors=SCALES)(0.5)

    found = np.array([of_strength(strength) for strength in strengths])
    return float(qjit(qml.QNode(quench, device))(0.5)), found[:, 0], found[:, 1]


def save(path, draw, **labels):
    """Draw a picture and write it as a PNG."""
    figure, axes = mpl.pyplot.subplots(figsize=(6, 4), layout="constrained")
    draw(axes)
    axes.set(xlabel="strength of the depolarising noise", **labels)
    axes.legend()
    figure.savefig(path, dpi=120)
    print(f"plot: {path}")


def draw_fidelity(axes, strengths, exact, means, errors):
    """Both ways to simulate the same noise."""
    axes.plot(strengths, exact, label="density matrix")
    axes.errorbar(
        strengths,
        means,
        yerr=2 * errors,
        fmt="o",
        capsize=3,
        label="trajectories, two standard errors",
    )


def draw_energies(axes, strengths, exact, noisy, mitigated):
    """What extrapolation makes of noisy energies."""
    axes.plot(strengths, noisy, "o-", label="noisy")
    axes.plot(strengths, mitigated, "s-", label=f"extrapolated from {SCALES}")
    axes.axhline(exact, color="grey", linestyle=":", label="exact")


def main():
    """Both pictures; the exit code says whether both ways agree and extrapolation helps."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--qubits", type=int, default=6)
    parser.add_argument("--points", type=int, default=9)
    parser.add_argument("--trajectories", type=int, default=400)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent)
    given = parser.parse_args()
    mpl.use("Agg")
    strengths = np.linspace(0.0, STRONGEST, given.points)

    began = time.perf_counter()
    fidelity = ghz(given.qubits)
    exact, slopes = qjit(jax.vmap(jax.value_and_grad(fidelity)))(jnp.array(strengths))
    sampled = diastase.set_method(
        fidelity, "trajectories", trajectories=given.trajectories, standard_errors=True
    )
    means, errors = map(np.array, zip(*map(qjit(sampled, seed=SEED), strengths), strict=True))
    print(f"fidelities of {given.qubits} qubits in {time.perf_counter() - began:.2f} s")
    for strength, value, slope in zip(strengths[::2], exact[::2], slopes[::2], strict=True):
        print(f"    strength {strength:.3f}: fidelity {value:.4f}, derivative {slope:.3f}")
    away = np.max(np.abs(means - exact) / np.maximum(errors, 1e-6))
    print(f"trajectories are at most {away:.1f} standard errors away")
    save(
        given.folder / "noise_fidelity.png",
        lambda axes: draw_fidelity(axes, strengths, exact, means, errors),
        ylabel="fidelity", title=f"GHZ state of {given.qubits} qubits",
    )  # fmt: skip

    began = time.perf_counter()
    ideal, noisy, mitigated = energies(given.qubits, strengths / 8)
    print(f"energies in {time.perf_counter() - began:.2f} s, exact {ideal:.5f}")
    for row in zip(strengths / 8, noisy, mitigated, strict=True):
        print("    strength {:.4f}: noisy {:.5f}, extrapolated {:.5f}".format(*row))
    save(
        given.folder / "noise_zne.png",
        lambda axes: draw_energies(axes, strengths / 8, ideal, noisy, mitigated),
        ylabel="energy", title="A quench, and zero-noise extrapolation",
    )  # fmt: skip
    helps = np.abs(mitigated - ideal)[1:] < np.abs(noisy - ideal)[1:]
    return 0 if away < 6 and helps.all() else 1


if __name__ == "__main__":
    sys.exit(main())
