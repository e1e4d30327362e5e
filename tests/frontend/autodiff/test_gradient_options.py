"""`gradient_kwargs`: each option means what it means in PennyLane, or is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import for_loop, qjit
from diastase.autodiff import lower_derivatives
from diastase.capture.quantum_errors import InvalidSettingError
from diastase.primitives.errors import NoDerivativeError

DEVICE = qml.device("default.qubit", wires=2)
X = jnp.array([0.3, 0.7, -1.1])


def circuit(x):
    qml.RX(x[0], 0)
    qml.CNOT([0, 1])
    qml.RY(x[1] * x[0], 1)
    qml.CRZ(x[2], [1, 0])
    return qml.expval(qml.Z(0) @ qml.X(1) + 0.5 * qml.Y(1))


def nodes(method, all_options, body=circuit):
    return [
        qml.QNode(body, DEVICE, diff_method=method, gradient_kwargs=options)
        for options in all_options
    ]


def normal(indices, number, turn, rng):
    return rng.normal(size=number) + turn


FOUR = (np.pi / 2, 3 * np.pi / 2)
METHODS = {
    "parameter-shift": [
        {"shifts": [(0.3,), (0.2,), (0.5, 1.6)]},
        {"shifts": [(0.3,), FOUR], "argnum": [0, 2]},
        {"argnum": 1, "broadcast": True},
        {"gradient_recipes": [[[0.5, 1, 0.1], [2, 0.3, -0.4]], None, None]},
    ],
    "finite-diff": [
        {"h": 1e-2},
        {"h": 1e-2, "strategy": "center", "approx_order": 4, "validate_params": True},
        {"h": 1e-2, "strategy": "backward", "approx_order": 2, "argnum": [2, 0]},
        {"h": 1e-2, "n": 2, "approx_order": 2},
    ],
    "spsa": [
        {"sampler_rng": 4, "num_directions": 3, "h": 1e-2},
        {"sampler_rng": 4, "n": 2, "h": 0.1, "strategy": "forward", "argnum": [0, 2]},
        {"sampler_rng": 7, "sampler": normal, "num_directions": 2, "h": 1e-2},
    ],
}


@pytest.mark.parametrize("method", METHODS)
def test_derivatives_are_pennylanes(method, monkeypatch):
    monkeypatch.setattr(
        lower_derivatives, "_MOST_NUMBERS", 2
    )  # directions are arrays, not single numbers
    all_nodes = nodes(method, METHODS[method])
    found = qjit(lambda x: [jax.grad(node)(x) for node in all_nodes])(X)
    for node, mine in zip(all_nodes, found, strict=True):
        theirs = jax.grad(node)(X)
        np.testing.assert_allclose(mine, theirs, atol=1e-9, err_msg=str(node.gradient_kwargs))


def rotated(x):
    qml.RX(x[0], 0)
    qml.RY(x[1], 0)
    return qml.expval(qml.Z(0))


def test_spsa_draws_directions_when_it_runs():
    """For directions of signs, the estimate by p is sum over q of d_p d_q df/dq: its variance."""
    (node,) = nodes("spsa", [{}], rotated)
    exact = np.array(jax.grad(qml.QNode(node.func, DEVICE))(X))
    gradient = qjit(jax.vmap(jax.grad(node)), seed=5)
    found = np.array(gradient(jnp.broadcast_to(X, (4000, 3))))
    other = np.array([exact[1], exact[0], 0.0])
    np.testing.assert_allclose(found.mean(axis=0), exact, atol=5 * np.abs(other).max() / 4000**0.5)
    np.testing.assert_allclose(found.std(axis=0), np.abs(other), atol=0.01)


REFUSED = [
    ("finite-diff", {"step": 1e-3}, r"step=0.001: .*has the options h, approx_order"),
    ("finite-diff", {"num_directions": 2}, "num_directions=2: .*has the options"),
    ("finite-diff", {"broadcast": True}, "broadcast=True: .*has the options"),
    ("finite-diff", {"h": 0.0}, "h=0.0: it is a number, and not zero"),
    ("finite-diff", {"strategy": "left"}, "strategy='left': .*strategy left"),
    ("finite-diff", {"approx_order": 3, "strategy": "center"}, "approx_order=3: .*even order"),
    ("finite-diff", {"f0": 0.5}, "f0=0.5: a compiled derivative runs the circuit itself"),
    ("spsa", {"num_directions": 0}, "num_directions=0: it is a positive integer"),
    ("spsa", {"sampler_rng": "now"}, "sampler_rng='now': it is an integer, a generator"),
    ("parameter-shift", {"shifts": [0.3]}, r"shifts=\[0.3\]: it has a tuple or None for each"),
    ("parameter-shift", {"argnum": "x"}, "argnum='x': it is a number, or a list"),
    ("hadamard", {"mode": "other"}, "mode='other': it is one of standard, reversed"),
    ("hadamard", {"argnum": 0}, "argnum=0: all parameters are differentiated by"),
]


@pytest.mark.parametrize(("method", "options", "text"), REFUSED)
def test_what_is_refused(method, options, text):
    (node,) = nodes(method, [options])
    with pytest.raises(InvalidSettingError, match=text):
        qjit(node)(X)


def test_options_by_number_where_there_are_none():
    def looped(x):
        @for_loop(0, 2, 1)
        def loop(i):
            qml.RX(x[i], i)

        loop()
        return qml.expval(qml.Z(0))

    def matrix(x):
        qml.QubitUnitary(qml.RX.compute_matrix(x[0]), 0)
        return qml.expval(qml.Z(0))

    cases = [
        (looped, {"argnum": [0]}, "for_loop has no derivative: .*not known in loops"),
        (matrix, {"argnum": [0]}, "a gate given by its matrix has no derivative: .*it has none"),
        (circuit, {"shifts": [(0.3,)]}, "parameter 1 of those .* shifts has 1 elements"),
        (
            circuit,
            {"shifts": [(0.1, 0.2)] * 3},
            r"RX has no derivative: shifts=\(0.1, 0.2\).*equal",
        ),
    ]
    for body, options, text in cases:
        (node,) = nodes("parameter-shift", [options], body)
        with pytest.raises(NoDerivativeError, match=text):
            qjit(jax.grad(node))(X)


def test_modes_of_hadamard_are_exact_without_shots():
    modes = [{"mode": mode} for mode in ("standard", "direct", "reversed", "auto")]
    found = qjit(lambda x: [jax.grad(node)(x) for node in nodes("hadamard", modes)])(X)
    np.testing.assert_allclose(found, [jax.grad(qml.QNode(circuit, DEVICE))(X)] * 4, atol=1e-12)
    for mode in ("reversed", "reversed-direct"):
        (node,) = nodes("hadamard", [{"mode": mode}])
        with pytest.raises(InvalidSettingError, match="with shots, generators are not measured"):
            qjit(qml.set_shots(node, 10))(X)
