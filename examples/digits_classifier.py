"""A data-reuploading classifier of scikit-learn's handwritten digits, all ten of them.

Each image becomes 18 numbers (principal components), which enter the circuit again in every layer:
three to a qubit, times a weight, plus a shift, as the angles of a rotation; then a ring of CZ. The
probabilities of the outcomes of four wires are the scores of the digits (Pérez-Salinas, Cervera-
Lierta, Gil-Fuster, Latorre, Quantum 4, 226 (2020)).

The training is one compiled program: a `for_loop` over batches, `vmap` over the images of each,
Optax's Adam on the gradient.

    python examples/digits_classifier.py [--steps 600] [--layers 8] [--folder FOR THE PLOT]
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
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split

from diastase import for_loop, qjit

QUBITS, READ, CLASSES = 6, 4, 10
FEATURES = 3 * QUBITS
BATCH = 50
SHARPNESS = 20.0  # scores are SHARPNESS * probability, of which a softmax is taken


def digits():
    """Images as principal components of standard deviation near 1, in two parts, with labels."""
    images, labels = load_digits(return_X_y=True)
    parts = train_test_split(images, labels, test_size=0.25, random_state=0, stratify=labels)
    components = PCA(FEATURES).fit(parts[0])
    scale = np.sqrt(components.explained_variance_[0])
    first, second = (components.transform(part) / scale for part in parts[:2])
    return (first, parts[2]), (second, parts[3])


@qml.qnode(qml.device("lightning.qubit", wires=QUBITS))
def probabilities(weights, image):
    """Of the outcomes of the first wires; `weights` has shape (layers, 2, qubits, 3)."""

    @for_loop(0, weights.shape[0], 1)
    def layer(k):
        angles = weights[k, 0] * image.reshape(QUBITS, 3) + weights[k, 1]
        for wire in range(QUBITS):
            qml.Rot(*angles[wire], wire)
        for wire in range(QUBITS):
            qml.CZ([wire, (wire + 1) % QUBITS])

    layer()
    for wire in range(READ):
        qml.Hadamard(wire)
    return qml.probs(range(READ))


def scores(weights, images):
    """One row for each image."""
    found = jax.vmap(probabilities, in_axes=(None, 0))(weights, images)
    return SHARPNESS * found[:, :CLASSES]


def loss(weights, images, labels):
    """Mean cross entropy."""
    return optax.softmax_cross_entropy_with_integer_labels(scores(weights, images), labels).mean()


def training(steps):
    """The training as a compiled function of weights, images and labels."""
    optimizer = optax.adam(optax.cosine_decay_schedule(0.05, steps))

    @qjit
    def train(weights, images, labels):
        batches = images.shape[0] // BATCH

        @for_loop(0, steps, 1)
        def step(k, weights, state, losses):
            start = (k % batches) * BATCH
            some = jax.lax.dynamic_slice_in_dim(images, start, BATCH)
            their_labels = jax.lax.dynamic_slice_in_dim(labels, start, BATCH)
            value, gradient = jax.value_and_grad(loss)(weights, some, their_labels)
            updates, state = optimizer.update(gradient, state)
            return optax.apply_updates(weights, updates), state, losses.at[k].set(value)

        weights, _, losses = step(weights, optimizer.init(weights), jnp.zeros(steps))
        return weights, losses

    return train


@qjit
def accuracy(weights, images, labels):
    """The part of the images whose highest score is that of their label."""
    return jnp.mean(jnp.argmax(scores(weights, images), axis=1) == labels)


def plot(losses, path):
    """Write the loss by step as a PNG."""
    mpl.use("Agg")
    figure, axes = mpl.pyplot.subplots(figsize=(6, 4), layout="constrained")
    axes.plot(losses, color="lightsteelblue", label="batch")
    width = max(1, len(losses) // 20)
    smooth = np.convolve(losses, np.full(width, 1 / width), "valid")
    axes.plot(np.arange(len(smooth)) + width // 2, smooth, label=f"mean of {width}")
    axes.set(xlabel="step of Adam", ylabel="cross entropy", title="Ten digits")
    axes.legend()
    figure.savefig(path, dpi=120)


def main():
    """Train, test on images not seen, plot."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent)
    given = parser.parse_args()
    (images, labels), (unseen, their_labels) = digits()
    weights = np.random.default_rng(0).normal(0, 0.3, (given.layers, 2, QUBITS, 3))
    print(f"{len(images)} images, {len(unseen)} to test with; {weights.size} weights")
    began = time.perf_counter()
    weights, losses = training(given.steps)(weights, images, labels)
    losses = np.asarray(losses)
    print(f"compiled and trained in {time.perf_counter() - began:.2f} s")
    for step in range(0, given.steps, max(1, given.steps // 6)):
        print(f"    step {step:4}: loss {losses[step]:.4f}")
    print(f"final loss {losses[-len(images) // BATCH :].mean():.4f} (mean of the last epoch)")
    print(f"accuracy {accuracy(weights, images, labels):.1%}, "
          f"on images not seen {accuracy(weights, unseen, their_labels):.1%}")  # fmt: skip
    picture = given.folder / "digits_classifier.png"
    plot(losses, picture)
    print(f"plot: {picture}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
