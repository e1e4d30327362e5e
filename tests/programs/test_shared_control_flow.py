"""Loops and branches that a program has several times: lowered once where equal.

The reference is plain JAX, or PennyLane's simulator.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import for_loop, grad, qjit
from diastase_runtime.errors import DiastaseError


def functions(compiled):
    """How many functions the module defines beside its entry."""
    return compiled.mlir.count("func.func private @diastase_function_")


def series(x, end):
    """Control flow that is long enough for a function, in other words each time for Python."""

    def step(position, carry):
        for k in range(6):
            carry = carry + 0.1 * jnp.sin(carry + k) * position
        return carry

    return jax.lax.fori_loop(0, end, step, x)


@pytest.mark.xfail(jax.__version_info__ >= (0, 12), reason="equal loops are not shared")
def test_equal_loops_are_one_function():
    def program(count):
        def several(x):
            return [series(x * (k + 2), 3) for k in range(count)]

        return several

    few, many = qjit(program(2)), qjit(program(6))
    x = np.linspace(0.1, 0.9, 5)
    for compiled, count in ((few, 2), (many, 6)):
        for one, other in zip(compiled(x), jax.jit(program(count))(x), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
        assert functions(compiled) == 1


def test_what_differs_is_not_shared():
    """Other constants, other types, other lengths."""

    def program(x):
        wide = jnp.concatenate([x, x])
        return series(x, 3), series(x, 4), series(wide, 3), series(x.astype("float32"), 3)

    x = np.linspace(0.1, 0.9, 5)
    compiled = qjit(program)
    for one, other in zip(compiled(x), jax.jit(program)(x), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-6 if one.dtype == np.float32 else 1e-12)
    assert functions(compiled) == 0


@pytest.mark.xfail(jax.__version_info__ >= (0, 12), reason="equal loops are not shared")
def test_operands_stay_what_they_are():
    """A function writes to none of its operands, which are read again."""

    def program(x):
        y = jnp.cos(x)
        once, twice = series(y, 3), series(y, 3)
        return once + twice, y, series(once, 3)

    x = np.linspace(0.1, 0.9, 5)
    compiled = qjit(program)
    for one, other in zip(compiled(x), jax.jit(program)(x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    assert functions(compiled) == 1


def test_large_arrays_stay_in_place():
    """A function could not write over what it is given."""
    compiled = qjit(lambda x: series(x, 3) + series(2 * x, 3))
    compiled(np.linspace(0.0, 1.0, 5000))
    assert functions(compiled) == 0


def test_each_failure_has_its_own_line():
    def body(_, total):
        for k in range(16):
            total = total + jnp.sin(total * k)
        return total

    def program(x, first, second):
        one = for_loop(0, 4, first)(body)(x)
        two = for_loop(0, 4, second)(body)(x + 1.0)
        return one + two

    compiled = qjit(program)
    assert np.isfinite(compiled(0.3, 1, 2))
    line = program.__code__.co_firstlineno
    for steps, wanted in (((0, 1), line + 1), ((1, 0), line + 2)):
        with pytest.raises(DiastaseError) as raised:
            compiled(0.3, *steps)
        assert raised.value.span.line == wanted


@pytest.mark.parametrize("differentiated", [False, True])
def test_exponentials_of_matrices(differentiated):
    """Many take as many functions as two."""
    generator = np.array([[1.0, 0.3 - 0.2j], [0.3 + 0.2j, -0.7]])

    def unitary(t):
        return jax.scipy.linalg.expm(1j * t * generator)

    def circuit(count):
        @qml.qnode(qml.device("default.qubit", wires=1))
        def several(x):
            for t in x[:count]:
                qml.QubitUnitary(unitary(t), 0)
                qml.RX(0.3, 0)
            return qml.expval(qml.Z(0))

        return several

    x = jnp.array([0.3, 0.8, -0.4])
    few, many = (
        qjit(grad(circuit(count)) if differentiated else circuit(count)) for count in (2, 3)
    )
    reference = jax.grad(circuit(3)) if differentiated else circuit(3)
    np.testing.assert_allclose(many(x), reference(x), atol=1e-10)
    few(x)
    assert functions(few) == functions(many) > 0


@pytest.mark.parametrize("turns_of", [lambda n: 2, lambda n: n], ids=["known", "traced"])
def test_circuits_in_equal_loops(turns_of):
    """Their gradients run several circuits at once, in functions that see nothing around them."""

    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def circuit(x, scale):
        qml.RX(x * scale, 0)
        qml.CNOT([0, 1])
        qml.RY(jnp.sin(x) + scale, 1)
        return qml.expval(qml.Z(1))

    def step(i, value):
        return value + circuit(value, 1.0 * i) * circuit(value + 1, 2.0)

    def program(x, n):
        for _ in range(3):
            x = for_loop(0, turns_of(n), 1)(step)(x)
        return x

    compiled, found = qjit(program), qjit(grad(program))(0.3, 2)
    change = 1e-6
    difference = (compiled(0.3 + change, 2) - compiled(0.3 - change, 2)) / (2 * change)
    np.testing.assert_allclose(found, difference, rtol=1e-6)
    assert functions(compiled) > 0
