"""CNOTs and rotations about Z with fewer CNOTs; what needs none fewer stays as it is."""

import numpy as np
import pennylane as qml


def drawn(count, wires):
    generator = np.random.default_rng(3)
    for place in range(count):
        yield place, [int(wire) for wire in generator.permutation(wires)[:2]]


def test_a_long_part_takes_fewer_cnots(left_by):
    def circuit(x):
        for wire in range(4):
            qml.RY(0.3 + wire, wire)
        for place, (one, other) in drawn(60, 4):
            qml.CNOT([one, other])
            if place % 3 == 0:
                qml.RZ(x * place, other)
            elif place % 3 == 1:
                qml.T(one)
        return qml.state()

    found = left_by("parity_synth", circuit, 0.3, wires=4)
    assert found.count("CNOT") < 40


def test_equal_parities_are_one_rotation(left_by):
    def circuit(x):
        qml.Hadamard(0)
        qml.Hadamard(1)
        qml.CNOT([0, 1])
        qml.RZ(x, 1)
        qml.CNOT([0, 1])
        qml.CNOT([0, 1])
        qml.S(1)
        qml.CNOT([0, 1])
        return qml.state()

    found = left_by("parity_synth", circuit, 0.3, wires=2)
    assert sorted(found) == ["CNOT", "CNOT", "Hadamard", "Hadamard", "RZ", "global_phase"]


def test_what_is_short_already_stays(left_by):
    def circuit(x):
        qml.Hadamard(0)
        qml.CNOT([0, 1])
        qml.RZ(x, 1)
        qml.CNOT([1, 2])
        return qml.state()

    assert left_by("parity_synth", circuit, 0.3) == ["Hadamard", "CNOT", "RZ", "CNOT"]
