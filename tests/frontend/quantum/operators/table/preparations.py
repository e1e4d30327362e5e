"""State preparations, in the middle of a circuit, and embeddings of data."""

import numpy as np
import pennylane as qml

from frontend.quantum.operators.examples import Table, amplitudes, angles, example

PREPARATIONS: Table = {
    "BasisState": example(lambda p, w: qml.BasisState(p[0], wires=w), 3, np.array([1, 0, 1])),
    "BasisEmbedding": example(
        lambda p, w: qml.BasisEmbedding(p[0], wires=w), 3, np.array([0, 1, 1])
    ),
    "BasisEmbedding:number": example(lambda p, w: qml.BasisEmbedding(5, wires=w), 3),
    "StatePrep": example(lambda p, w: qml.StatePrep(p[0], wires=w), 2, amplitudes(3, 2)),
    "StatePrep:padded": example(
        lambda p, w: qml.StatePrep(p[0], wires=w, pad_with=0.3, normalize=True),
        2, np.array([0.1, 0.2, 0.4]),
    ),
    "AmplitudeEmbedding": example(
        lambda p, w: qml.AmplitudeEmbedding(p[0], wires=w, normalize=True), 2, angles(4, 4)
    ),
    "MottonenStatePreparation": example(
        lambda p, w: qml.MottonenStatePreparation(p[0], wires=w), 2, amplitudes(3, 2)
    ),
    "MultiplexerStatePreparation": example(
        lambda p, w: qml.MultiplexerStatePreparation(p[0], wires=w), 2, amplitudes(3, 2)
    ),
    "ArbitraryStatePreparation": example(
        lambda p, w: qml.ArbitraryStatePreparation(p[0], wires=w), 2, angles(3, 6)
    ),
    "CosineWindow": example(lambda p, w: qml.CosineWindow(wires=w), 2),
    "QROMStatePreparation": example(
        lambda p, w: qml.QROMStatePreparation(
            np.array([0.6, 0.8]), wires=w[:1], precision_wires=w[1:3], work_wires=w[3:]
        ),
        4,
    ),
    "MPSPrep": example(lambda p, w: qml.MPSPrep(_MPS, wires=w[:2], work_wires=w[2:]), 3),
    "Superposition": example(
        lambda p, w: qml.Superposition(
            np.sqrt(np.array([0.3, 0.7])), [[0, 0], [1, 1]], wires=w[:2], work_wire=w[2]
        ),
        3,
    ),
    "AngleEmbedding": example(
        lambda p, w: qml.AngleEmbedding(p[0], wires=w, rotation="Y"), 2, angles(1, 2)
    ),
    "IQPEmbedding": example(
        lambda p, w: qml.IQPEmbedding(p[0], wires=w, n_repeats=2), 3, angles(1, 3)
    ),
    "QAOAEmbedding": example(
        lambda p, w: qml.QAOAEmbedding(p[0], p[1], wires=w), 2, angles(1, 2), angles(2, 2, 3)
    ),
}  # fmt: skip

_MPS = [
    np.array([[0.0, 0.107], [0.994, 0.0]]),
    np.array([[-0.994, -0.107], [0.107, -0.994]]),
]
