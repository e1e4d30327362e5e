"""Ground-state energy of H2: geometry in, energy out, the whole optimisation one function.

The Hamiltonian comes from the geometry (H-H 1.4010 bohr, STO-3G, 4 qubits). The ansatz is the
Hartree-Fock state, then a double excitation and two single ones. The optimiser is Rotosolve
(Ostaszewski, Grant, Benedetti, Quantum 5, 391 (2021); for gates with two frequencies: Wierichs,
Izaac, Wang, Lin, Quantum 6, 677 (2022)): along one angle the energy is a trigonometric polynomial,
so a few energies give it exactly, and with it its minimum. Sweeps over the angles go on in a
`while_loop` until the energy changes by less than 1e-9.

Run it with `make demo`. It exits non-zero if the energy is off by more than 1e-6 Ha.
"""

import sys
import time
from pathlib import Path

import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
import pennylane as qml

import diastase
from diastase import for_loop, while_loop

EXACT_TOLERANCE = 1e-6
SWEEP_TOLERANCE = 1e-9
MOST_SWEEPS = 50

# An excitation gate's generator has the eigenvalues 0 and ±1/2: the energy is a sum of 1, cos and
# sin of the frequencies 1/2 and 1, has the period 4π, and five equidistant energies determine it.
SAMPLES = 5
PERIOD = 4 * np.pi
ANGLES = np.arange(SAMPLES) * PERIOD / SAMPLES
FREQUENCIES = np.array([0.5, 1.0])


def hydrogen_molecule():
    """The Hamiltonian of H2 and its exact lowest eigenvalue, in hartree."""
    half_bond = 1.4010 / 2
    geometry = np.array([[0.0, 0.0, -half_bond], [0.0, 0.0, half_bond]])
    molecule = qml.qchem.Molecule(["H", "H"], geometry, unit="bohr", basis_name="sto-3g")
    hamiltonian, qubits = qml.qchem.molecular_hamiltonian(molecule)
    matrix = qml.matrix(hamiltonian, wire_order=range(qubits))
    return hamiltonian, qubits, np.linalg.eigvalsh(matrix)[0]


def trigonometric_minimum(energies):
    """Angle and value of the minimum of the polynomial through `energies` at `ANGLES`."""
    mean = energies.mean()
    phases = FREQUENCIES[:, None] * ANGLES
    cosines = 2 / SAMPLES * jnp.cos(phases) @ energies
    sines = 2 / SAMPLES * jnp.sin(phases) @ energies

    def polynomial(angle):
        phase = FREQUENCIES * angle
        return mean + jnp.cos(phase) @ cosines + jnp.sin(phase) @ sines

    def newton_step(angle):
        phase = FREQUENCIES * angle
        slope = (FREQUENCIES * jnp.cos(phase)) @ sines - (FREQUENCIES * jnp.sin(phase)) @ cosines
        curvature = -(FREQUENCIES**2 * jnp.cos(phase)) @ cosines
        curvature -= (FREQUENCIES**2 * jnp.sin(phase)) @ sines
        return angle - jnp.where(curvature > 1e-12, slope / jnp.abs(curvature + 1e-300), 0.0)

    # The best point of a fine grid lies in the basin of the minimum; Newton squares the error.
    grid = np.linspace(0, PERIOD, 128, endpoint=False)
    phases = FREQUENCIES[:, None] * grid
    on_grid = mean + cosines @ np.cos(phases) + sines @ np.sin(phases)
    angle = jnp.asarray(grid)[jnp.argmin(on_grid)]
    for _ in range(4):
        angle = newton_step(angle)
    return angle, polynomial(angle)


def rotosolve(hamiltonian, qubits, device_name):
    """The optimisation as a plain Python function of the starting angles."""
    singles, doubles = qml.qchem.excitations(2, qubits)
    hartree_fock = qml.qchem.hf_state(2, qubits)

    @qml.qnode(qml.device(device_name, wires=qubits))
    def energy(angles):
        for wire in np.flatnonzero(hartree_fock):
            qml.PauliX(int(wire))
        for k, wires in enumerate(doubles):
            qml.DoubleExcitation(angles[k], wires=wires)
        for k, wires in enumerate(singles, start=len(doubles)):
            qml.SingleExcitation(angles[k], wires=wires)
        return qml.expval(hamiltonian)

    parameters = len(singles) + len(doubles)

    def optimise(angles):
        """Sweeps done, angles, and the energy before the first and after each sweep."""
        history = jnp.full(MOST_SWEEPS + 1, jnp.nan).at[0].set(energy(angles))

        def unfinished(sweep, angles, history, change):
            return (change > SWEEP_TOLERANCE) & (sweep < MOST_SWEEPS)

        @while_loop(unfinished)
        def sweeps(sweep, angles, history, change):
            @for_loop(0, parameters, 1)
            def turn(k, angles, lowest):
                @for_loop(0, SAMPLES, 1)
                def sample(j, energies):
                    moved = angles.at[k].set(jnp.asarray(ANGLES)[j])
                    return energies.at[j].set(energy(moved))

                angle, lowest = trigonometric_minimum(sample(jnp.zeros(SAMPLES)))
                return angles.at[k].set(angle), lowest

            angles, lowest = turn(angles, history[sweep])
            change = jnp.abs(lowest - history[sweep])
            return sweep + 1, angles, history.at[sweep + 1].set(lowest), change

        sweep, angles, history, _ = sweeps(0, angles, history, jnp.inf)
        return sweep, angles, history

    return optimise, jnp.zeros(parameters)


def shortened(text, lines):
    """The first `lines` lines of a text, indented, with a note on the rest."""
    every = str(text).splitlines()
    shown = [f"    {line[:110]}" for line in every[:lines]]
    rest = len(every) - lines
    return "\n".join([*shown, *([f"    … {rest} more lines"] if rest > 0 else [])])


def timed(function, *arguments, repeat):
    """The result of a call and the median time in seconds of `repeat` of them."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        result = function(*arguments)
        times.append(time.perf_counter() - start)
    return result, float(np.median(times))


def plot(energies, exact, path):
    """Write the energy above the exact one, per sweep, as a PNG."""
    mpl.use("Agg")
    figure, axes = mpl.pyplot.subplots(figsize=(6, 4), layout="constrained")
    above = np.maximum(np.asarray(energies) - exact, 1e-16)
    axes.semilogy(range(len(energies)), above, "o-")
    axes.axhline(EXACT_TOLERANCE, color="grey", linestyle=":", label="agreement asked for")
    axes.set(xlabel="sweep", ylabel="energy above the exact one (Ha)", title="H2, Rotosolve")
    axes.set_xticks(range(len(energies)))
    axes.legend()
    figure.savefig(path, dpi=120)


def main():
    """Compile, run, compare; the exit code says whether the energy is right."""
    print("[1/6] Hamiltonian of H2 from its geometry")
    hamiltonian, qubits, exact = hydrogen_molecule()
    print(f"    {qubits} qubits, {len(hamiltonian.operands)} terms, exact energy {exact:.6f} Ha")

    optimise, start = rotosolve(hamiltonian, qubits, "lightning.qubit")
    compiled_optimise = diastase.qjit(optimise)

    print("[2/6] trace: Python to jaxpr")
    traced, seconds = timed(compiled_optimise.trace, start, repeat=1)
    print(f"    {'trace':<24} {seconds * 1e3:8.1f} ms")
    print(shortened(traced.jaxpr, 14))

    print("[3/6] lower: jaxpr to MLIR")
    lowered, seconds = timed(traced.lower, repeat=1)
    print(f"    {'lower':<24} {seconds * 1e3:8.1f} ms")
    operations = [line for line in lowered.as_text().splitlines() if "constant" not in line]
    print(shortened("\n".join(operations), 20))

    print("[4/6] compile: MLIR to a shared library")
    compiled = lowered.compile()
    for stage, seconds in compiled.timings.items():
        print(f"    {stage:<24} {seconds * 1e3:8.1f} ms")
    if compiled.compilation.from_cache:
        print("    found in the disk cache; DIASTASE_CACHE=0 make demo compiles it anew")
    print(f"    library: {compiled.library}")

    print("[5/6] run: the whole optimisation in one call")
    (sweeps, angles, history), seconds = timed(compiled_optimise, start, repeat=20)
    energies = np.asarray(history)[: int(sweeps) + 1]
    for sweep, energy in enumerate(energies):
        print(f"    sweep {sweep}: {energy:.10f} Ha")
    print(f"    angles: {np.array2string(np.asarray(angles), precision=6)}")
    error = abs(energies[-1] - exact)
    print(f"    final {energies[-1]:.6f} Ha, exact {exact:.6f} Ha, off by {error:.1e} Ha")
    picture = Path(__file__).with_name("h2_vqe.png")
    plot(energies, exact, picture)
    print(f"    plot: {picture}")

    print("[6/6] the same loop, executed by uncompiled PennyLane")
    print(f"    diastase, compiled           {seconds * 1e3:10.3f} ms")
    for name in ("default.qubit", "lightning.qubit"):
        interpreted, start = rotosolve(hamiltonian, qubits, name)
        (_, _, reference), slow = timed(interpreted, start, repeat=1)
        np.testing.assert_allclose(np.asarray(reference), np.asarray(history), atol=1e-8)
        print(f"    PennyLane on {name:<16}{slow * 1e3:10.1f} ms   {slow / seconds:8.0f} x")

    return 0 if error < EXACT_TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
