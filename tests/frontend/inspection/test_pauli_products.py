"""Layers of Pauli words: against a search, one operation after the other; `ppm_specs`."""

import math

import pennylane as qml
import pytest
import sympy
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from diastase import for_loop, measure, passes, qjit

PI8, PI4 = math.pi / 4, math.pi / 2
device = qml.device("lightning.qubit", wires=3)
n = sympy.Symbol("n")
WORDS = [("X", [0]), ("Z", [1]), ("ZZ", [0, 1]), ("XX", [1, 2]), ("XYZ", [2, 0, 1]), ("YY", [0, 2])]


def compiled(function):
    return qjit(qml.qnode(device)(function))


def commute(one, other):
    mine, theirs = (dict(zip(wires, word, strict=True)) for word, wires in (one, other))
    return sum(mine[w] != theirs[w] for w in mine.keys() & theirs.keys()) % 2 == 0


def layers(words, counted):
    """The most counted words that have to wait for each other."""
    chains = []
    for word, counts in zip(words, counted, strict=True):
        before = [chain for other, chain in chains if not commute(word, other)]
        chains.append((word, counts + max(before, default=0)))
    return max(chain for _, chain in chains)


rotations = st.tuples(st.sampled_from(WORDS), st.sampled_from([PI8, PI8, PI4]))


@given(st.lists(rotations, min_size=1, max_size=5), st.lists(rotations, max_size=3))
@settings(max_examples=15, deadline=None, derandomize=True, phases=[Phase.generate])
def test_layers(repeated, last):
    def circuit(n):
        @for_loop(0, n, 1)
        def loop(i):
            for (word, wires), angle in repeated:
                qml.PauliRot(angle, word, wires)

        loop()
        for (word, wires), angle in last:
            qml.PauliRot(angle, word, wires)
        return qml.expval(qml.Z(0))

    specs = qml.specs(compiled(circuit))(3)
    kinds = passes.ppm_specs(compiled(circuit), 3)["circuit_0"]
    for number in (1, 3, 40):
        unrolled = repeated * number + last
        words = [word for word, _ in unrolled]
        exact = specs.subs(n=number).resources
        assert exact.pauli_depth == layers(words, [1] * len(words))
        assert sum(exact.pauli_counts.values()) == exact.num_gates == len(words)
        assert at(specs.resources.pauli_depth, number) >= exact.pauli_depth
        for kind, angle in (("pi8", PI8), ("pi4", PI4)):
            counted = [each == angle for _, each in unrolled]
            assert at(kinds.get(f"{kind}_ppr", 0), number) == sum(counted)
            if any(counted):
                depth = at(kinds[f"depth_{kind}_ppr"], number)
                assert depth >= layers(words, counted)
                weights = [
                    len(word) for (word, _), kept in zip(words, counted, strict=True) if kept
                ]
                assert kinds[f"max_weight_{kind}"] == max(weights)


def at(number, value):
    return sympy.sympify(number).subs(n, value)


@pytest.mark.parametrize(
    ("angle", "kind"),
    [
        (PI8, "pi8"), (-3 * PI8, "pi8"), (PI4, "pi4"), (math.pi, "pi2"), (0.3, "arbitrary"),
    ],
)  # fmt: skip
def test_kinds_of_rotations(angle, kind):
    @compiled
    def circuit(x):
        qml.PauliRot(angle, "XY", [0, 1])
        qml.PauliRot(x, "XY", [0, 1])
        return qml.expval(qml.Z(0))

    counts = qml.specs(circuit)(0.3).resources.pauli_counts
    assert counts == ({"arbitrary": 2} if kind == "arbitrary" else {kind: 1, "arbitrary": 1})


def test_ppm_specs():
    @compiled
    def circuit(n):
        @for_loop(0, n, 1)
        def loop(i):
            qml.PauliRot(PI8, "ZX", [0, 1])
            qml.PauliRot(PI8, "XX", [0, 1])

        loop()
        qml.PauliRot(PI8, "Z", [2])
        qml.pauli_measure("XYZ", [0, 1, 2])
        measure(0)
        return qml.expval(qml.Z(0))

    wanted = {
        "depth_pi8_ppr": 2 * n, "depth_ppm": 2, "logical_qubits": 3, "max_weight_pi8": 2,
        "num_of_ppm": 2, "pi8_ppr": 2 * n + 1,
    }  # fmt: skip
    found = passes.ppm_specs(circuit, 3)["circuit_0"]
    assert list(found) == sorted(found)
    assert found | {"depth_pi8_ppr": 2 * n} == wanted
    assert found["depth_pi8_ppr"].subs(n, 4) == 8
    circuit(2)
    assert passes.ppm_specs(circuit) == {"circuit_0": found}
    resources = qml.specs(circuit)(3).resources
    assert resources.gate_types == {"PauliRot": 2 * n + 1, "PauliMeasure": 1, "MidMeasureMP": 1}
    assert "Pauli products: pi8: 2*n + 1, ppm: 2\n" in str(resources)
