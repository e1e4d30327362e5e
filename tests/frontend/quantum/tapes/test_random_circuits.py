"""Random circuits under each transform, at angles where formulas are singular, against none.

The circuits repeat gates, undo them, and share parameters: two tracers may have equal values.
"""

import random
from functools import partial

import numpy as np
import pennylane as qml
import pytest
from pennylane import transforms

from diastase import qjit

engine = qml.device("default.qubit", wires=3)

ONE = [qml.H, qml.X, qml.Y, qml.Z, qml.S, qml.T, qml.SX]
ROTATIONS = [qml.RX, qml.RY, qml.RZ, qml.PhaseShift]
TWO = [qml.CNOT, qml.CZ, qml.SWAP, qml.CY]
CONTROLLED = [qml.CRX, qml.CRY, qml.CRZ, qml.IsingXX]

GATES = {"RX", "RY", "RZ", "CNOT", "GlobalPhase"}
PIPELINE = [
    transforms.commute_controlled,
    transforms.cancel_inverses,
    transforms.merge_rotations,
    transforms.single_qubit_fusion,
]
TRANSFORMS = {
    "cancel_inverses": transforms.cancel_inverses,
    "merge_rotations": transforms.merge_rotations,
    "commute_controlled": transforms.commute_controlled,
    "commute_controlled, left": partial(transforms.commute_controlled, direction="left"),
    "single_qubit_fusion": transforms.single_qubit_fusion,
    "undo_swaps": transforms.undo_swaps,
    "combine_global_phases": transforms.combine_global_phases,
    "compile": partial(transforms.compile, pipeline=PIPELINE, num_passes=2),
    "decompose": partial(transforms.decompose, gate_set=GATES),
    "split_non_commuting": transforms.split_non_commuting,
    "unitary_to_rot": transforms.unitary_to_rot,
}
ANGLES = [
    np.array([0.0, np.pi, np.pi / 2]),
    np.array([0.3, -0.3, 0.3]),
    np.array([2 * np.pi, 0.0, 1.1]),
    np.array([-np.pi / 2, np.pi / 2, np.pi]),
]


def random_circuit(seed, length=12):
    def circuit(angles):
        draw = random.Random(seed)
        for _ in range(length):
            apply_one(draw, angles)
        return qml.expval(qml.Z(0) @ qml.X(1)), qml.probs(wires=[0, 1, 2]), qml.expval(qml.Y(2))

    return circuit


def apply_one(draw, angles):
    wires, kind = draw.sample(range(3), 3), draw.randrange(8)
    first, second = angles[draw.randrange(3)], angles[draw.randrange(3)]
    rotation, gate = draw.choice(ROTATIONS), draw.choice(ONE)
    match kind:
        case 0:
            gate(wires[0])
        case 1:
            rotation(first, wires[0])
        case 2:
            qml.Rot(first, second, angles[0], wires[0])
        case 3:
            draw.choice(TWO)(wires[:2])
        case 4:
            draw.choice(CONTROLLED)(first, wires[:2])
        case 5:
            rotation(first, wires[0])
            qml.adjoint(rotation(second, wires[0]))
        case 6:
            gate(wires[0])
            qml.adjoint(gate(wires[0]))
        case _:
            qml.GlobalPhase(first)
            qml.Toffoli(wires)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_results_stay_as_they_are(name):
    for seed in (1, 2, 3):
        circuit = random_circuit(seed)
        compiled = qjit(TRANSFORMS[name](qml.QNode(circuit, engine)))
        for angles in ANGLES:
            expected = qml.QNode(circuit, engine)(angles)
            for leaf, wanted in zip(compiled(angles), expected, strict=True):
                np.testing.assert_allclose(leaf, wanted, atol=1e-7)
