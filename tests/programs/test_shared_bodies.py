"""Two parts of a program with other settings share a loop body, which JAX traces once for each."""

import jax
import numpy as np
import pennylane as qml
import pytest

from diastase import debug_assert, mitigate_with_zne, qjit

ANGLES = np.array([0.1, 0.2])


@qml.qnode(qml.device("lightning.qubit", wires=1))
def circuit(x):
    qml.RX(x, 0)
    return qml.expval(qml.Z(0))


@qml.qnode(qml.device("lightning.qubit", wires=1))
def probabilities(x):
    qml.RX(x, 0)
    return qml.probs(wires=0)


def body(_, x):
    return circuit(x)


def loop(x):
    return jax.lax.fori_loop(0, 2, body, x)


def test_folding():
    def gates(factors):
        mitigated = mitigate_with_zne(loop, scale_factors=factors)
        return str(qjit(mitigated).trace(0.3).jaxpr).count(" gate[")

    assert gates([1, 3, 5]) == sum(gates([factor]) for factor in [1, 3, 5]) == 9


def asserting(_, x):
    debug_assert(x < 5.0, "too large")
    return x


def checked(x):
    return jax.lax.fori_loop(0, 2, asserting, x)


@pytest.mark.parametrize("is_first", [False, True])
def test_assertions(is_first):
    off, on = qjit(checked, disable_assertions=True), qjit(checked)
    both = qjit(lambda x: on(x) + off(x) if is_first else off(x) + on(x))
    assert both(3.0) == 6.0
    with pytest.raises(RuntimeError, match="too large"):
        both(9.0)


def step(carry, x):
    return carry, probabilities(x)


def in_order(x):
    return jax.lax.scan(step, 0, x)[1]


@pytest.mark.parametrize("is_first", [False, True])
def test_precision(is_first):
    single, double = qjit(in_order, precision="single"), qjit(in_order)
    parts = [single, double] if is_first else [double, single]
    found = qjit(lambda x: [part(x) for part in parts])(ANGLES)
    assert [str(value.dtype) for value in found] == (
        ["float32", "float64"] if is_first else ["float64", "float32"]
    )


def test_passes():
    """Each program's own are applied, though the same body was traced for another one before."""

    @qml.qnode(qml.device("default.qubit", wires=1))
    def circuit(x):
        qml.H(0), qml.H(0)
        qml.RX(x, 0), qml.RX(x, 0)
        return qml.expval(qml.Z(0))

    def step(_, x):
        return circuit(x)

    def loop(x):
        return jax.lax.fori_loop(0, 2, step, x)

    given = qjit(loop, circuit_transform_pipeline={"cancel_inverses": {}})
    other = qjit(loop, circuit_transform_pipeline={"merge_rotations": {}})
    traced = qjit(lambda x: qjit(loop)(x) + given(x) + other(x)).trace(0.3)
    text = str(traced.jaxpr)
    assert (text.count("name=Hadamard"), text.count("name=RX")) == (2 + 0 + 2, 2 + 2 + 1)
    wanted = 3 * np.cos(2 * np.cos(0.6))
    np.testing.assert_allclose(traced.lower().compile()(0.3), wanted)
