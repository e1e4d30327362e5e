"""Other transformations of what grows: batches, products with Jacobians, second derivatives."""

import jax
import jax.numpy as jnp
import pennylane as qml

from diastase import for_loop, jacobian, jvp, vjp, vmap
from families import family
from families.circuits import WIRES, expval, qnode
from families.derivatives import rotations
from families.elements import array


@family(250)
def batch_of_gates(k):
    return vmap(qnode(rotations(k))), jnp.linspace(0.0, 1.0, 3 * k).reshape(3, k)


@family(100)
def batch_of_array_operations(k):
    def program(a):
        for i in range(k):
            a = jnp.sin(a) * i + jnp.sum(a)
        return a

    return vmap(program), jnp.ones((3, 6))


@family(100)
def batch_of_numbers(k):
    def program(x):
        for i in range(k):
            x = jnp.sin(x) * i
        return x

    return vmap(program), jnp.ones(3)


@family(50)
def batch_of_elements_set(k):
    def program(a, x):
        for i in range(k):
            a = a.at[i % 50].set(x * i)
        return a

    return vmap(program), jnp.ones((3, 50)), jnp.ones(3)


@family(20)
def batches_in_sequence(k):
    def program(a):
        for i in range(k):
            a = vmap(lambda x, i=i: jnp.sin(x) * i)(a)
        return a

    return program, jnp.ones(3)


@family(100)
def jvp_of_gates(k):
    circuit = qnode(rotations(k))

    def program(x, t):
        return jvp(circuit, (x,), (t,))

    return program, jnp.linspace(0.0, 1.0, k), jnp.ones(k)


@family(50)
def jvp_of_array_operations(k):
    def function(a):
        for i in range(k):
            a = jnp.sin(a) * (1 + i)
        return a

    return lambda a, t: jvp(function, (a,), (t,)), array(), array()


@family(50)
def vjp_of_array_operations(k):
    def function(a):
        for i in range(k):
            a = jnp.sin(a) * (1 + i)
        return a

    return lambda a, t: vjp(function, (a,), (t,)), array(), array()


@family(100)
def jacobian_of_gates(k):
    def program(x):
        for i in range(k):
            qml.RY(x[i % 3], wires=i % WIRES)
            qml.CNOT(wires=[i % WIRES, (i + 1) % WIRES])
        return qml.probs(wires=[0, 1])

    return jacobian(qnode(program)), jnp.array([0.1, 0.2, 0.3])


@family(20)
def hessian_of_gates(k):
    """By three parameters, each in a third of k gates."""

    def program(x):
        for i in range(k):
            qml.RY(x[i % 3], wires=i % WIRES)
            qml.CNOT(wires=[i % WIRES, (i + 1) % WIRES])
        return expval()

    return jax.hessian(qnode(program)), jnp.array([0.1, 0.2, 0.3])


@family(20)
def hessian_of_array_operations(k):
    def cost(a):
        for i in range(k):
            a = jnp.sin(a) * (1 + i)
        return jnp.sum(a)

    return jax.hessian(cost), jnp.array([0.1, 0.2, 0.3])


@family(20)
def hessian_of_numbers(k):
    def cost(x, y):
        for i in range(k):
            x, y = jnp.sin(y) * (1 + i), x * y
        return x + y

    return jax.hessian(cost), 0.3, 0.4


@family(20)
def gradient_of_a_batch(k):
    def cost(x):
        return jnp.sum(jax.vmap(qnode(rotations(k)))(x))

    return jax.grad(cost), jnp.linspace(0.0, 1.0, 3 * k).reshape(3, k)


@family(20)
def gradient_of_a_loop_of_gates(k):
    def program(x):
        @for_loop(0, 3, 1)
        def layer(step):
            for i in range(k):
                qml.RY(x[i] * step, wires=i % WIRES)

        layer()
        return expval()

    return jax.grad(qnode(program)), jnp.linspace(0.0, 1.0, k)
