"""Inputs of `f.qasm`: their types, and the arithmetic of each type."""

import jax.numpy as jnp
import numpy as np
import openqasm3
import pennylane as qml
import pytest
from openqasm3 import ast

from diastase import cond, for_loop, qjit


def compiled(function):
    return qjit(qml.QNode(function, qml.device("lightning.qubit", wires=3)))


def text_of(function, *args):
    text = function.trace(*args).qasm
    openqasm3.parse(text)
    return text


def test_inputs_have_the_types_of_their_arguments():
    @compiled
    def circuit(x, n, k, z, flag, row):
        qml.RX(2 * x + z.real * z.imag, wires=0)
        qml.RY(n.astype(jnp.int64) * n.astype(jnp.int64) + row[1], wires=0)
        cond(flag)(lambda: qml.RX(0.3, wires=k % 3))()
        return qml.probs()

    arguments = (
        jnp.float32(0.25), jnp.int32(70_000), jnp.uint8(200), jnp.complex64(1 + 2j), True,
        jnp.ones(3, jnp.float16),
    )  # fmt: skip
    lines = text_of(circuit, *arguments).splitlines()
    assert lines[2:8] == [
        "input float[32] x_;", "input int[32] n;", "input uint[8] k;",
        "input complex[float[32]] z_;", "input bool flag;", "input array[float[16], 3] row;",
    ]  # fmt: skip
    assert "ry(int(n) * int(n) + row[1]) q[0];" in lines
    with pytest.raises(NotImplementedError, match="RX depends on complex numbers"):
        compiled(lambda z: qml.RX((z * z).real, wires=0) and qml.probs()).trace(1j).qasm  # noqa: B018


def in_types(expression, inputs):
    """What an expression is where each number is of its type: NumPy's scalars wrap around."""
    match expression:
        case ast.Identifier():
            return inputs[expression.name]
        case ast.IntegerLiteral() | ast.FloatLiteral():
            return expression.value
        case ast.UnaryExpression():
            return -in_types(expression.expression, inputs)
        case ast.BinaryExpression():
            apply = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide}
            sides = [in_types(each, inputs) for each in (expression.lhs, expression.rhs)]
            return apply[expression.op.name](*sides)
        case ast.Cast():
            name, size = type(expression.type).__name__, expression.type.size
            bits = size.value if size else 64
            value = in_types(expression.argument, inputs)
            return np.asarray(value).astype(f"{name.removesuffix('Type').lower()}{bits}")[()]


@pytest.mark.parametrize(
    ("number", "angle"),
    [
        (np.int64(300), lambda n: n.astype(jnp.int8) * 0.1),
        (np.int64(-1), lambda n: n.astype(jnp.uint64) * 1e-19),
        (np.int64(200), lambda n: n.astype(jnp.uint8).astype(jnp.int8) * 0.1),
        (np.uint8(200), lambda n: n.astype(float) * n.astype(float)),
        (np.uint8(200), lambda n: n * n.astype(float) - 5 * n.astype(jnp.int64)),
        (np.uint64(2), lambda n: -n.astype(float)),
        (np.uint64(0), lambda n: n.astype(jnp.int64) - 1),
        (np.int8(100), lambda n: n.astype(float) + n.astype(float)),
        (np.int32(70_000), lambda n: n.astype(float) * n.astype(float)),
    ],
)
def test_integers_of_other_types_are_converted(number, angle):
    @compiled
    def circuit(n):
        qml.RX(angle(n), wires=0)
        return qml.probs()

    (gate,) = [
        each
        for each in openqasm3.parse(text_of(circuit, jnp.asarray(number))).statements
        if isinstance(each, ast.QuantumGate)
    ]
    found = in_types(gate.arguments[0], {"n": number})
    np.testing.assert_allclose(float(found), float(angle(jnp.asarray(number))), rtol=1e-12)


def test_ranges_up_to_a_number_without_a_sign():
    @compiled
    def circuit(n):
        for_loop(0, n.astype(int), 1)(lambda i: qml.RX(0.1, wires=0))()
        return qml.probs()

    assert "for int i in [0:int(n) - 1] {" in text_of(circuit, jnp.uint64(0))


def test_arrays_without_elements():
    @compiled
    def circuit(x, y):
        qml.RX(jnp.sum(x) + jnp.sum(y, axis=0)[1], wires=0)
        return qml.probs()

    assert "\nrx(0.0) q[0];\n" in text_of(circuit, jnp.zeros(0), jnp.zeros((0, 2)))
