"""Arrays of sizes known only at run time in quantum regions: resized beside the state, in adjoints.

Each circuit is compiled once and compared with PennyLane's default.qubit at several sizes.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml

from diastase import cond, for_loop, qjit, while_loop

SIZES = (0, 1, 2, 5)


def device(wires=3):
    return qml.device("default.qubit", wires=wires)


def check(circuit, *arguments, sizes=SIZES):
    compiled = qjit(lambda *values: circuit(*values))
    for n in sizes:
        found, expected = compiled(n, *arguments), circuit(n, *arguments)
        leaves, wanted = jax.tree.leaves(found), jax.tree.leaves(expected)
        for leaf, other in zip(leaves, wanted, strict=True):
            assert leaf.shape == np.shape(other)
            np.testing.assert_allclose(leaf, other, atol=1e-10)


def apply(angles):
    """A layer of gates, one for each angle."""

    @for_loop(0, angles.shape[0], 1)
    def loop(k):
        qml.RX(angles[k], k % 3)
        qml.CNOT([k % 3, (k + 1) % 3])

    loop()


def test_a_growing_list_of_angles_beside_the_state():
    @qml.qnode(device())
    def circuit(n, x):
        @for_loop(0, n, 1)
        def loop(i, angles):
            apply(angles)
            return jnp.concatenate([angles, jnp.full(1, x * i)])

        angles = loop(jnp.ones(n) * x)
        qml.RY(jnp.sum(angles), 0)
        return qml.state()

    check(circuit, 0.3)


def test_a_shrinking_list_of_angles_beside_the_state():
    @qml.qnode(device())
    def circuit(n, x):
        qml.Hadamard(0)

        @while_loop(lambda angles, count: count < 3, allow_array_resizing=True)
        def loop(angles, count):
            apply(angles)
            return angles[1:], count + 1

        angles, count = loop(jnp.arange(n) * x + 0.1, 0)
        apply(angles)
        qml.RZ(x * count, 1)
        return qml.expval(qml.Z(0)), qml.expval(qml.X(1))

    check(circuit, 0.8)


def test_a_branch_that_returns_angles_and_applies_gates():
    @qml.qnode(device())
    def circuit(n, x):
        @cond(n > 1)
        def branch():
            qml.RX(x, 0)
            return jnp.arange(n) * x

        @branch.otherwise
        def other():
            return jnp.full(4, x)

        apply(branch())
        return qml.state()

    check(circuit, 0.4)


def test_the_index_as_the_number_of_angles():
    @qml.qnode(device())
    def circuit(n, x):
        @for_loop(0, n, 1)
        def loop(i, angles):
            apply(angles)
            return jnp.ones(i) * x + jnp.sum(angles)

        qml.RY(jnp.sum(loop(jnp.ones(n))), 0)
        return qml.expval(qml.Z(0) @ qml.Z(1))

    check(circuit, 0.4, sizes=(1, 2, 5))


def test_adjoint_of_a_function_of_arrays_of_any_size():
    @qml.qnode(device())
    def circuit(n, x):
        captured = (jnp.arange(n + 1) + 0.5) * x

        def layer(angles, others):
            qml.RX(jnp.sum(angles), 0)
            qml.Rot(angles[-1], captured[n], jnp.max(captured), 1)
            qml.CNOT([0, 1])
            qml.RY(angles @ others, 2)
            qml.S(2)
            qml.PhaseShift(captured[::-1][n], 1)

        qml.Hadamard(0)
        layer(captured, captured * 2)
        qml.adjoint(layer)(jnp.arange(n + 2) * x, jnp.ones(n + 2))
        qml.adjoint(qml.adjoint(layer))(captured, captured)
        return qml.state()

    check(circuit, 0.3)


def test_adjoint_of_gates_on_matrices_of_any_size():
    @qml.qnode(device())
    def circuit(n, x):
        angles = jnp.outer(jnp.arange(n), jnp.ones(n)) * x

        def layer(values):
            qml.QubitUnitary(jax.scipy.linalg.expm(1j * jnp.eye(2) * jnp.sum(values)), wires=0)
            qml.ctrl(qml.RX(jnp.sum(values[:, :1]), wires=1), control=0)

        qml.Hadamard(0)
        qml.adjoint(layer)(angles)
        return qml.state()

    check(circuit, 0.3)


def test_adjoints_inside_loops_that_resize():
    @qml.qnode(device())
    def circuit(n, x):
        weights = jnp.arange(n) * x

        def layer(angles):
            qml.RX(jnp.sum(angles) + jnp.sum(weights), 0)
            qml.CNOT([0, 1])
            qml.RY(angles.shape[0] * x, 1)

        @for_loop(0, n, 1)
        def loop(i, angles):
            layer(angles * 0.5)
            qml.adjoint(layer)(angles)
            return jnp.concatenate([angles, weights[: i + 1]])

        qml.adjoint(layer)(loop(weights))
        return qml.state()

    check(circuit, 0.3)


def test_a_circuit_in_a_loop_whose_results_grow():
    @qml.qnode(device(1))
    def circuit(angles):
        qml.RX(jnp.sum(angles), 0)
        return qml.expval(qml.Z(0))

    def program(n):
        @for_loop(0, n, 1, allow_array_resizing=True)
        def loop(i, energies):
            return jnp.concatenate([energies, circuit(energies + i)[None]])

        return loop(jnp.full(1, 0.25))

    check(program)
