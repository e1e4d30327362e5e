"""QAOA for the largest cut of a random 3-regular graph, beside the best cut by trying all.

Angles start on the line of an annealing schedule and are trained by Optax's Adam; the training is
one compiled program, and the circuit is sampled by another. Among the samples the best cut counts.

    python examples/qaoa_maxcut.py [--steps 80] [--nodes 14] [--layers 5] [--folder FOR THE PLOT]
"""

import argparse
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib as mpl
import networkx as nx
import numpy as np
import optax
import pennylane as qml

from diastase import for_loop, qjit

SHOTS = 1000
SEED = 11


def cut_of_every_partition(nodes, edges):
    """How many edges each of the partitions cuts; node 0 is the first bit."""
    partitions = np.arange(2**nodes)
    side = [(partitions >> (nodes - 1 - node)) & 1 for node in range(nodes)]
    return sum(side[one] != side[other] for one, other in edges)


def circuits(nodes, edges):
    """The expected cut, and samples, as QNodes of the angles, shape (layers, 2)."""
    device = qml.device("lightning.qubit", wires=nodes)
    cut = qml.dot(
        [0.5] * len(edges), [qml.I(0) - qml.Z(one) @ qml.Z(other) for one, other in edges]
    )

    def ansatz(angles):
        for node in range(nodes):
            qml.Hadamard(node)

        @for_loop(0, angles.shape[0], 1)
        def layer(k):
            for one, other in edges:
                qml.IsingZZ(-angles[k, 0], [one, other])
            for node in range(nodes):
                qml.RX(2 * angles[k, 1], node)

        layer()

    @qml.qnode(device)
    def expected_cut(angles):
        ansatz(angles)
        return qml.expval(cut)

    @qml.qnode(device, shots=SHOTS)
    def samples(angles):
        ansatz(angles)
        return qml.sample()

    return expected_cut, samples


def training(expected_cut, steps):
    """The training as a function of the first angles."""
    optimizer = optax.adam(0.03)

    @qjit
    def train(angles):
        """The trained angles; the expected cut before each step, and after the last one."""

        @for_loop(0, steps, 1)
        def step(k, angles, state, cuts):
            value, gradient = jax.value_and_grad(expected_cut)(angles)
            updates, state = optimizer.update(-gradient, state)
            return optax.apply_updates(angles, updates), state, cuts.at[k].set(value)

        angles, _, cuts = step(angles, optimizer.init(angles), jnp.zeros(steps + 1))
        return angles, cuts.at[steps].set(expected_cut(angles))

    return train


def plot(cuts, best, path):
    """Write the expected cut by step as a PNG."""
    mpl.use("Agg")
    figure, axes = mpl.pyplot.subplots(figsize=(6, 4), layout="constrained")
    axes.plot(cuts, label="expected cut")
    axes.axhline(best, color="grey", linestyle=":", label="largest cut")
    axes.set(xlabel="step of Adam", ylabel="edges", title="QAOA")
    axes.legend()
    figure.savefig(path, dpi=120)


def main():
    """Train, sample, compare; the exit code says whether a largest cut was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--nodes", type=int, default=14)
    parser.add_argument("--layers", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent)
    given = parser.parse_args()
    edges = sorted(nx.random_regular_graph(3, given.nodes, seed=SEED).edges)
    sizes = cut_of_every_partition(given.nodes, edges)
    expected_cut, samples = circuits(given.nodes, edges)
    rising = (jnp.arange(given.layers) + 0.5) / given.layers
    start = 0.7 * jnp.stack([rising, 1 - rising], axis=1)

    began = time.perf_counter()
    angles, cuts = training(expected_cut, given.steps)(start)
    seconds = time.perf_counter() - began
    print(f"{given.nodes} nodes, {len(edges)} edges; compiled and trained in {seconds:.2f} s")
    for step in range(0, given.steps + 1, max(1, given.steps // 6)):
        print(f"    step {step:4}: expected cut {cuts[step]:.4f}")
    found = np.asarray(qjit(samples, seed=SEED)(angles))
    powers = 2 ** np.arange(given.nodes)[::-1]
    sampled = sizes[found @ powers]
    print(f"final expected cut {cuts[-1]:.4f} ({cuts[-1] / sizes.max():.1%} of the largest)")
    print(f"best of {SHOTS} samples {sampled.max()}, largest by trying all {sizes.max()}")
    picture = given.folder / "qaoa_maxcut.png"
    plot(np.asarray(cuts), sizes.max(), picture)
    print(f"plot: {picture}")
    return 0 if sampled.max() == sizes.max() else 1


if __name__ == "__main__":
    sys.exit(main())
