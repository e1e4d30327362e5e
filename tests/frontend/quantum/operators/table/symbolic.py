"""Operators made of other operators."""

import numpy as np
import pennylane as qml
from pennylane import ops

from frontend.quantum.operators.examples import Table, angles, example, unitary


def _hamiltonian(p, w):
    return qml.dot(list(p), [qml.X(w[0]), qml.Z(w[0]) @ qml.Z(w[1]), qml.Y(w[1])])


SYMBOLIC: Table = {
    "Adjoint": example(lambda p, w: ops.Adjoint(qml.RX(p[0], w[0])), 1, 0.3),
    "Adjoint:of a template": example(lambda p, w: ops.Adjoint(qml.QFT(w)), 3),
    "Adjoint:of a product": example(
        lambda p, w: ops.Adjoint(qml.prod(qml.RX(p[0], w[0]), qml.CNOT(w), qml.S(w[1]))), 2, 0.3
    ),
    "Controlled": example(
        lambda p, w: ops.Controlled(qml.Rot(*p, w[2]), w[:2], [True, False]), 3, 0.1, 0.2, 0.3
    ),
    "Controlled:of an adjoint": example(
        lambda p, w: ops.Controlled(ops.Adjoint(qml.IsingXY(p[0], w[1:])), w[0]), 3, 0.1
    ),
    "ControlledOp": example(
        lambda p, w: ops.ControlledOp(qml.IsingXX(p[0], w[1:]), w[0], [False]), 3, 0.4
    ),
    "Pow": example(lambda p, w: ops.Pow(qml.RX(p[0], w[0]), 3), 1, 0.3),
    "Pow:fraction": example(lambda p, w: ops.Pow(qml.RX(p[0], w[0]), 0.3), 1, 0.3),
    "Pow:traced": example(lambda p, w: ops.Pow(qml.X(w[0]), p[0]), 1, 0.3),
    "Pow:traced of a rotation": example(lambda p, w: ops.Pow(qml.RY(p[1], w[0]), p[0]), 1, 1.7, 2),
    "Pow:square root": example(lambda p, w: ops.Pow(qml.SWAP(w), 0.5), 2),
    "Pow:negative": example(lambda p, w: ops.Pow(qml.QFT(w), -2), 2),
    "Pow:of a matrix": example(
        lambda p, w: ops.Pow(qml.QubitUnitary(p[0], w), 0.4), 2, unitary(3, 2)
    ),
    "Pow:of a product": example(
        lambda p, w: ops.Pow(qml.prod(qml.RX(p[0], w[0]), qml.CNOT(w)), 2), 2, 0.7
    ),
    "Prod": example(
        lambda p, w: ops.Prod(qml.RX(p[0], w[0]), qml.CNOT(w), qml.RY(p[1], w[1])), 2, 0.3, 0.4
    ),
    "Prod:overlapping": example(
        lambda p, w: ops.Prod(qml.X(w[0]), qml.RZ(p[0], w[0]), qml.Y(w[0])), 1, 0.3
    ),
    "Exp": example(lambda p, w: ops.Exp(qml.X(w[0]) @ qml.Y(w[1]), 1j * p[0]), 2, 0.3),
    "Exp:one wire": example(lambda p, w: ops.Exp(qml.Z(w[0]), -1j * p[0]), 1, 0.3),
    "Exp:of a multiple": example(
        lambda p, w: ops.Exp(p[1] * (qml.X(w[0]) @ qml.Y(w[1])), 1j * p[0]), 2, 0.3, 0.8
    ),
    "Exp:of a sum": example(
        lambda p, w: ops.Exp(_hamiltonian(p[1:], w), -1j * p[0]), 2, 0.3, 0.4, 0.5, 0.6
    ),
    "Exp:of a Hermitian": example(
        lambda p, w: ops.Exp(qml.Hermitian(p[1], w), -1j * p[0]),
        2,
        0.3,
        unitary(3, 2) + unitary(3, 2).conj().T,
    ),
    "Exp:Hadamard": example(lambda p, w: ops.Exp(qml.Hadamard(w[0]), 1j * p[0]), 1, 0.3),
    "Evolution": example(lambda p, w: ops.Evolution(qml.X(w[0]) @ qml.Z(w[1]), p[0]), 2, 0.3),
    "Evolution:of a long word": example(
        lambda p, w: ops.Evolution(p[1] * qml.prod(*map(qml.X, w[:3]), *map(qml.Z, w[3:])), p[0]),
        6, 0.3, 0.7,
    ),
    "Exp:of a long word": example(
        lambda p, w: ops.Exp(qml.prod(*map(qml.Y, w[:2]), *map(qml.Z, w[2:])), 1j * p[0]),
        6, 0.3
    ),
    "Exp:not unitary": example(lambda p, w: ops.Exp(qml.X(w[0]) @ qml.Y(w[1]), p[0]), 2, 0.3),
    "Evolution:of a sum": example(
        lambda p, w: ops.Evolution(_hamiltonian(p[1:], w), p[0]), 2, 0.3, 0.4, 0.5, 0.6
    ),
    "ChangeOpBasis": example(
        lambda p, w: ops.ChangeOpBasis(qml.RX(p[0], w[0]), qml.CNOT(w)), 2, 0.3
    ),
    "ChangeOpBasis:given": example(
        lambda p, w: ops.ChangeOpBasis(qml.RX(p[0], w[0]), qml.CNOT(w), qml.RY(p[0], w[0])), 2, 0.3
    ),
    "Exp:of a linear combination": example(
        lambda p, w: ops.Exp(ops.LinearCombination([p[0]], [qml.X(w[0])]), 1j), 1, 0.3
    ),
}  # fmt: skip

TIME: Table = {
    "ApproxTimeEvolution": example(
        lambda p, w: qml.ApproxTimeEvolution(_hamiltonian(p[1:], w), p[0], 2), 2, 0.3, 0.4, 0.5, 0.6
    ),
    "CommutingEvolution": example(
        lambda p, w: qml.CommutingEvolution(
            qml.dot([0.5, 0.6], [qml.X(w[0]) @ qml.X(w[1]), qml.Y(w[0]) @ qml.Y(w[1])]), p[0]
        ),
        2,
        0.3,
    ),
    "QDrift": example(
        lambda p, w: qml.QDrift(_hamiltonian((0.4, 0.5, 0.6), w), p[0], n=3, seed=7), 2, 0.3
    ),
    "TrotterProduct": example(
        lambda p, w: qml.TrotterProduct(_hamiltonian(p[1:], w), p[0], n=2, order=2),
        2, 0.3, 0.4, 0.5, 0.6,
    ),
    "TrotterProduct:fourth order": example(
        lambda p, w: qml.TrotterProduct(_hamiltonian(p[1:], w), p[0], n=1, order=4),
        2, 0.3, 0.4, 0.5, 0.6,
    ),
    "TrotterizedQfunc": example(
        lambda p, w: qml.trotterize(_first_order, n=2, order=2)(p[0], p[1], p[2], wires=w),
        2, 0.3, 0.4, 0.5,
    ),
}  # fmt: skip


def _first_order(time, first, second, wires):
    qml.RX(first * time, wires[0])
    qml.IsingXY(second * time, wires=wires[:2])


SEQUENCES: Table = {
    "ControlledSequence": example(
        lambda p, w: qml.ControlledSequence(qml.RX(p[0], w[0]), control=w[1:]), 3, 0.3
    ),
    "Select": example(
        lambda p, w: qml.Select(
            [qml.RX(p[0], w[0]), qml.Y(w[0]), qml.S(w[0]), qml.RZ(p[1], w[0])], control=w[1:]
        ),
        3, 0.3, 0.4,
    ),
    "Select:three": example(
        lambda p, w: qml.Select([qml.RX(p[0], w[0]), qml.Y(w[0]), qml.S(w[0])], control=w[1:]),
        3, 0.3,
    ),
    "SelectPauliRot": example(
        lambda p, w: qml.SelectPauliRot(p[0], w[:2], w[2], rot_axis="Y"), 3, angles(4, 4)
    ),
    "QuantumPhaseEstimation": example(
        lambda p, w: qml.QuantumPhaseEstimation(qml.RZ(p[0], w[0]), estimation_wires=w[1:]), 3, 0.3
    ),
    "QuantumPhaseEstimation:matrix": example(
        lambda p, w: qml.QuantumPhaseEstimation(p[0], target_wires=w[:1], estimation_wires=w[1:]),
        3, unitary(2, 1),
    ),
    "PrepSelPrep": example(
        lambda p, w: qml.PrepSelPrep(
            qml.dot([0.3, -0.1], [qml.X(w[0]), qml.Z(w[0])]), control=w[1:]
        ),
        2,
    ),
    "Qubitization": example(
        lambda p, w: qml.Qubitization(
            qml.dot([0.3, -0.1], [qml.X(w[0]), qml.Z(w[0])]), control=w[1:]
        ),
        2,
    ),
    "Reflection": example(lambda p, w: qml.Reflection(qml.QFT(w), p[0]), 2, 0.4),
    "AmplitudeAmplification": example(
        lambda p, w: qml.AmplitudeAmplification(qml.QFT(w), qml.FlipSign(1, w), iters=2), 2
    ),
    "AmplitudeAmplification:fixed point": example(
        lambda p, w: qml.AmplitudeAmplification(
            qml.QFT(w[:2]), qml.FlipSign(1, w[:2]), iters=2, fixed_point=True, work_wire=w[2]
        ),
        3,
    ),
    "GQSP": example(lambda p, w: qml.GQSP(qml.RX(p[0], w[0]), p[1], control=w[1]), 2, 0.3,
                    angles(2, 3, 3)),
    "QSVT": example(
        lambda p, w: qml.QSVT(
            qml.BlockEncode(p[0], w), [qml.PCPhase(p[1] + k, dim=2, wires=w) for k in range(3)]
        ),
        2, np.array([[0.1, 0.2], [0.3, 0.4]]), 0.7,
    ),
    "HilbertSchmidt": example(
        lambda p, w: qml.HilbertSchmidt(qml.RZ(p[0], w[0]), qml.Hadamard(w[1])), 2, 0.3
    ),
    "LocalHilbertSchmidt": example(
        lambda p, w: qml.LocalHilbertSchmidt(
            [qml.RZ(p[0], w[0]), qml.CNOT(w[:2])], [qml.CZ(w[2:]), qml.S(w[2])]
        ),
        4, 0.3,
    ),
    "QuantumMonteCarlo": example(
        lambda p, w: qml.QuantumMonteCarlo(
            np.array([0.2, 0.3, 0.1, 0.4]), lambda i: i / 5, w[:3], w[3:]
        ),
        5,
    ),
}  # fmt: skip
