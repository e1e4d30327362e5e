"""Fourier transforms, arithmetic, memories and other subroutines."""

import numpy as np
import pennylane as qml

from frontend.quantum.operators.examples import Table, angles, example

SUBROUTINES: Table = {
    "QFT": example(lambda p, w: qml.QFT(wires=w), 3),
    "AQFT": example(lambda p, w: qml.AQFT(order=1, wires=w), 3),
    "ArbitraryUnitary": example(lambda p, w: qml.ArbitraryUnitary(p[0], wires=w), 2, angles(1, 15)),
    "FABLE": example(lambda p, w: qml.FABLE(np.array([[0.1, 0.2], [0.3, -0.2]]), wires=w), 3),
    "FlipSign": example(lambda p, w: qml.FlipSign([1, 0], wires=w), 2),
    "FlipSign:number": example(lambda p, w: qml.FlipSign(5, wires=w), 3),
    "GroverOperator": example(lambda p, w: qml.GroverOperator(wires=w), 3),
    "Permute": example(lambda p, w: qml.Permute([w[2], w[0], w[1]], wires=w), 3),
    "TemporaryAND": example(lambda p, w: qml.TemporaryAND(w, control_values=(1, 0)), 3),
}

ARITHMETIC: Table = {
    "PhaseAdder": example(lambda p, w: qml.PhaseAdder(3, w), 3),
    "PhaseAdder:modulus": example(lambda p, w: qml.PhaseAdder(3, w[:3], mod=5, work_wire=w[3]), 4),
    "Adder": example(lambda p, w: qml.Adder(3, w), 2),
    "Adder:modulus": example(lambda p, w: qml.Adder(3, w[:3], 5, w[3:]), 5),
    "SemiAdder": example(lambda p, w: qml.SemiAdder(w[:2], w[2:4], w[4:]), 5),
    "Multiplier": example(lambda p, w: qml.Multiplier(3, w[:2], 4, w[2:]), 4),
    "OutAdder": example(lambda p, w: qml.OutAdder(w[:1], w[1:3], w[3:]), 5),
    "OutMultiplier": example(lambda p, w: qml.OutMultiplier(w[:1], w[1:2], w[2:]), 4),
    "OutPoly": example(
        lambda p, w: qml.OutPoly(lambda x, y: x * x + 2 * y, [w[:1], w[1:2]], w[2:4]), 4
    ),
    "ModExp": example(lambda p, w: qml.ModExp(w[:1], w[1:3], 3, 4, w[3:]), 5),
}

MEMORIES: Table = {
    "QROM": example(lambda p, w: qml.QROM(["010", "111", "110", "000"], w[:2], w[2:], None), 5),
    "QROM:work wires": example(
        lambda p, w: qml.QROM(["01", "11", "10", "00"], w[:2], w[2:4], w[4:]), 6
    ),
    "BBQRAM": example(lambda p, w: qml.BBQRAM(["0", "1"], w[:1], w[1:2], w[2:6]), 6),
    "SelectOnlyQRAM": example(
        lambda p, w: qml.SelectOnlyQRAM(["01", "11", "10", "00"], w[:2], w[2:4]), 4
    ),
    "HybridQRAM": example(lambda p, w: qml.HybridQRAM(["0", "1"], w[:1], w[1:2], w[2:7], 0), 7),
}
