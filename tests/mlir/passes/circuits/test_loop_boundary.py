"""Gates at the two ends of loops meet, and gates elsewhere stay."""

import pennylane as qml

from diastase import for_loop


def test_ends_of_a_loop_meet_and_neighbours_stay(left_by):
    def circuit(x, n):
        qml.S(1)
        qml.adjoint(qml.S(1))

        def body(i):
            qml.Hadamard(0)
            qml.RX(x, 1)
            qml.CNOT([0, 1])
            qml.RX(x, 1)
            qml.Hadamard(0)

        for_loop(0, n, 1)(body)()
        return qml.state()

    for turns in (0, 1, 4):
        found = left_by("loop_boundary", circuit, 0.3, turns, wires=2)
        neighbours = ["S", "Adjoint(S)"]
        assert sorted(found) == sorted([*neighbours, *["Hadamard", "RX"] * 2, "CNOT", "RX"])
