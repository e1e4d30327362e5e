"""What circuits return: terms, observables, results of several kinds."""

import itertools

import jax.numpy as jnp
import pennylane as qml

from families import family
from families.circuits import qnode

WIRES = 6


def words(k):
    """K different products of Pauli operators, with growing numbers of them."""
    every = itertools.product("IXYZ", repeat=WIRES)
    next(every)  # the identity
    return [qml.pauli.string_to_pauli_word("".join(word)) for word in itertools.islice(every, k)]


def prepare(x):
    for wire in range(WIRES):
        qml.RY(x + wire, wires=wire)
        qml.CNOT(wires=[wire, (wire + 1) % WIRES])


@family(200)
def terms_of_constant_coefficients(k):
    constants = [0.1 + 0.01 * i for i in range(k)]

    def program(x):
        prepare(x)
        return qml.expval(qml.Hamiltonian(constants, words(k)))

    return qnode(program, WIRES), 0.3


@family(200)
def terms_of_traced_coefficients(k):
    def program(x, coefficients):
        prepare(x)
        return qml.expval(qml.dot(coefficients, words(k)))

    return qnode(program, WIRES), 0.3, jnp.linspace(0.1, 0.9, k)


@family(100)
def terms_of_coefficients_computed(k):
    def program(x):
        prepare(x)
        return qml.expval(qml.Hamiltonian([jnp.sin(x * i) for i in range(k)], words(k)))

    return qnode(program, WIRES), 0.3


@family(50)
def terms_written_as_a_sum(k):
    def program(x):
        prepare(x)
        operator = x * qml.Z(0)
        for i, word in enumerate(words(k)):
            operator = operator + (x + i) * word
        return qml.expval(operator)

    return qnode(program, WIRES), 0.3


@family(100)
def observables_returned(k):
    def program(x):
        prepare(x)
        return [qml.expval(word) for word in words(k)]

    return qnode(program, WIRES), 0.3


@family(100)
def variances_returned(k):
    def program(x):
        prepare(x)
        return [qml.var(word) for word in words(k)]

    return qnode(program, WIRES), 0.3


@family(50)
def hamiltonians_returned(k):
    def program(x, coefficients):
        prepare(x)
        every = words(4 * k)
        return [qml.expval(qml.dot(coefficients, every[4 * i : 4 * i + 4])) for i in range(k)]

    return qnode(program, WIRES), 0.3, jnp.linspace(0.1, 0.9, 4)


@family(100)
def probabilities_returned(k):
    def program(x):
        prepare(x)
        return [qml.probs(wires=[i % WIRES]) for i in range(k)]

    return qnode(program, WIRES), 0.3


@family(50)
def observables_of_shots(k):
    def program(x):
        prepare(x)
        return [qml.expval(word) for word in words(k)]

    return qml.set_shots(qnode(program, WIRES), shots=10), 0.3
