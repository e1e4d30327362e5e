"""The phase diagram of a chain of spins in a transverse field, on a cluster of this computer.

A ring of spins, -J ZZ - h X, is prepared by an evolution that begins in a strong field, for each
pair of a coupling and a field; the picture has the correlation of opposite spins, and how far the
energy is above the exact one. One program is compiled, here; the workers run it for all pairs.

    python examples/sweep_cluster.py [--spins 8] [--points 40] [--workers 2] [--folder FOR THE PLOT]

`--scheduler tcp://host:8786` takes a cluster that there is; `--workers 0` computes in this process.
"""

import argparse
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import distributed
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pennylane as qml

import diastase
from diastase import for_loop, qjit

STEPS, LENGTH = 200, 0.05
"""Of the evolution: how many, and how long each is."""
STRONG = 3.0
"""The field that it begins in."""


def program(spins):
    """Order and energy of the state that the evolution ends with, of coupling and field."""
    wires = range(spins)
    pairs = [(wire, (wire + 1) % spins) for wire in wires]
    bonds = [qml.Z(a) @ qml.Z(b) for a, b in pairs]

    @qjit
    def measured(coupling, field):
        @qml.qnode(qml.device("lightning.qubit", wires=spins))
        def chain():
            for wire in wires:
                qml.Hadamard(wire)

            @for_loop(0, STEPS, 1)
            def step(k):
                share = (k + 0.5) / STEPS
                for a, b in pairs:
                    qml.IsingZZ(-2 * LENGTH * share * coupling, wires=[a, b])
                for wire in wires:
                    qml.RX(-2 * LENGTH * (share * field + (1 - share) * STRONG), wires=wire)

            step()
            far = qml.expval(qml.Z(0) @ qml.Z(spins // 2))
            return far, qml.expval(qml.sum(*bonds)), qml.expval(qml.sum(*map(qml.X, wires)))

        far, bond, transverse = chain()
        return far, -coupling * bond - field * transverse

    return measured


def exact_energy(spins, coupling, field):
    """Of the ring, by free fermions (Pfeuty 1970, doi:10.1016/0003-4916(70)90270-8)."""
    momenta = (2 * np.arange(spins) + 1) * np.pi / spins
    parts = coupling**2 + field**2 - 2 * coupling * field * np.cos(momenta)
    return -np.sum(np.sqrt(parts))


def draw(path, couplings, fields, order, errors):
    """Both quantities over couplings and fields, with the line on which the phase changes."""
    figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    titles = "correlation of opposite spins", "energy above the ground state's, a spin"
    for axes, title, values in zip(panels, titles, (order, errors), strict=True):
        image = axes.pcolormesh(fields, couplings, values, shading="nearest")
        axes.plot(fields, fields, "w--", linewidth=1)
        axes.set(title=title, xlabel="field h", ylabel="coupling J", ylim=couplings[[0, -1]])
        figure.colorbar(image, ax=axes)
    figure.savefig(path, dpi=120)
    print(f"plot: {path}")


def main():
    """Sweep and draw; the exit code says whether both phases are there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spins", type=int, default=8)
    parser.add_argument("--points", type=int, default=40, help="of couplings, and of fields")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--scheduler", help="the address of a cluster's")
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent)
    given = parser.parse_args()
    mpl.use("Agg")
    axis = np.linspace(0.05, 2.0, given.points)
    couplings, fields = (grid.reshape(-1) for grid in np.meshgrid(axis, axis, indexing="ij"))

    with ExitStack() as stack:
        client = None
        if given.scheduler or given.workers:
            cluster = given.scheduler or stack.enter_context(
                distributed.LocalCluster(
                    n_workers=given.workers, threads_per_worker=1, dashboard_address=":0"
                )
            )
            client = stack.enter_context(distributed.Client(cluster))
        began = time.perf_counter()
        order, energies = diastase.distributed.map(
            program(given.spins), couplings, fields, client=client, progress=sys.stdout.isatty()
        )
        seconds = time.perf_counter() - began
    where = "in this process" if client is None else "on the cluster"
    print(f"{len(fields)} points of {given.spins} spins {where} in {seconds:.2f} s")

    exact = [exact_energy(given.spins, *pair) for pair in zip(couplings, fields, strict=True)]
    shape = given.points, given.points
    order, errors = order.reshape(shape), ((energies - exact) / given.spins).reshape(shape)
    print(f"ordered corner {order[-1, 0]:.3f}, disordered corner {order[0, -1]:.3f}")
    print(f"energies are at most {errors.max():.4f} a spin above the ground state's")
    draw(given.folder / "sweep_cluster.png", axis, axis, order, errors)
    return 0 if order[-1, 0] > 0.8 and abs(order[0, -1]) < 0.2 and errors.min() > -1e-9 else 1


if __name__ == "__main__":
    sys.exit(main())
