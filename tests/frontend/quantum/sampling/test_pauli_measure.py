"""`pauli_measure` against projectors on the eigenspaces of Pauli words."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

import diastase
from diastase import cond, pauli_measure, qjit
from diastase.capture.quantum_errors import (
    MeasurementInsideError,
    OutsideQNodeError,
    ParameterTypeError,
)
from diastase_runtime.errors import OverlappingWiresError

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


def test_it_is_one_operation():
    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=4))
    def circuit(wire):
        return pauli_measure("XYZ", [wire, 1, 2]), pauli_measure("Z", 0), qml.expval(qml.X(1))

    circuit(0)
    text = str(circuit.jaxpr)
    assert (text.count("measure["), text.count("gate[")) == (2, 0)
    assert "word=XYZ" in text
    assert circuit.mlir.count("quantum.measure") == 2


def averaged(word, wires, x):
    """The average after a measurement whose outcome decides, by projectors."""

    @qml.qnode(qml.device("default.qubit", wires=4))
    def before(x):
        qml.RY(x, 0)
        qml.RX(0.4 + x, 1)
        qml.CNOT([0, 2])
        qml.CRX(x, [1, 3])
        return qml.state()

    total = 0.0
    for outcome in (0, 1):
        state, chance = projected(before(x), word, wires, outcome)
        if outcome:
            state = qml.matrix(qml.RY(x, 0), wire_order=range(4)) @ state
        matrix = qml.matrix(qml.Z(0) @ qml.Y(1), wire_order=range(4))
        total += chance * np.vdot(state, matrix @ state).real
    return total


@pytest.mark.parametrize("method", ["backprop", "parameter-shift"])
@pytest.mark.parametrize(("word", "wires"), [("X", [1]), ("ZY", [0, 1]), ("XZY", [3, 1, 0])])
def test_averages_and_their_derivatives(word, wires, method):
    """All outcomes in turn; a traced wire; the derivative follows given outcomes."""

    @qml.qnode(
        qml.device("default.qubit", wires=4), mcm_method="tree-traversal", diff_method=method
    )
    def circuit(x, first):
        qml.RY(x, 0)
        qml.RX(0.4 + x, 1)
        qml.CNOT([0, 2])
        qml.CRX(x, [1, 3])
        outcome = pauli_measure(word, [first, *wires[1:]])
        cond(outcome)(lambda: qml.RY(x, 0))()
        return qml.expval(qml.Z(0) @ qml.Y(1))

    x, step = 0.7, 1e-5
    value, slope = qjit(diastase.value_and_grad(circuit))(x, wires[0])
    np.testing.assert_allclose(value, averaged(word, wires, x), atol=1e-10)
    wanted = averaged(word, wires, x + step) - averaged(word, wires, x - step)
    np.testing.assert_allclose(slope, wanted / (2 * step), atol=1e-7)


def test_vmap_loops_and_passes():
    """Repeated in a loop the first outcome stays; a pass on circuits keeps the measurement."""

    @diastase.passes.cancel_inverses
    @qml.qnode(qml.device("lightning.qubit", wires=4))
    def circuit(x):
        qml.RY(x, 0)
        qml.Hadamard(1)
        qml.Hadamard(1)
        first = pauli_measure("XY", [0, 1])
        same = diastase.for_loop(0, 3, 1)(
            lambda _, same: same & (pauli_measure("YX", [1, 0]) == first)
        )(True)
        qml.Hadamard(1)
        return first, same, qml.expval(qml.X(0) @ qml.Y(1))

    program = qjit(jax.vmap(circuit), seed=5)
    first, same, values = program(jnp.linspace(0.1, 3.0, 12))
    assert same.all()
    assert set(np.asarray(first)) == {False, True}
    # H turned Y of wire 1 round.
    np.testing.assert_allclose(values, np.where(first, 1.0, -1.0), atol=1e-12)
    assert str(program.jaxpr).count("Hadamard") == 1


def test_overlapping_wires():
    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=3))
    def circuit(wire):
        return pauli_measure("XY", [0, wire])

    with pytest.raises(OverlappingWiresError, match="measure"):
        circuit(0)


def test_it_has_no_inverse():
    @qml.qnode(qml.device("lightning.qubit", wires=3))
    def circuit():
        diastase.adjoint(lambda: [pauli_measure("XY", [0, 1]), None][1])()
        return qml.probs()

    with pytest.raises(MeasurementInsideError, match="pauli_measure is called"):
        qjit(circuit)()


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
