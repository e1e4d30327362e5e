"""Gates with a name and a fixed number of wires, and gates given by matrices."""

import numpy as np
import pennylane as qml

from frontend.quantum.operators.examples import Table, angles, example, unitary


def _named(name: str, wires: int, parameters: int = 0) -> Table:
    gate = getattr(qml, name)
    if wires == 1:
        build = lambda p, w: gate(*p, wires=w[0])  # noqa: E731
    else:
        build = lambda p, w: gate(*p, wires=w)  # noqa: E731
    return {name: example(build, wires, *angles(len(name), parameters))}


_SHAPES = {
    (1, 0): "Identity Hadamard PauliX PauliY PauliZ S T SX",
    (1, 1): "RX RY RZ PhaseShift U1",
    (1, 2): "U2",
    (1, 3): "U3 Rot",
    (2, 0): "CNOT CY CZ CH SWAP ISWAP SISWAP ECR",
    (2, 1): (
        "CRX CRY CRZ ControlledPhaseShift CPhaseShift00 CPhaseShift01 CPhaseShift10 IsingXX"
        " IsingXY IsingYY IsingZZ PSWAP SingleExcitation SingleExcitationMinus"
        " SingleExcitationPlus FermionicSWAP"
    ),
    (2, 3): "CRot",
    (3, 0): "CCZ CSWAP Toffoli QubitSum",
    (4, 0): "QubitCarry",
    (4, 1): "DoubleExcitation DoubleExcitationMinus DoubleExcitationPlus OrbitalRotation",
}

NAMED: Table = {
    name: row
    for (wires, parameters), names in _SHAPES.items()
    for name in names.split()
    for row in _named(name, wires, parameters).values()
}

OTHER: Table = {
    "GlobalPhase": example(lambda p, w: qml.GlobalPhase(p[0]), 0, 0.4),
    "GlobalPhase:on a wire": example(lambda p, w: qml.GlobalPhase(p[0], wires=w), 2, 0.4),
    "Identity:several wires": example(lambda p, w: qml.Identity(wires=w), 3),
    "MultiRZ": example(lambda p, w: qml.MultiRZ(p[0], wires=w), 3, 0.7),
    "MultiRZ:one wire": example(lambda p, w: qml.MultiRZ(p[0], wires=w), 1, 0.7),
    "PauliRot": example(lambda p, w: qml.PauliRot(p[0], "XYZ", wires=w), 3, 0.7),
    "PauliRot:with an identity": example(lambda p, w: qml.PauliRot(p[0], "YIX", wires=w), 3, 0.7),
    "PauliRot:identity": example(lambda p, w: qml.PauliRot(p[0], "II", wires=w), 2, 0.7),
    "PauliRot:one wire": example(lambda p, w: qml.PauliRot(p[0], "Y", wires=w), 1, 0.7),
    "PCPhase": example(lambda p, w: qml.PCPhase(p[0], dim=3, wires=w), 2, 0.7),
    "PCPhase:three wires": example(lambda p, w: qml.PCPhase(p[0], dim=5, wires=w), 3, 0.7),
    "PCPhase:none": example(lambda p, w: qml.PCPhase(p[0], dim=0, wires=w), 2, 0.7),
    "PCPhase:all": example(lambda p, w: qml.PCPhase(p[0], dim=4, wires=w), 2, 0.7),
    "MultiControlledX": example(
        lambda p, w: qml.MultiControlledX(wires=w, control_values=[True, False, True]), 4
    ),
    "MultiControlledX:one control": example(
        lambda p, w: qml.MultiControlledX(wires=w, control_values=[False]), 2
    ),
    "IntegerComparator": example(lambda p, w: qml.IntegerComparator(2, wires=w), 4),
    "IntegerComparator:less": example(lambda p, w: qml.IntegerComparator(3, wires=w, geq=False), 3),
    "Barrier": example(lambda p, w: qml.Barrier(wires=w), 2),
    "Barrier:only visual": example(lambda p, w: qml.Barrier(wires=w, only_visual=True), 2),
    "WireCut": example(lambda p, w: qml.WireCut(wires=w), 1),
    "Snapshot": example(lambda p, w: qml.Snapshot("here"), 0),
}

MATRICES: Table = {
    "QubitUnitary": example(lambda p, w: qml.QubitUnitary(p[0], wires=w), 1, unitary(1, 1)),
    "QubitUnitary:two wires": example(
        lambda p, w: qml.QubitUnitary(p[0], wires=w), 2, unitary(2, 2)
    ),
    "QubitUnitary:four wires": example(
        lambda p, w: qml.QubitUnitary(p[0], wires=w), 4, unitary(4, 4)
    ),
    "ControlledQubitUnitary": example(
        lambda p, w: qml.ControlledQubitUnitary(p[0], wires=w, control_values=[0, 1]),
        4,
        unitary(3, 2),
    ),
    "DiagonalQubitUnitary": example(
        lambda p, w: qml.DiagonalQubitUnitary(p[0], wires=w), 1, np.exp(1j * angles(1, 2))
    ),
    "DiagonalQubitUnitary:three wires": example(
        lambda p, w: qml.DiagonalQubitUnitary(p[0], wires=w), 3, np.exp(1j * angles(3, 8))
    ),
    "BlockEncode": example(
        lambda p, w: qml.BlockEncode(p[0], wires=w), 2, np.array([[0.1, 0.2], [0.3, 0.4]])
    ),
    "BlockEncode:number": example(lambda p, w: qml.BlockEncode(p[0], wires=w), 1, 0.3),
    "BlockEncode:rectangle": example(
        lambda p, w: qml.BlockEncode(p[0], wires=w), 3, np.array([[0.1, 0.2, 0.3]])
    ),
    "SpecialUnitary": example(lambda p, w: qml.SpecialUnitary(p[0], wires=w), 1, angles(5, 3)),
    "SpecialUnitary:two wires": example(
        lambda p, w: qml.SpecialUnitary(p[0], wires=w), 2, angles(6, 15)
    ),
}
