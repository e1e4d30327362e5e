"""Layers, tensor networks and swap networks."""

import numpy as np
import pennylane as qml

from frontend.quantum.operators.examples import Table, angles, example, unitary


def _block(weights, wires):
    qml.CNOT(wires=[wires[0], wires[1]])
    qml.RY(weights[0], wires=wires[0])
    qml.RY(weights[1], wires=wires[1])


LAYERS: Table = {
    "BasicEntanglerLayers": example(
        lambda p, w: qml.BasicEntanglerLayers(p[0], wires=w), 3, angles(1, 2, 3)
    ),
    "GateFabric": example(
        lambda p, w: qml.GateFabric(p[0], wires=w, init_state=[1, 1, 0, 0]), 4, angles(1, 1, 1, 2)
    ),
    "ParticleConservingU1": example(
        lambda p, w: qml.ParticleConservingU1(p[0], wires=w, init_state=[1, 0]),
        2, angles(1, 1, 1, 2),
    ),
    "ParticleConservingU2": example(
        lambda p, w: qml.ParticleConservingU2(p[0], wires=w, init_state=[1, 0, 1]),
        3, angles(1, 1, 5),
    ),
    "RandomLayers": example(lambda p, w: qml.RandomLayers(p[0], wires=w), 3, angles(1, 2, 3)),
    "SimplifiedTwoDesign": example(
        lambda p, w: qml.SimplifiedTwoDesign(p[0], p[1], wires=w),
        3, angles(1, 3), angles(2, 1, 2, 2),
    ),
    "StronglyEntanglingLayers": example(
        lambda p, w: qml.StronglyEntanglingLayers(p[0], wires=w), 3, angles(1, 2, 3, 3)
    ),
    "MERA": example(lambda p, w: qml.MERA(w, 2, _block, 2, p[0]), 4, angles(1, 5, 2)),
    "MPS": example(lambda p, w: qml.MPS(w, 2, _block, 2, p[0]), 4, angles(1, 3, 2)),
    "TTN": example(lambda p, w: qml.TTN(w, 2, _block, 2, p[0]), 4, angles(1, 3, 2)),
    "TwoLocalSwapNetwork": example(
        lambda p, w: qml.templates.TwoLocalSwapNetwork(
            wires=w, acquaintances=lambda index, wires, param: qml.CRY(param, wires=index),
            weights=p[0], fermionic=True,
        ),
        3, angles(1, 3),
    ),
    "IQP": example(
        lambda p, w: qml.IQP(p[0], 3, [[[0]], [[1, 2]], [[0, 1, 2]]], spin_sym=False),
        3, angles(1, 3), first_wires=True,
    ),
}  # fmt: skip

_COMPLEX_ROTATION = np.linalg.qr(unitary(3, 2)[:3, :3])[0]

CHEMISTRY: Table = {
    "AllSinglesDoubles": example(
        lambda p, w: qml.AllSinglesDoubles(
            p[0], w, hf_state=np.array([1, 1, 0, 0]),
            singles=[[w[0], w[2]], [w[1], w[3]]], doubles=[[w[0], w[1], w[2], w[3]]],
        ),
        4, angles(1, 3),
    ),
    "BasisRotation": example(
        lambda p, w: qml.BasisRotation(wires=w, unitary_matrix=p[0]), 3, _COMPLEX_ROTATION,
    ),
    "BasisRotation:real": example(
        lambda p, w: qml.BasisRotation(wires=w, unitary_matrix=p[0]), 3,
        np.linalg.qr(angles(3, 3, 3))[0],
    ),
    "BasisRotation:identity": example(
        lambda p, w: qml.BasisRotation(wires=w, unitary_matrix=p[0]), 3, np.eye(3),
    ),
    "FermionicDoubleExcitation": example(
        lambda p, w: qml.FermionicDoubleExcitation(p[0], wires1=w[:2], wires2=w[2:]), 4, 0.3
    ),
    "FermionicSingleExcitation": example(
        lambda p, w: qml.FermionicSingleExcitation(p[0], wires=w), 3, 0.3
    ),
    "UCCSD": example(
        lambda p, w: qml.UCCSD(
            p[0], w, s_wires=[[w[0], w[1], w[2]]], d_wires=[[[w[0], w[1]], [w[2], w[3]]]],
            init_state=[1, 1, 0, 0],
        ),
        4, angles(1, 2),
    ),
    "kUpCCGSD": example(
        lambda p, w: qml.kUpCCGSD(p[0], w, k=1, delta_sz=0, init_state=[1, 1, 0, 0]),
        4, angles(1, 1, 6),
    ),
}  # fmt: skip
