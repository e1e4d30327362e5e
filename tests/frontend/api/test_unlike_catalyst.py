"""What means something else here than with Catalyst says so, where its programs are run."""

import contextlib

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

import diastase
from diastase import measure
from diastase.capture.pennylane_compat.compilers import UnlikeCatalystWarning

DEVICE = qml.device("lightning.qubit", wires=2)


@pytest.mark.parametrize("as_catalyst", [True, False])
def test_sums_of_outcomes(as_catalyst):
    @qml.qnode(DEVICE)
    def both():
        qml.X(0)
        qml.X(1)
        first, second = measure(0), measure(1)
        return first + second, first | second, first.astype(int) + second

    with contextlib.ExitStack() as stack:
        if as_catalyst:
            stack.enter_context(diastase.acting_as_catalyst())
            stack.enter_context(
                pytest.warns(UnlikeCatalystWarning, match="sum of two outcomes is 0, 1 or 2")
            )
        assert diastase.qjit(both)() == (2, True, 2)


@qml.qnode(DEVICE)
def two_arguments(x, y):
    qml.RX(2 * x, 0)
    qml.RY(y, 0)
    return qml.expval(qml.Z(0))


@qml.qnode(DEVICE)
def one_argument(x):
    qml.RX(x[0], 0)
    qml.RY(x[1], 0)
    return qml.expval(qml.Z(0))


@qml.qnode(DEVICE)
def twice_the_argument(x):
    qml.RX(2 * x[0], 0)
    qml.RY(x[1], 0)
    return qml.expval(qml.Z(0))


@pytest.mark.parametrize(
    ("circuit", "arguments"),
    [(two_arguments, (0.5, 0.6)), (twice_the_argument, (jnp.array([0.5, 0.6]),))],
)
def test_metric_tensors_by_the_argument(circuit, arguments):
    """Catalyst's are by the parameters of the gates: [[1/4, 0], [0, cos²(1)/4]]."""
    with diastase.acting_as_catalyst():
        with pytest.warns(UnlikeCatalystWarning, match="hybrid=False"):
            diastase.qjit(qml.metric_tensor(circuit))(*arguments)
        of_gates = diastase.qjit(qml.metric_tensor(circuit, hybrid=False))(*arguments)
    np.testing.assert_allclose(of_gates, np.diag([0.25, np.cos(1.0) ** 2 / 4]), atol=1e-12)


def test_nothing_is_said_where_both_metrics_are_the_same():
    argument = jnp.array([0.5, 0.6])
    with diastase.acting_as_catalyst():  # warnings are errors in tests
        found = diastase.qjit(qml.metric_tensor(one_argument))(argument)
    np.testing.assert_allclose(found, np.diag([0.25, np.cos(0.5) ** 2 / 4]), atol=1e-12)


def test_a_metric_by_what_is_no_array_is_refused_as_elsewhere():
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def turned(about):
        (qml.RX if about == "x" else qml.RY)(0.3, 0)
        return qml.expval(qml.Z(0))

    @diastase.qjit
    def about_x(scale):
        return scale * qml.metric_tensor(turned)("x")

    with diastase.acting_as_catalyst(), pytest.raises(TypeError, match="'x' of type") as error:
        about_x(1.0)
    with pytest.raises(TypeError, match="'x' of type") as elsewhere:
        about_x(1.0)
    assert str(error.value) == str(elsewhere.value)


def test_pennylanes_own_metric_tensor_on_jax_arrays():
    """It makes traces with names that are gone from `jax.core`."""
    found = qml.metric_tensor(two_arguments, argnums=(0, 1))(jnp.array(0.5), jnp.array(0.6))
    np.testing.assert_allclose(found, [1.0, np.cos(1.0) ** 2 / 4], atol=1e-10)


@pytest.mark.parametrize("decorator", ["default", "cases", "branches"])
def test_choices_have_only_the_decorators_that_add_branches(decorator):
    """A name of ours would take a branch and forget it."""
    choice = diastase.switch(1)(lambda: 10)
    condition = diastase.cond(True)(lambda: 10)
    assert not hasattr(choice, decorator)
    assert not hasattr(condition, decorator)


def test_devices_without_wires():
    @diastase.qjit
    @qml.qnode(qml.device("lightning.qubit"))
    def of_all(x):
        qml.RX(x, 0)
        qml.CNOT([0, 2])
        return qml.probs()

    @diastase.qjit
    @qml.qnode(qml.device("lightning.qubit"))
    def of_some(x):
        qml.RX(x, 0)
        qml.CNOT([0, 2])
        return qml.expval(qml.Z(2)), qml.probs(wires=[2])

    @diastase.qjit
    @qml.qnode(qml.device("lightning.qubit"))
    def in_a_row(x):
        qml.RX(x, 1)
        qml.CNOT([1, 0])
        return qml.probs()

    cosine, sine = np.cos(0.15) ** 2, np.sin(0.15) ** 2
    with diastase.acting_as_catalyst():
        with pytest.warns(UnlikeCatalystWarning, match="has those that the circuit names"):
            np.testing.assert_allclose(of_all(0.3), [cosine, 0, 0, sine])
        np.testing.assert_allclose(of_some(0.3)[1], [cosine, sine])  # warnings are errors
        np.testing.assert_allclose(in_a_row(0.3), [cosine, 0, 0, sine])


def samples_of_an_outcome():
    @qml.set_shots(3)
    @qml.qnode(DEVICE, mcm_method="one-shot")
    def circuit():
        qml.X(0)
        return qml.sample(measure(0))

    return circuit()


def halves_counted_down():
    total = 0
    for number in range(jnp.asarray(5), jnp.asarray(0), jnp.asarray(-1)):
        total = 2 * total + number
    return total


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (samples_of_an_outcome, [1, 1, 1]),
        (halves_counted_down, 5 * 16 + 4 * 8 + 3 * 4 + 2 * 2 + 1),
        (lambda: diastase.for_loop(0, jnp.asarray(3), 1)(lambda i, a: (a + 1,))(0), 3),
        (lambda: diastase.grad(lambda x: x * jax.lax.stop_gradient(x))(3.0), 3.0),
        (lambda: diastase.grad(lambda x: jnp.maximum(x, 0.0))(0.0), 0.5),
    ],
)
def test_what_the_guide_says_of_results(function, expected):
    """Of those rows that only say that we do as JAX, Python or PennyLane do."""
    found = diastase.qjit(autograph=True)(function)()
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(found, expected, atol=1e-12)
