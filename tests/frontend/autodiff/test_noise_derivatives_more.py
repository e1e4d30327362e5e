"""Derivatives of QNodes on default.mixed, beside PennyLane's or differences of our own values."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import for_loop, qjit
from diastase.primitives.errors import NoDerivativeError

X = jnp.array([0.3, 0.7, 1.1])
P = 0.13


def device(wires):
    return qml.device("default.mixed", wires=wires)


def loss(node):
    """A weighted sum of all results."""

    def total(*arguments):
        results = [jnp.ravel(result) for result in jax.tree.leaves(node(*arguments))]
        parts = [part for result in results for part in (jnp.real(result), jnp.imag(result))]
        vector = jnp.concatenate(parts)
        return jnp.sum(vector * jnp.cos(1.0 + 1.7 * jnp.arange(vector.size)))

    return total


def assert_close(found, expected, atol=1e-11):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=atol), found, expected)


def before(wires):
    for wire in range(wires):
        qml.RX(0.4 + 0.3 * wire, wire)
    for wire in range(wires - 1):
        qml.CNOT([wire, wire + 1])
    for wire in range(wires):
        qml.Rot(0.2, 0.5 + wire, 0.7, wire)


def after(wires, strength):
    for wire in range(wires - 1):
        qml.CRX(0.3 + wire, [wire, wire + 1])
        qml.DepolarizingChannel(strength, wire)
    word = qml.Z(0) @ qml.X(wires - 1)
    return qml.expval(word + 0.3 * qml.Y(0)), qml.probs(range(wires)), qml.density_matrix([0])


# --- channels -------------------------------------------------------------------------------------

FLIP = jnp.array([[0, 1], [1, 0]])
CHANNELS = {
    "amplitude": (lambda p: qml.AmplitudeDamping(p, 0), (0, 0.3)),
    "phase": (lambda p: qml.PhaseDamping(p, 0), (0, 0.3)),
    "generalized": (lambda p: qml.GeneralizedAmplitudeDamping(p, 0.3, 0), (0, 0.3)),
    "temperature": (lambda p: qml.GeneralizedAmplitudeDamping(0.3, p, 0), (0, 0.3, 1)),
    "depolarizing": (lambda p: qml.DepolarizingChannel(p, 0), (0, 0.3, 1)),
    "bit flip": (lambda p: qml.BitFlip(p, 0), (0, 0.3, 1)),
    "phase flip": (lambda p: qml.PhaseFlip(p, 0), (0, 0.3, 1)),
    "reset": (lambda p: qml.ResetError(p, 0.0, 0), (0, 0.3, 1)),
    "word": (lambda p: qml.PauliError("XY", p, [1, 0]), (0, 0.3, 1)),
    "thermal": (lambda p: qml.ThermalRelaxationError(p, 1.1, 1.9, 0.3, 0), (0, 0.3, 1)),
    "time": (lambda p: qml.ThermalRelaxationError(0.2, 1.1, 0.9, p, 0), (0, 0.3)),
    "Kraus": (
        lambda p: qml.QubitChannel([jnp.sqrt(1 - p) * jnp.eye(2), jnp.sqrt(p) * FLIP], 1),
        (0.3,),
    ),
}


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", CHANNELS)
def test_slopes_by_strengths(name):
    """Also at no noise and at most noise: differences to one side there."""
    channel, strengths = CHANNELS[name]

    @qml.qnode(device(2))
    def node(p):
        before(2)
        channel(p)
        return after(2, 0.1)

    value = loss(node)
    compiled = qjit(lambda p: (jax.grad(value)(p), jax.jvp(value, (p,), (1.0,))[1], value(p)))
    step = 1e-4
    for strength in map(float, strengths):
        sides = {0.0: (0, 1, 2), 1.0: (0, -1, -2)}.get(strength, (0, 1, -1))
        start, one, two = (value(strength + side * step) for side in sides)
        if sides[2] == -1:
            slope = (one - two) / (2 * step)
        else:
            slope = (4 * one - 3 * start - two) / (2 * step * sides[1])
        backward, forward, found = compiled(strength)
        assert_close((backward, forward, found), (slope, slope, start), atol=1e-6)


# --- operations -----------------------------------------------------------------------------------


def exponential(wires):
    """exp(i x H) for a dense H."""
    generator = np.random.default_rng(wires)
    dense = generator.normal(size=(2, 2**wires, 2**wires))
    matrix = dense[0] + 1j * dense[1]
    values, vectors = map(jnp.asarray, np.linalg.eigh(matrix + matrix.conj().T))
    return lambda x: (vectors * jnp.exp(1j * x * values)) @ vectors.conj().T


def diagonal(x, wires):
    return jnp.exp(1j * x * jnp.sin(1.0 + jnp.arange(2**wires)))


def amplitudes(x, wires):
    numbers = jnp.arange(2**wires)
    found = jnp.cos(x * (1.0 + numbers)) + 1j * jnp.sin(x**2 + numbers)
    return found / jnp.linalg.norm(found)


def mixture(x, wires):
    one, other = amplitudes(x, wires), amplitudes(x + 0.4, wires)
    parts = jnp.cos(x) ** 2, jnp.sin(x) ** 2
    return sum(p * jnp.outer(v, v.conj()) for p, v in zip(parts, (one, other), strict=True))


OPERATIONS = {
    "three controls": (4, lambda x: qml.ctrl(qml.RX(x, 3), [0, 1, 2], control_values=[1, 0, 1])),
    "matrix under controls": (4, lambda x: qml.ctrl(qml.Rot(x, 0.3, x**2, 3), [0, 1, 2])),
    "pswap": (3, lambda x: qml.PSWAP(x, [0, 2])),
    "excitation": (4, lambda x: qml.DoubleExcitation(x, [2, 0, 1, 3])),
    "orbitals": (4, lambda x: qml.OrbitalRotation(x, range(4))),
    "long word": (4, lambda x: qml.PauliRot(x, "XZYX", range(4))),
    "word under controls": (4, lambda x: qml.ctrl(qml.MultiRZ(x, [0, 1]), [2, 3])),
    "phase": (3, lambda x: qml.ctrl(qml.GlobalPhase(x), [0, 2])),
    "power": (3, lambda x: qml.pow(qml.IsingYY(x, [0, 2]), 1.7)),
    **{
        f"matrix of {k}": (4, lambda x, k=k: qml.QubitUnitary(exponential(k)(x), range(k)[::-1]))
        for k in (1, 2, 4)
    },
    **{
        f"diagonal of {k}": (
            4,
            lambda x, k=k: qml.DiagonalQubitUnitary(diagonal(x, k), list(range(k))[::-1]),
        )
        for k in (1, 4)
    },
    "amplitudes": (3, lambda x: qml.StatePrep(amplitudes(x, 2), [2, 0])),
    "density matrix": (3, lambda x: qml.QubitDensityMatrix(mixture(x, 2), [0, 1])),
}
FIRST = ("amplitudes", "density matrix")


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name):
    wires, operation = OPERATIONS[name]

    @qml.qnode(device(wires))
    def node(x, p):
        if name not in FIRST:
            before(wires)
        operation(x)
        return after(wires, p)

    gradient = jax.grad(loss(node), (0, 1))
    forward = jax.jacfwd(loss(node), (0, 1))
    expected = gradient(0.37, P)
    assert_close(qjit(lambda x, p: (gradient(x, p), forward(x, p)))(0.37, P), (expected,) * 2)


def test_traced_kraus_matrices():
    """Of one wire by the transfer matrix with a derivative wire, of four on copies."""

    def slopes(wires):
        matrix = exponential(wires)

        @qml.qnode(device(4))
        def node(x):
            before(4)
            kraus = [jnp.cos(x) * matrix(x), jnp.sin(x) * matrix(0.2 - x)]
            qml.QubitChannel(kraus, list(range(wires))[::-1])
            return after(4, P)

        value = loss(node)
        found = qjit(lambda x: (jax.grad(value)(x), jax.jacfwd(value)(x)))(0.37)
        compiled, step = qjit(value), 1e-3
        near, far = (compiled(0.37 + k * step) - compiled(0.37 - k * step) for k in (1, 2))
        assert_close(found, ((8 * near - far) / (12 * step),) * 2, atol=1e-6)

    slopes(1)
    slopes(4)


# --- batches, higher derivatives, precision -------------------------------------------------------


@qml.qnode(device(2))
def small(x, p):
    qml.RX(x[0], 0)
    qml.CRY(x[1], [0, 1])
    qml.AmplitudeDamping(p, 0)
    qml.IsingXY(x[2], [0, 1])
    qml.DepolarizingChannel(p / 2, 1)
    return qml.expval(qml.Z(0) @ qml.X(1)), qml.probs()


def test_batches_and_transformations_of_compiled_functions():
    value = loss(small)
    points, strengths = jnp.stack([X, X - 1, 2 * X]), jnp.array([0.0, 0.2, 0.5])
    of_each = [jax.grad(value, (0, 1))(x, p) for x, p in zip(points, strengths, strict=True)]
    expected = jax.tree.map(lambda *rows: jnp.stack(rows), *of_each)

    def summed(x, p):
        return jnp.sum(jax.vmap(value)(x, p))

    assert_close(qjit(jax.vmap(jax.grad(value, (0, 1))))(points, strengths), expected)
    assert_close(qjit(jax.grad(summed, (0, 1)))(points, strengths), expected)
    assert_close(jax.jit(jax.vmap(jax.grad(qjit(value), (0, 1))))(points, strengths), expected)


def test_second_derivatives_also_in_single_precision():
    """Of angles and strengths, along a direction of both."""
    gradient = jax.grad(loss(small), (0, 1))

    def second(x, p):
        return jax.jvp(gradient, (x, p), (jnp.cos(x), jnp.sin(p)))[1]

    expected = second(X, P)
    assert_close(qjit(second)(X, P), expected)
    single = qjit(second)(X.astype(jnp.float32), jnp.float32(P))
    assert {leaf.dtype for leaf in jax.tree.leaves(single)} == {np.dtype(np.float32)}
    assert_close(single, expected, atol=1e-5)


# --- methods --------------------------------------------------------------------------------------


def by_runs(x, p):
    qml.QubitDensityMatrix(mixture(x[0], 1), 0)
    qml.CRX(x[1], [0, 1])

    @for_loop(0, 2, 1)
    def loop(i):
        qml.AmplitudeDamping(p * jnp.cos(p + i) ** 2, i)
        qml.CRY(x[2], [0, 1])

    loop()
    return qml.expval(qml.Z(0) @ qml.X(1)), qml.var(qml.Z(0) + qml.X(1)), qml.probs([1])


def of_method(method, **options):
    return loss(qml.QNode(by_runs, device(2), diff_method=method, **options))


@pytest.mark.parametrize("method", ["parameter-shift", "finite-diff"])
def test_derivatives_from_runs_by_channels_and_density_matrices(method):
    exact = qjit(jax.grad(of_method("best"), (0, 1)))(X, P)
    found = qjit(jax.grad(of_method(method), (0, 1)))(X, P)
    assert_close(found[0], exact[0], atol=1e-5)
    assert_close(found[1], exact[1])


@pytest.mark.thorough
def test_second_derivative_from_runs_by_a_strength():
    found, exact = (
        qjit(jax.grad(jax.grad(of_method(method), 1), 1))(X, P)
        for method in ("parameter-shift", "best")
    )
    assert_close(found, exact)


def test_derivatives_from_shots_by_a_strength():
    def slope(shots):
        node = qml.QNode(by_runs, device(2), diff_method="parameter-shift")
        return qjit(jax.grad(loss(qml.set_shots(node, shots=shots)), 1), seed=3)(X, P)

    exact = qjit(jax.grad(of_method("best"), 1))(X, P)
    assert_close(slope(40_000), exact, atol=0.1)


@pytest.mark.parametrize("options", [{"method": "spsa"}, {"gradient_kwargs": {"n": 2}}])
def test_methods_that_cannot_shift_a_strength_say_so(options):
    value = of_method(**{"method": "finite-diff", **options})
    with pytest.raises(NoDerivativeError, match=r"strength of a channel.*'parameter-shift'"):
        qjit(jax.grad(value, 1))(X, P)
