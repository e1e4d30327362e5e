"""`pauli_measure` against projectors on the eigenspaces of Pauli words."""

import numpy as np
import pennylane as qml
import pytest

import diastase
from diastase import cond, pauli_measure, qjit
from diastase.capture.quantum_errors import OutsideQNodeError, ParameterTypeError

WORDS = [("X", [1]), ("Y", [0]), ("ZZ", [2, 0]), ("XY", [0, 3]), ("YZX", [3, 1, 2]),
         ("XYZY", [0, 1, 2, 3])]  # fmt: skip


def projected(state, word, wires, outcome):
    """The state after an outcome, and the outcome's probability."""
    product = qml.prod(*(getattr(qml, p)(w) for p, w in zip(word, wires, strict=True)))
    matrix = qml.matrix(product, wire_order=range(4))
    after = (state + (-1) ** outcome * matrix @ state) / 2
    chance = np.linalg.norm(after) ** 2
    return after / np.sqrt(chance), chance


@pytest.mark.sample(3)
@pytest.mark.parametrize(("word", "wires"), WORDS)
def test_collapse(word, wires, prepared, final_state):
    @qml.qnode(qml.device("lightning.qubit", wires=4), mcm_method="deferred")
    def probability():
        prepared()
        return qml.probs(op=qml.pauli_measure(word, wires))

    @qml.qnode(qml.device("lightning.qubit", wires=4))
    def circuit(outcome):
        prepared()
        pauli_measure(word, wires, postselect=outcome)
        again = pauli_measure(word, wires)
        return qml.state(), again

    def program():
        return probability(), circuit(0), circuit(1)

    probs, *branches = qjit(program)()
    for outcome, (state, again) in enumerate(branches):
        wanted, chance = projected(final_state, word, wires, outcome)
        np.testing.assert_allclose(probs[outcome], chance, atol=1e-12)
        np.testing.assert_allclose(state, wanted, atol=1e-12)
        assert again == outcome


def test_parity_checks_of_a_repetition_code():
    """Syndromes find the flipped qubit, and leave the encoded state alone."""

    @qml.qnode(qml.device("lightning.qubit", wires=3), shots=200)
    def circuit(flipped):
        qml.RY(0.8, 0)
        qml.CNOT([0, 1])
        qml.CNOT([0, 2])
        qml.X(flipped)
        first = pauli_measure("ZZ", [0, 1])
        second = pauli_measure("ZZ", [1, 2])
        cond(first & ~second)(lambda: qml.X(0))()
        cond(first & second)(lambda: qml.X(1))()
        cond(~first & second)(lambda: qml.X(2))()
        qml.CNOT([0, 2])
        qml.CNOT([0, 1])
        qml.RY(-0.8, 0)
        return qml.counts(), qml.sample([first, second])

    program = qjit(circuit)
    for flipped, syndrome in enumerate([(1, 0), (1, 1), (0, 1)]):
        counts, syndromes = program(flipped)
        assert counts == {"000": 200}
        assert (syndromes == np.array(syndrome)).all()


def test_outside_of_our_programs_it_is_pennylanes():
    with qml.queuing.AnnotatedQueue() as queue:
        outcome = qml.pauli_measure("XY", [0, 1])
    assert [operator.name for operator in queue.queue] == ["PauliMeasure"]
    assert outcome.measurements[0].pauli_word == "XY"
    assert "pauli_measure" in diastase.__all__


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("XI", [0, 1]), "letters X, Y and Z"), (("", []), "letters X, Y and Z"),
     (("XX", [0]), "on 1 wires"), (("X", 0, 2), "postselect is 0, 1 or None")],
)  # fmt: skip
def test_bad_arguments(arguments, message):
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def circuit():
        pauli_measure(*arguments)
        return qml.probs()

    with pytest.raises(ParameterTypeError, match=message):
        qjit(circuit)()


def test_outside_of_a_qnode():
    with pytest.raises(OutsideQNodeError, match="pauli_measure"):
        qjit(lambda: pauli_measure("X", 0))()
