"""Numbers put together, computed as vectors: the same numbers, by fewer equations."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from jax import lax

from diastase import qjit
from diastase_mlir.jax_compat import evaluate_jaxpr, rebuilt
from diastase_mlir.rerolling import join_positions, rerolled

LEAST, COUNT = 32, 40
ROWS = np.sin(np.arange(6.0 * COUNT)).reshape(COUNT, 6)


def stacked(number):
    return lambda *arguments: jnp.stack([number(i, *arguments) for i in range(COUNT)])


def concatenated(number):
    return lambda *arguments: lax.concatenate(
        [jnp.reshape(number(i, *arguments), 1) for i in range(COUNT)], 0
    )


NUMBERS = {
    "elements": lambda i, a, x, k: a[i, 2],
    "backwards": lambda i, a, x, k: a[-1 - i, i % 6],
    "arithmetic": lambda i, a, x, k: jnp.sin(2.0 * a[i, 1] + i) * x,
    "parts of one element": lambda i, a, x, k: jnp.reshape(a[i : i + 1, 3], ()) - a[0, 0],
    "few others": lambda i, a, x, k: jnp.exp(x) if i == 7 else a[i, i % 3] + x,
    "numbers known now": lambda i, a, x, k: (a[i, 0], 0.25, x * i)[i % 3],
    "equal ones": lambda i, a, x, k: a[i % 5, 0] * 3,
    "computed places": lambda i, a, x, k: a[k + i % 3, i % 2] * a[i, k],
    "beyond the end": lambda i, a, x, k: a[k + i, 0],
    "integers": lambda i, a, x, k: (a[i, 0] * 10).astype(jnp.int32) + k.astype(jnp.int32) * i,
    "single": lambda i, a, x, k: a[i, 5].astype(jnp.float32) * np.float32(0.1 * i),
    "complex": lambda i, a, x, k: jnp.imag(-1j * a[i, 4]) + jnp.real(x * (1 + 2j)),
    "products": lambda i, a, x, k: jnp.dot(1.5, a[i, 3]),
    "of arrays": lambda i, a, x, k: (a + 1)[i, 1] * a.T[2, i],
    "a part that all have": lambda i, a, x, k: a[i, 0] * jnp.sin(jnp.exp(x * 2.0) + a[0, 1]),
    "truths": lambda i, a, x, k: a[i, 1] > x,
}
ARGUMENTS = jnp.asarray(ROWS), jnp.float64(0.7), jnp.int64(2)


def renewed(function, *arguments):
    """The jaxpr of a function, as it is and with vectors."""
    closed = jax.make_jaxpr(function)(*arguments)
    inner = closed.jaxpr
    joins = join_positions(inner.eqns, LEAST)
    equations = rerolled(inner.eqns, inner.outvars, [], list, lambda equation: False, joins=joins)
    if closed.consts:
        return closed, closed.replace(jaxpr=inner.replace(eqns=list(equations)))
    return closed, rebuilt(closed, inner.invars, equations, inner.outvars)


@pytest.mark.sample(15)
@pytest.mark.parametrize("join", [stacked, concatenated])
@pytest.mark.parametrize("name", NUMBERS)
def test_vectors_are_what_was_put_together(name, join):
    function = join(NUMBERS[name])
    closed, short = renewed(function, *ARGUMENTS)
    (found,), (expected,) = (evaluate_jaxpr(one, ARGUMENTS) for one in (short, closed))
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    assert len(short.jaxpr.eqns) < len(closed.jaxpr.eqns) / 2


def test_numbers_without_anything_in_common_stay():
    def function(x):
        numbers = [x]
        for _ in range(COUNT):
            numbers.append(jnp.sin(numbers[-1]) * numbers[-1])
        return jnp.stack(numbers), jnp.stack(numbers[:8])

    closed, short = renewed(function, 0.4)
    assert [str(equation.primitive) for equation in short.jaxpr.eqns[-2:]] == ["stack", "stack"]
    for one, other in zip(evaluate_jaxpr(short, [0.4]), evaluate_jaxpr(closed, [0.4]), strict=True):
        np.testing.assert_array_equal(one, other)


def test_numbers_that_others_read_too_are_there():
    def function(a):
        numbers = [jnp.cos(a[i]) for i in range(COUNT)]
        return jnp.stack(numbers), numbers[3] + numbers[5], a

    a = jnp.asarray(ROWS[:, 0])
    closed, short = renewed(function, a)
    for one, other in zip(evaluate_jaxpr(short, [a]), evaluate_jaxpr(closed, [a]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-15)


WORDS = [qml.prod(*(pauli(wire) for wire, pauli in enumerate(word)))
         for word in itertools.product([qml.I, qml.X, qml.Y, qml.Z], repeat=4)]  # fmt: skip


def hamiltonian(count):
    def circuit(a, x):
        for wire in range(4):
            qml.RY(x + wire, wire)
            qml.CNOT([wire, (wire + 1) % 4])
        coefficients = [jnp.sin(0.7 * a[i]) * a[0] / (1 + i) for i in range(count)]
        return qml.expval(qml.dot(coefficients, WORDS[1 : 1 + count]))

    return circuit


def derivative(count, name, argnums):
    node = qml.QNode(hamiltonian(count), qml.device(name, wires=4))
    return jax.value_and_grad(node, argnums)


@pytest.mark.thorough
def test_gradients_by_coefficients_that_are_a_vector():
    a = jnp.linspace(0.1, 0.9, COUNT)
    found = qjit(derivative(COUNT, "lightning.qubit", (0, 1)))(a, 0.3)
    expected = derivative(COUNT, "default.qubit", (0, 1))(a, 0.3)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_hamiltonians_are_as_large_for_any_number_of_coefficients():
    """In operations, with their gradients."""

    def operations(count):
        program = qjit(derivative(count, "lightning.qubit", 1))
        return len(program.lower(jnp.linspace(0.1, 0.9, count), 0.3).as_text().splitlines())

    assert operations(50) == operations(100) < 100
