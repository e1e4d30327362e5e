"""Gradients of what grows: circuits, arrays, updates, loops and branches."""

import jax
import jax.numpy as jnp
import pennylane as qml

from diastase import cond, for_loop, grad, jacobian
from families import family
from families.circuits import WIRES, expval, qnode
from families.elements import array
from families.gate_blocks import COEFFICIENTS, hamiltonian


def rotations(k):
    def program(x):
        for i in range(k):
            qml.RY(x[i], wires=i % WIRES)
            qml.CNOT(wires=[i % WIRES, (i + 1) % WIRES])
        return expval()

    return program


@family(250)
def gradient_of_gates(k):
    return grad(qnode(rotations(k))), jnp.linspace(0.0, 1.0, k)


@family(100)
def gradient_of_gates_of_functions(k):
    def program(x):
        for i in range(k):
            qml.RX(jnp.sin(x * i), wires=i % WIRES)
            qml.CNOT(wires=[i % WIRES, (i + 1) % WIRES])
        return expval()

    return grad(qnode(program)), 0.3


@family(100)
def gradient_by_shifts(k):
    return grad(qnode(rotations(k), diff_method="parameter-shift")), jnp.linspace(0.0, 1.0, k)


@family(100)
def gradient_by_finite_differences(k):
    return grad(qnode(rotations(k)), method="fd"), jnp.linspace(0.0, 1.0, k)


@family(100)
def gradient_by_k_arguments(k):
    def program(*x):
        return rotations(k)(x)

    return grad(qnode(program), argnums=list(range(k))), *(0.1 * i for i in range(k))


@family(4)
def gradient_of_trotter_steps(k):
    def program(coefficients):
        qml.TrotterProduct(hamiltonian(coefficients), 0.7, n=k, order=2)
        return expval()

    return grad(qnode(program)), COEFFICIENTS


@family(2)
def gradient_of_unitaries_of_exponentials(k):
    def program(x):
        for i in range(k):
            matrix = jnp.array([[x[i], 1.0 + i], [1.0 + i, -x[i]]])
            qml.QubitUnitary(jax.scipy.linalg.expm(1j * matrix), wires=i % WIRES)
        return expval()

    return grad(qnode(program)), jnp.linspace(0.1, 0.9, k)


@family(20)
def gradients_in_sequence(k):
    circuit = qnode(rotations(4))

    def program(x):
        for i in range(k):
            x = x - 0.1 * grad(circuit)(x * (1 + i))
        return x

    return program, jnp.linspace(0.0, 1.0, 4)


@family(50)
def gradient_of_observables(k):
    def program(x):
        for wire in range(WIRES):
            qml.RY(x[wire], wires=wire)
        names = (qml.X, qml.Y, qml.Z)
        return [qml.expval(names[i % 3](i % WIRES) @ qml.Z((i + 1) % WIRES)) for i in range(k)]

    return jacobian(qnode(program)), jnp.linspace(0.0, 1.0, WIRES)


@family(50)
def gradient_of_array_operations(k):
    def cost(a):
        for i in range(k):
            a = jnp.sin(a) * (1 + i)
        return jnp.sum(a)

    return grad(cost), array()


@family(20)
def gradient_of_products(k):
    def cost(a):
        for _ in range(k):
            a = jnp.tanh(a @ a.T)
        return jnp.sum(a)

    return grad(cost), jnp.linspace(0.1, 1.0, 16).reshape(4, 4)


@family(100)
def gradient_of_numbers(k):
    def cost(x):
        for i in range(k):
            x = jnp.sin(x) * (1 + i)
        return x

    return grad(cost), 0.3


@family(50)
def gradient_of_elements_set(k):
    def cost(a):
        for i in range(k):
            a = a.at[i % 50].set(jnp.sin(a[(7 * i + 3) % 50]))
        return jnp.sum(a)

    return grad(cost), array()


@family(200)
def gradient_of_elements_read(k):
    def cost(a):
        return sum(jnp.sin(a[i % 50] * i) for i in range(k))

    return grad(cost), array()


@family(20)
def gradient_of_loops_in_sequence(k):
    def cost(x):
        for i in range(k):
            x = for_loop(0, 3, 1)(lambda j, x, i=i: jnp.sin(x) * (1 + i) + j)(x)
        return x

    return grad(cost), 0.3


@family(4)
def gradient_of_loops_nested(k):
    def nested(x, depth):
        if depth == 0:
            return jnp.sin(x)
        return for_loop(0, 1, 1)(lambda j, x: nested(x + j, depth - 1))(x)

    return grad(lambda x: nested(x, k)), 0.3


@family(20)
def gradient_of_branches_in_sequence(k):
    def cost(x):
        for i in range(k):
            branches = cond(x > i)(lambda x=x: jnp.sin(x))
            branches.otherwise(lambda x=x, i=i: x * (1.0 + i))
            x = branches()
        return x

    return grad(cost), 0.3


@family(30)
def gradient_of_circuits_in_sequence(k):
    def one(i):
        def program(x):
            qml.RX(x + i, wires=0)
            qml.CNOT(wires=[0, 1])
            return qml.expval(qml.Z(1))

        return qnode(program, wires=2)

    def cost(x):
        for i in range(k):
            x = one(i)(x)
        return x

    return grad(cost), 0.3
