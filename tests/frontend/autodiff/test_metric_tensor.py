"""The metric of states beside its definition on `default.qubit`, and beside PennyLane's own."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import for_loop, measure, qjit
from diastase.capture.device_errors import UnsupportedTransformError
from diastase.errors import DiastaseError

DEVICE = qml.device("default.qubit", wires=3)
WITH_AUXILIARY = qml.device("default.qubit", wires=4)
P, Q = jnp.array([0.3, 0.7, -0.4]), jnp.array(1.3)


def single_parameters(p, q):
    qml.RY(0.4, 0)
    qml.RX(p[0] * q, 0)
    qml.RY(p[1], 1)
    qml.CNOT([0, 1])
    qml.RZ(p[2] ** 2, 1)
    qml.RX(p[0], 0)
    qml.CNOT([1, 2])
    qml.RY(p[1] + p[2], 2)
    qml.RZ(q, 0)


def many_gates(p, q):
    qml.StatePrep(jnp.array([0.6, 0.8j]), 2)
    single_parameters(p, q)
    qml.Rot(p[0], p[1], q, 2)
    qml.PhaseShift(p[1], 0)
    qml.CRX(p[1], [1, 2])
    qml.IsingXX(p[2], [0, 2])
    qml.MultiControlledX([0, 1, 2])
    qml.ctrl(qml.RX, 0)(p[0], 1)


def loops(p, q):
    @for_loop(0, 3, 1)
    def layer(k):
        qml.RY(p[k] * q, k)
        qml.cond(k > 0, qml.RX, qml.RZ)(p[0], 0)
        qml.CNOT([k, (k + 1) % 3])

    layer()


def measured(body):
    """The body, measured in a way that makes no difference."""

    def function(*args):
        body(*args)
        return qml.expval(qml.Z(0) + qml.X(1) @ qml.Y(2))

    return function


def by_definition(body, argnum):
    """The metric from the state on `default.qubit`, differentiated by `jax.jacobian`."""

    @qml.qnode(DEVICE, diff_method="backprop")
    def state(*args):
        body(*args)
        return qml.state()

    changes = jax.jacfwd(state, argnums=argnum)(P, Q)
    changes = np.asarray(changes).reshape(8, -1)
    along = np.conj(state(P, Q)) @ changes
    gram = np.real(np.conj(changes.T) @ changes - np.outer(np.conj(along), along))
    return gram.reshape(2 * np.shape((P, Q)[argnum]))


def of_autograd(make, body, trainable=(0,), device=WITH_AUXILIARY, **options):
    """What PennyLane says, whose JAX interface does not run with this version of JAX."""
    values = [
        qml.numpy.array(value, requires_grad=number in trainable)
        for number, value in enumerate((P, Q))
    ]
    return make(qml.QNode(measured(body), device), **options)(*values)


@pytest.mark.sample(1)
@pytest.mark.parametrize("body", [single_parameters, many_gates], ids=lambda body: body.__name__)
def test_the_whole_metric(body):
    node = qml.QNode(measured(body), DEVICE)

    @qjit
    def found(p, q):
        by_both = qml.metric_tensor(node, argnums=[0, 1])(p, q)
        others = (
            qml.metric_tensor(node)(p, q),
            qml.adjoint_metric_tensor(node)(p, q),
            qml.gradients.quantum_fisher(node)(p, q) / 4,
        )
        return by_both, others, qml.metric_tensor(node, argnums=1)(p, q)

    (first, second), others, alone = found(P, Q)
    expected = by_definition(body, 0)
    for gram in (first, *others):
        np.testing.assert_allclose(gram, expected, atol=1e-12)
    np.testing.assert_allclose([second, alone], 2 * [by_definition(body, 1)], atol=1e-12)


def test_the_metric_as_pennylane_estimates_it():
    node = qml.QNode(measured(single_parameters), DEVICE)
    found = qjit(qml.metric_tensor(node))(P, Q)
    expected = of_autograd(qml.metric_tensor, single_parameters)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    found = qjit(qml.metric_tensor(node, hybrid=False))(P, Q)
    expected = of_autograd(qml.metric_tensor, single_parameters, (0, 1), hybrid=False)
    assert found.shape == (6, 6)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("approx", ["block-diag", "diag"])
def test_approximations(approx):
    node = qml.QNode(measured(single_parameters), DEVICE)

    @qjit
    def found(p, q):
        return (
            qml.metric_tensor(node, approx=approx)(p, q),
            qml.metric_tensor(node, approx=approx, argnums=[0, 1])(p, q),
            qml.metric_tensor(node, approx=approx, hybrid=False)(p, q),
            qml.metric_tensor(node, approx=approx, argnum=[1, 3])(p, q),
        )

    one, (first, second), parameters, some = found(P, Q)
    expected = of_autograd(qml.metric_tensor, single_parameters, approx=approx)
    np.testing.assert_allclose(one, expected, atol=1e-12)
    both = of_autograd(qml.metric_tensor, single_parameters, (0, 1), approx=approx)
    np.testing.assert_allclose(first, both[0], atol=1e-12)
    np.testing.assert_allclose(second, both[1], atol=1e-12)
    options = {"approx": approx, "hybrid": False}
    expected = of_autograd(qml.metric_tensor, single_parameters, (0, 1), **options)
    np.testing.assert_allclose(parameters, expected, atol=1e-12)
    expected = of_autograd(qml.metric_tensor, single_parameters, approx=approx, argnum=[1, 3])
    np.testing.assert_allclose(some, expected, atol=1e-12)


def test_options_by_position_and_one_argument_in_a_list():
    node = qml.QNode(measured(single_parameters), DEVICE)

    @qjit
    def found(p, q):
        by_position = qml.metric_tensor(node, [1, 3], "diag")(p, q)
        by_name = qml.metric_tensor(node, argnum=[1, 3], approx="diag")(p, q)
        return by_position, by_name, qml.metric_tensor(node, argnums=[1])(p, q)

    by_position, by_name, listed = found(P, Q)
    np.testing.assert_array_equal(by_position, by_name)
    assert isinstance(listed, tuple)
    np.testing.assert_allclose(listed, [by_definition(single_parameters, 1)], atol=1e-12)


def test_gates_of_several_parameters():
    """All parameters by their Jacobian are the whole metric, of gates taken apart or not."""
    node, argnum = qml.QNode(measured(many_gates), DEVICE), [4, 5, 6, 7, 8, 10, 11, 13, 14, 15, 16]

    @qjit
    def found(p, q):
        fisher = qml.gradients.quantum_fisher(node, argnum=argnum)(p, q)
        return qml.metric_tensor(node, argnum=argnum)(p, q), fisher

    gram, fisher = found(P, Q)
    np.testing.assert_allclose(gram, by_definition(many_gates, 0), atol=1e-12)
    np.testing.assert_allclose(fisher, 4 * gram, atol=1e-12)


def test_control_flow_and_the_metric_of_what_comes_before():
    node = qml.QNode(measured(loops), DEVICE)

    @qjit
    def found(p, q):
        return qml.metric_tensor(node)(jnp.sin(p), q**2), jax.grad(node)(p, q)

    def without_loops(p, q):
        for k in range(3):
            qml.RY(jnp.sin(p[k]) * q**2, k)
            (qml.RX if k > 0 else qml.RZ)(jnp.sin(p[0]), 0)
            qml.CNOT([k, (k + 1) % 3])

    gram, _ = found(P, Q)
    slopes = np.diag(np.cos(P))
    np.testing.assert_allclose(slopes @ gram @ slopes, by_definition(without_loops, 0), atol=1e-12)


def test_arguments_of_other_shapes_and_transforms():
    @qml.qnode(DEVICE)
    def node(angles, last):
        qml.RX(angles[0, 1] + angles[1, 0], 0)
        qml.RX(angles[0, 0], 0)
        qml.CNOT([0, 1])
        qml.RY(angles[1, 1] * last, 1)
        return qml.expval(qml.Z(1))

    angles, last = jnp.array([[0.1, 0.2], [0.3, 0.5]]), 0.9

    @qjit
    def found(angles, last):
        merged = qml.transforms.merge_rotations(node)
        whole = qml.metric_tensor(node)(angles, last)
        diagonal = qml.metric_tensor(merged, approx="block-diag", hybrid=False)(angles, last)
        fisher = qml.gradients.quantum_fisher(node)(angles, last)
        return whole, qml.metric_tensor(merged)(angles, last), diagonal, fisher

    whole, merged, diagonal, fisher = found(angles, last)
    assert whole.shape == (2, 2, 2, 2)
    flat = np.asarray(whole).reshape(4, 4)
    np.testing.assert_allclose(flat[:3, :3], np.full((3, 3), 0.25), atol=1e-12)
    np.testing.assert_allclose(flat, flat.T, atol=1e-14)
    np.testing.assert_allclose(merged, whole, atol=1e-12)
    np.testing.assert_allclose(fisher, 4 * whole, atol=1e-12)
    assert diagonal.shape == (2, 2)
    assert diagonal[0, 0] == pytest.approx(0.25)
    assert flat[3, 3] == pytest.approx(last**2 * diagonal[1, 1])


def test_no_parameter_depends_on_the_argument():
    @qml.qnode(DEVICE)
    def node(x):
        qml.RX(0.3, 0)
        return qml.expval(x * qml.Z(0))

    for approx in (None, "diag"):
        gram = qjit(qml.metric_tensor(node, approx=approx))(jnp.ones(2))
        np.testing.assert_array_equal(gram, np.zeros((2, 2)))


def test_what_has_no_metric_is_refused():
    node = qml.QNode(measured(single_parameters), DEVICE)
    with pytest.raises(UnsupportedTransformError, match="shots"):
        qjit(qml.metric_tensor(qml.set_shots(node, 100)))(P, Q)
    with pytest.raises(UnsupportedTransformError, match="no approximation 'other'"):
        qjit(qml.metric_tensor(node, approx="other"))(P, Q)
    with pytest.raises(UnsupportedTransformError, match=r"argnum=\[0\]"):
        qjit(qml.metric_tensor(node, argnum=[0]))(P, Q)

    # The last parameter is computed of another argument than the first.
    with pytest.raises(
        UnsupportedTransformError, match=r"argnum=\[6\], and the parameters are \[1, "
    ):
        qjit(qml.metric_tensor(node, argnum=[6]))(P, Q)
    several = qml.transforms.split_to_single_terms(qml.transforms.sign_expand(node))
    with pytest.raises(UnsupportedTransformError, match="several"):
        qjit(qml.metric_tensor(several))(P, Q)

    @qml.qnode(DEVICE)
    def collapsing(x):
        qml.RX(x, 0)
        measure(0)
        qml.RX(x, 0)
        return qml.expval(qml.Z(0))

    with pytest.raises(DiastaseError, match="measure"):
        qjit(qml.metric_tensor(collapsing))(0.3)
