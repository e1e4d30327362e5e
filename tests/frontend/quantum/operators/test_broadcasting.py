"""Parameters with a batch axis: the QNode's results gain it, as on default.qubit."""

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from pennylane import ops

from diastase import for_loop, measure, qjit
from diastase.capture.pennylane_compat import with_parameters
from diastase.capture.quantum_errors import BatchSizeError
from frontend.quantum.operators.examples import amplitudes, angles, unitary
from frontend.quantum.operators.test_operators import EXAMPLES

BATCH = 3
FORMS = {
    "plain": lambda operator: operator,
    "ctrl": lambda operator: qml.ctrl(operator, ["a", "b"], [1, 0], work_wires=["c"]),
    "adjoint": lambda operator: ops.Controlled(ops.Adjoint(operator), ["a"], [False]),
    "product": lambda operator: ops.Prod(ops.Controlled(operator, ["a"], [False]), qml.X("b")),
}
_X = angles(1, BATCH)


def _matrices():
    return qml.QubitUnitary(np.stack([unitary(k, 1) for k in range(BATCH)]), 0)


BODIES = {
    "rotation": lambda x: qml.RX(x, 0),
    "known": lambda x: qml.RX(_X, 0),
    "list": lambda x: qml.RX([0.1, 0.2, 0.3], 0),
    "two": lambda x: (qml.RX(x, 0), qml.RY(2 * x, 1), qml.RZ(0.3, 1)),
    "one of three": lambda x: qml.Rot(0.1, x, 0.3, wires=1),
    "controlled": lambda x: qml.ctrl(qml.RX(x, 0), [2, 1], control_values=[0, 1]),
    "adjoint": lambda x: qml.adjoint(qml.IsingXY(x, wires=[0, 2])),
    "product": lambda x: qml.prod(qml.RX(x, 0), qml.CNOT([0, 1])),
    "power of a product": lambda x: qml.pow(qml.prod(qml.RX(x, 0), qml.CNOT([0, 1])), 2),
    "exponential": lambda x: qml.exp(qml.X(0) @ qml.Y(1), 0.3j),
    "power": lambda x: qml.pow(qml.RX(x, 1), 3),
    "global phase": lambda x: qml.GlobalPhase(x),
    "Pauli word": lambda x: qml.PauliRot(x, "XY", wires=[2, 0]),
    "Z on many": lambda x: qml.MultiRZ(x, wires=[2, 0, 1]),
    "matrix": lambda x: qml.QubitUnitary(np.stack([unitary(k, 2) for k in range(BATCH)]), [0, 2]),
    "diagonal": lambda x: qml.DiagonalQubitUnitary(jnp.exp(1j * jnp.stack([x, -x], axis=1)), 0),
    "template": lambda x: qml.AngleEmbedding(jnp.stack([x, 2 * x], axis=1), wires=[0, 1]),
    "layers": lambda x: qml.BasicEntanglerLayers(
        jnp.ones((BATCH, 1, 3)) * x[:, None, None], [0, 1, 2]
    ),
    "state in the middle": lambda x: qml.StatePrep(
        np.stack([amplitudes(k, 2) for k in range(BATCH)]), wires=[2, 0]
    ),
    "phase shift": lambda x: qml.ControlledPhaseShift(x, wires=[0, 1]),
    "controlled matrix": lambda x: qml.ctrl(_matrices(), control=[1], control_values=[0]),
    "controlled matrix by name": lambda x: qml.ControlledQubitUnitary(
        np.stack([unitary(k, 1) for k in range(BATCH)]), [2, 1, 0], control_values=[0, 1]
    ),
    "select": lambda x: qml.Select(
        [_matrices(), qml.RX(x, 0), qml.RX(0.2, 0)], control=[1, 2]
    ),
    "change of basis": lambda x: qml.change_op_basis(qml.RX(x, 0), qml.CNOT([0, 1])),
    "evolution of a multiple": lambda x: qml.evolve(0.3 * qml.X(0) @ qml.Y(1), x),
    "power of a controlled exponential": lambda x: qml.pow(
        qml.ctrl(qml.exp(qml.X(0), 0.3j), 1, [0]), 2
    ),
    "batch of one": lambda x: qml.RX(x[:1], 0),
}  # fmt: skip


def _results(body, x):
    @qml.qnode(qml.device("default.qubit", wires=3))
    def circuit():
        for wire in range(3):
            qml.RY(0.4 + wire, wire)
        body(x)
        qml.CNOT([0, 1])
        observable = 0.5 * qml.X(0) @ qml.Y(1) + qml.Z(2)
        return qml.expval(observable), {"p": qml.probs(wires=[1, 2])}, [qml.var(qml.Z(0))]

    return circuit()


def _state(body, x):
    @qml.qnode(qml.device("default.qubit", wires=3))
    def circuit():
        qml.StatePrep(amplitudes(1, 3), wires=range(3))
        body(x)
        return qml.state()

    return circuit()


@pytest.mark.sample(2)
@pytest.mark.parametrize("names", [list(BODIES)[start::4] for start in range(4)], ids=str)
def test_results_gain_the_axis_of_the_batch(names):
    def program(x):
        return {name: (_results(BODIES[name], x), _state(BODIES[name], x)) for name in names}

    found, expected = qjit(program)(_X), program(_X)
    for name in names:
        ours, theirs = jax.tree.leaves(found[name]), jax.tree.leaves(expected[name])
        for result, wanted in zip(ours, theirs, strict=True):
            assert result.shape == np.shape(wanted), name
            np.testing.assert_allclose(result, wanted, atol=1e-10, err_msg=name)


def test_a_batch_first_in_a_circuit():
    @qml.qnode(qml.device("default.qubit", wires=2))
    def circuit(vectors):
        qml.StatePrep(vectors, wires=[1, 0])
        return qml.state()

    vectors = np.stack([amplitudes(k, 2) for k in range(BATCH)])
    np.testing.assert_allclose(qjit(circuit)(vectors), circuit(vectors), atol=1e-12)


def test_a_batch_inside_of_control_flow():
    def program(x, loop):
        @qml.qnode(qml.device("default.qubit", wires=2))
        def circuit():
            loop(lambda k: (qml.RX(x * (k + 1), 0), qml.CNOT([0, 1])))
            return qml.probs(wires=[0, 1])

        return circuit()

    def compiled_loop(body):
        @for_loop(0, 4, 1)
        def loop(k):
            body(k)

        loop()

    found = qjit(lambda x: program(x, compiled_loop))(_X)
    expected = program(_X, lambda body: [body(k) for k in range(4)])
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_the_size_of_a_batch_may_be_found_at_run_time():
    @qml.qnode(qml.device("default.qubit", wires=1))
    def circuit(x):
        qml.RX(x, 0)
        return qml.expval(qml.Z(0))

    compiled = qjit(circuit, abstracted_axes=("n",))
    for size in (1, 4, 7):
        x = angles(size, size)
        np.testing.assert_allclose(compiled(x), np.cos(x), atol=1e-12)


def test_outcomes_are_drawn_for_each_element():
    @qjit(seed=3)
    @qml.qnode(qml.device("default.qubit", wires=1))
    def circuit(x):
        qml.RX(x, 0)
        outcome = measure(0)
        return outcome, qml.expval(qml.Z(0))

    x = np.tile([0.0, np.pi], 20)
    outcomes, values = circuit(x)
    np.testing.assert_array_equal(outcomes, x > 1)
    np.testing.assert_allclose(values, 1 - 2 * outcomes)
    fair, _ = circuit(np.full(40, np.pi / 2))
    assert 5 < fair.sum() < 35


def test_samples_gain_the_axis():
    @qjit(seed=5)
    @qml.qnode(qml.device("default.qubit", wires=2), shots=100)
    def circuit(x):
        qml.RX(x, 0)
        return qml.sample(wires=[0, 1]), qml.expval(qml.Z(0))

    samples, values = circuit(np.array([0.0, np.pi, np.pi / 2]))
    assert samples.shape == (3, 100, 2)
    np.testing.assert_allclose(values[:2], [1, -1])
    np.testing.assert_allclose(values, 1 - 2 * samples[:, :, 0].mean(axis=1))


def test_a_batch_of_one_is_for_all_elements_and_an_empty_one_has_none():
    @qml.qnode(qml.device("default.qubit", wires=1))
    def circuit(x, y):
        qml.RX(x, 0)
        qml.RY(y, 0)
        return qml.expval(qml.Z(0))

    compiled = qjit(circuit)
    for x, y in ((_X[:1], _X), (_X, _X[1:2]), (_X[:1], _X[1:2])):
        np.testing.assert_allclose(compiled(x, y), circuit(x, y), atol=1e-12)
    assert compiled(_X[:0], 0.3).shape == (0,)
    assert compiled(_X[:0], _X[:0]).shape == (0,)


def test_sizes_that_differ_are_refused():
    @qml.qnode(qml.device("default.qubit", wires=1))
    def circuit(x):
        qml.RX(x, 0)
        qml.RY(x[:2], 0)
        return qml.expval(qml.Z(0))

    with pytest.raises(BatchSizeError, match=r"batch of 2 .* 3") as raised:
        qjit(circuit)(_X)
    assert raised.value.span.file == __file__


def test_operators_are_rebuilt_with_all_that_they_have():
    """Each class with a matrix or a form of its own, under controls, inverted, in products."""
    for name, example in EXAMPLES.items():
        for form, make in FORMS.items():
            operator = make(example.build(example.parameters, list(range(example.wires))))
            given: list[Any] = []

            def note(value, rank, given=given):
                given.append(value)
                return value

            rebuilt = with_parameters(operator, note)
            assert type(rebuilt) is type(operator), (name, form)
            missing = {id(value) for value in operator.data} - {id(value) for value in given}
            assert not missing, (name, form)
            for what in ("wires", "hyperparameters", "control_values", "work_wires", "data"):
                found, wanted = getattr(rebuilt, what, None), getattr(operator, what, None)
                assert _without_places(found) == _without_places(wanted), (name, form, what)


def _without_places(value):
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))
