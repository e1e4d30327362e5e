"""Derivatives of QNodes by their `diff_method`, beside PennyLane with the same method."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import cond, for_loop, measure, qjit
from diastase.autodiff.parameter_shift.shift_rules import parameter_shifts
from diastase.primitives.errors import NoDerivativeError, NotTransformableError

DEVICE = qml.device("default.qubit", wires=3)
X = jnp.array([0.3, 0.7, -1.1])
COEFFICIENTS = jnp.array([0.3, -0.4, 0.5])


def gates(x):
    qml.RX(x[0], 0)
    qml.CNOT([0, 1])
    qml.RY(x[1] * x[0], 1)
    qml.Hadamard(2)
    qml.IsingXX(x[1], [0, 2])
    qml.RX(x[2] ** 2, 1)


def as_vector(node):
    return lambda *args: jnp.concatenate([jnp.ravel(value) for value in node(*args)])


def jacobians(function):
    return lambda *args: (jax.jacfwd(function)(*args), jax.jacrev(function)(*args))


def assert_close(found, expected, atol):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=atol), found, expected)


# --- parameter-shift ------------------------------------------------------------------------------


def test_parameter_shift_of_gates_and_measurements():
    """Rules of two and four terms, gates under controls, and results that are no averages."""

    def body(x):
        gates(x)
        qml.CRZ(x[2], [1, 2])
        qml.IsingXY(x[1], [0, 2])
        qml.ctrl(qml.RY(x[2], 1), [0, 2], control_values=[1, 0])
        qml.Rot(x[0], 0.3, x[1], 2)
        word = qml.Z(0) @ qml.X(2)
        return qml.expval(word + qml.Y(1)), qml.probs([0, 2]), qml.var(word), qml.purity([0])

    def both(method):
        function = as_vector(qml.QNode(body, DEVICE, diff_method=method))
        return lambda x: jacobians(function)(x)

    assert_close(qjit(both("parameter-shift"))(X), jax.jit(both("backprop"))(X), 1e-11)


def by_arrays(x):
    """Amplitudes, matrices and diagonals, under controls, none, on one wire and on two."""
    amplitudes = jnp.array([1.0, x[0] + 1j * x[1], 0.3j * x[2], x[1] ** 2])
    norm = jnp.sqrt(jnp.sum(jnp.abs(amplitudes) ** 2))
    qml.StatePrep(amplitudes / norm, [0, 2])
    one, other = qml.RX.compute_matrix(x[1]), qml.RY.compute_matrix(x[0])
    qml.QubitUnitary(qml.IsingXY.compute_matrix(x[0]) @ jnp.kron(one, other), [0, 1])
    matrix = one @ other * jnp.exp(1j * x[2])
    qml.ctrl(qml.QubitUnitary(matrix, 1), [0, 2], control_values=[1, 0])
    qml.ctrl(qml.DiagonalQubitUnitary(jnp.exp(1j * x[::2]), [1]), [2])
    qml.DiagonalQubitUnitary(jnp.exp(1j * jnp.stack([*x, x[0] * x[1]])), [1, 2])
    return qml.expval(qml.Z(0) @ qml.X(2) + qml.Y(1)), qml.probs([0, 1])


def by_few_arrays(x):
    qml.RX(x[1], 0)
    matrix = qml.RX.compute_matrix(x[0]) @ qml.RY.compute_matrix(x[1])
    qml.ctrl(qml.QubitUnitary(matrix, 1), [0])
    return qml.expval(qml.X(0) @ qml.Z(1))


def test_arrays_are_shifted_by_pauli_words():
    def all_of(method):
        made = [qml.QNode(body, DEVICE, diff_method=method) for body in ARRAYS]
        many, few = as_vector(made[0]), jax.grad(made[1])
        return lambda x: (jax.jacrev(many)(x), jax.jvp(few, (x,), (COEFFICIENTS,))[1])

    exact, shifted = qjit(lambda x: (all_of("best")(x), all_of("parameter-shift")(x)))(X)
    assert_close(shifted, exact, 1e-12)


ARRAYS = (by_arrays, by_few_arrays)


def flowing(method):
    """A circuit with a loop and a branch, whose coefficients are computed beside the gates."""

    @qml.qnode(DEVICE, diff_method=method)
    def node(x, n, c):
        @for_loop(0, n, 1)
        def loop(i, y):
            qml.RX(y * x[0], i % 3)
            qml.CRY(x[1], [i % 3, (i + 1) % 3])
            return y * jnp.sin(x[2])

        y = loop(1.0)

        @cond(x[0] > 0.0)
        def branch():
            qml.RY(x[2] * y, 0)

        @branch.otherwise
        def other():
            qml.IsingXY(x[1] ** 2, [0, 1])

        branch()
        sum_of_words = qml.Hamiltonian([c[0], c[1] * y], [qml.Z(0), qml.X(1) @ qml.Y(2)])
        matrix = c[2] * jnp.array([[1, 2j], [-2j, 0.5]])
        return qml.expval(sum_of_words), qml.expval(qml.Hermitian(matrix, 1))

    return as_vector(node)


def test_parameter_shift_in_loops_and_branches():
    def all_of(method):
        function = flowing(method)

        def derivatives(x, n, c):
            forwards = jax.jacfwd(function, (0, 2))(x, n, c)
            return forwards, jax.jacrev(function, (0, 2))(x, n, c)

        return qjit(derivatives)

    mine, exact = all_of("parameter-shift"), all_of("best")
    for x in (X, -X):
        assert_close(mine(x, 3, COEFFICIENTS), exact(x, 3, COEFFICIENTS), 1e-12)
    assert_close(mine(X, 0, COEFFICIENTS), exact(X, 0, COEFFICIENTS), 1e-12)


def test_second_derivative_in_a_loop():
    def hessian(method):
        function = flowing(method)
        return qjit(lambda x, n, c: jax.jacfwd(jax.jacfwd(function))(x, n, c))

    mine, exact = hessian("parameter-shift"), hessian("best")
    assert_close(mine(X, 2, COEFFICIENTS), exact(X, 2, COEFFICIENTS), 1e-11)


def test_rules_have_as_few_terms_as_the_frequencies_allow():
    def number(name, count=1, wires=1, controlled=False):
        return len(parameter_shifts(name, count, 0, wires, controlled))

    assert number("RX") == number("PhaseShift") == number("PhaseShift", controlled=True) == 2
    assert number("RX", controlled=True) == number("SingleExcitation", wires=2) == 4
    assert number("IsingXY", wires=2) == number("Rot", 3, controlled=True) == 4
    (first, second) = sorted(parameter_shifts("RY", 1, 0, 1, False))
    np.testing.assert_allclose([first, second], [[-0.5, -np.pi / 2], [0.5, np.pi / 2]])


def test_shots():
    """Averages over fresh shots: near the exact derivatives, and the same for the same seed."""

    def body(x, c):
        gates(x)
        words = [qml.Z(0) @ qml.X(2), qml.Y(1)]
        return qml.expval(qml.Hamiltonian(c, words)), qml.probs([0, 2]), qml.var(qml.Z(1))

    def all_of(shots):
        function = as_vector(qml.set_shots(qml.QNode(body, DEVICE), shots))

        def derivatives(x, c):
            hessian = jax.hessian(lambda x: function(x, c)[0])(x)
            return (
                function(x, c),
                jax.jacfwd(function, (0, 1))(x, c),
                jax.jacrev(function, (0, 1))(x, c),
                hessian,
            )

        return derivatives

    c = COEFFICIENTS[:2]
    found = [qjit(all_of(20000), seed=3)(X, c) for _ in range(2)]
    jax.tree.map(np.testing.assert_array_equal, *found)
    assert_close(found[0], qjit(all_of(None))(X, c), 0.06)
    assert not np.array_equal(found[0][1][0], found[0][2][0]), "each derivative draws anew"


# --- hadamard, methods together ------------------------------------------------------------------


def with_variance(x):
    gates(x)
    return qml.expval(qml.Z(0) @ qml.X(2)), qml.probs([0, 2]), qml.var(qml.Z(1))


def test_hadamard():
    def body(x):
        gates(x)
        return qml.expval(qml.Z(0) @ qml.X(2)), qml.probs([0, 2])

    def all_of(method):
        return jacobians(as_vector(qml.QNode(body, DEVICE, diff_method=method)))

    assert_close(qjit(all_of("hadamard"))(X), jax.jit(all_of("backprop"))(X), 1e-12)


@pytest.mark.thorough
def test_methods_together_and_in_batches():
    def body(x):
        gates(x)
        return qml.expval(qml.Z(0) @ qml.X(2))

    def loss(methods):
        nodes = [qml.QNode(body, DEVICE, diff_method=method) for method in methods]
        return lambda x: nodes[0](x) * nodes[1](jnp.sin(x)) + nodes[2](x) ** 2

    def all_of(methods):
        function = loss(methods)
        batch = jnp.stack([X, -X, 2 * X, 0 * X])
        return lambda: (
            jax.vmap(jax.grad(function))(batch),
            jax.grad(lambda x: jnp.sum(jax.vmap(function)(x)))(batch),
            jax.grad(lambda x: jnp.sum(jax.grad(function)(x) ** 2))(X),
        )

    mine = qjit(all_of(["parameter-shift", "adjoint", "hadamard"]))()
    assert_close(mine, jax.jit(all_of(["backprop"] * 3))(), 1e-11)


def wires_of(x, n, measured):
    """A circuit on all wires; n may be traced."""

    @qml.qnode(qml.device("default.qubit", wires=n))
    def node(x):
        for_loop(0, n, 1)(lambda i: qml.RX(x[0] * (i + 1.0), i))()

        @for_loop(0, n - 1, 1)
        def pairs(i):
            qml.CRY(x[1], [i, i + 1])
            qml.IsingXY(x[2], [i, i + 1])

        pairs()
        return measured()

    return node(x)


def test_all_orders_on_a_traced_number_of_wires():
    """There are no derivative wires then; averages have derivatives by shifts, which are exact."""

    def energy(x, n):
        return wires_of(x, n, lambda: qml.expval(qml.Z(0) @ qml.X(1) + 0.4 * qml.Y(1)))

    def all_of(x, n):
        probabilities = jax.jacfwd(lambda x: wires_of(x, n, lambda: qml.probs([0, 1])))(x)
        return jax.hessian(energy)(x, n), probabilities

    mine = qjit(all_of)
    for n in (2, 3):
        assert_close(mine(X, n), qjit(lambda x, n=n: all_of(x, n))(X), 1e-12)
    with pytest.raises(NotTransformableError, match="number of wires is traced, and only averages"):
        qjit(jax.jacfwd(lambda x, n: wires_of(x, n, lambda: qml.var(qml.Z(0)))))(X, 2)


# --- what has no derivative -----------------------------------------------------------------------


def expectation(x):
    gates(x)
    return qml.expval(qml.Z(0))


def sampled(x):
    gates(x)
    return qml.sample(wires=0)


def shadow(x):
    gates(x)
    return qml.shadow_expval(qml.Z(0))


def state(x):
    gates(x)
    return qml.state()


def outcome(x):
    gates(x)
    measure(0)
    return qml.expval(qml.Z(0))


def large(x):
    matrix = jnp.kron(qml.IsingXX.compute_matrix(x[0]), qml.IsingXX.compute_matrix(x[1]))
    qml.QubitUnitary(matrix, range(4))
    return qml.expval(qml.Z(0))


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("body", "options", "shots", "text"),
    [
        (expectation, {"diff_method": None}, None, "has no derivative: diff_method=None"),
        (expectation, {"diff_method": "adjoint"}, 10, "diff_method='adjoint' is exact.*shots"),
        (expectation, {"diff_method": "backprop"}, 10, "diff_method='backprop' is exact.*shots"),
        (with_variance, {"diff_method": "hadamard"}, 10, "hadamard' has no variances"),
        (sampled, {}, 10, "samples jump"),
        (shadow, {}, 10, "a classical shadow has no derivative.*recipes"),
        (state, {"diff_method": "parameter-shift"}, None, "qml.state has no derivative"),
        (state, {"diff_method": "hadamard"}, None, "qml.state has no derivative"),
        (outcome, {}, None, "measure has no derivative: an outcome jumps"),
        (large, {"diff_method": "parameter-shift"}, None, "by its matrix has no.*3 wires are the"),
    ],
)
def test_refusals(body, options, shots, text):
    device = qml.device("default.qubit", wires=4)
    node = qml.set_shots(qml.QNode(body, device, **options), shots)

    def total(x):
        return sum(jnp.sum(jnp.real(leaf).astype(float)) for leaf in jax.tree.leaves(node(x)))

    for derivative in (jax.grad, jax.jacfwd):
        with pytest.raises(NoDerivativeError, match=text) as raised:
            qjit(derivative(total))(X)
        assert "test_diff_methods.py" in str(raised.value)
    assert np.isfinite(qjit(total)(X)), "without derivatives it runs"


def test_variances_of_the_hadamard_test():
    node = qml.QNode(with_variance, DEVICE, diff_method="hadamard")
    with pytest.raises(NoDerivativeError, match=r"qml.var has no derivative.*hadamard"):
        qjit(jax.jacfwd(as_vector(node)))(X)
