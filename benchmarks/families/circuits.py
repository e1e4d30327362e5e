"""Gates, QNodes and measurements in sequence."""

import jax.numpy as jnp
import numpy as np
import pennylane as qml

from diastase import cond, for_loop, measure
from families import family

WIRES = 4


def qnode(function, wires=WIRES, **options):
    return qml.qnode(qml.device("lightning.qubit", wires=wires), **options)(function)


def expval():
    return qml.expval(qml.Z(0) @ qml.Z(1))


@family(1000)
def gates_of_constants(k):
    def program():
        for i in range(k):
            qml.RX(0.1 + 0.01 * i, wires=i % WIRES)
            qml.CNOT(wires=[i % WIRES, (i + 1) % WIRES])
        return expval()

    return (qnode(program),)


@family(1000)
def gates_of_one_argument(k):
    def program(x):
        for i in range(k):
            qml.RX(x * (1 + 0.01 * i), wires=i % WIRES)
            qml.CNOT(wires=[i % WIRES, (i + 1) % WIRES])
        return expval()

    return qnode(program), 0.3


@family(1000)
def gates_of_elements(k):
    def program(x):
        for i in range(k):
            qml.RY(x[i], wires=i % WIRES)
            qml.CZ(wires=[i % WIRES, (i + 1) % WIRES])
        return expval()

    return qnode(program), jnp.linspace(0.0, 1.0, k)


@family(250)
def gates_of_functions_of_elements(k):
    def program(x):
        for i in range(k):
            qml.Rot(jnp.sin(x[i]), x[i] ** 2, x[i] * x[(7 * i + 3) % k], wires=i % WIRES)
        return expval()

    return qnode(program), jnp.linspace(0.0, 1.0, k)


@family(250)
def gates_on_traced_wires(k):
    def program(x, wire):
        for i in range(k):
            qml.RX(x * i, wires=(wire + i) % WIRES)
        return expval()

    return qnode(program), 0.3, 1


@family(250)
def unitaries_of_constants(k):
    def rotation(angle):
        return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])

    def program():
        for i in range(k):
            qml.QubitUnitary(rotation(0.1 + 0.01 * i).astype(complex), wires=i % WIRES)
        return expval()

    return (qnode(program),)


@family(500)
def gates_in_a_loop(k):
    def program(x):
        @for_loop(0, 3, 1)
        def body(step):
            for i in range(k):
                qml.RX(x * (step + 0.1 * i), wires=i % WIRES)
                qml.CNOT(wires=[i % WIRES, (i + 1) % WIRES])

        body()
        return expval()

    return qnode(program), 0.3


@family(50)
def qnodes_in_sequence(k):
    def one(i):
        def program(x):
            qml.RX(x + i, wires=0)
            qml.CNOT(wires=[0, 1])
            return qml.expval(qml.Z(1))

        return qnode(program, wires=2)

    return lambda x: sum(one(i)(x) for i in range(k)), 0.3


@family(500)
def calls_of_one_qnode(k):
    def program(x):
        qml.RX(x, wires=0)
        qml.CNOT(wires=[0, 1])
        return qml.expval(qml.Z(1))

    circuit = qnode(program, wires=2)
    return lambda x: sum(circuit(x + 0.001 * i) for i in range(k)), 0.3


@family(50)
def qnodes_each_of_the_one_before(k):
    def one(i):
        def program(x):
            qml.RX(x + i, wires=0)
            qml.CNOT(wires=[0, 1])
            return qml.expval(qml.Z(1))

        return qnode(program, wires=2)

    def chain(x):
        for i in range(k):
            x = one(i)(x)
        return x

    return chain, 0.3


@family(100)
def measurements_in_sequence(k):
    def program(x):
        for i in range(k):
            qml.RX(x * (1 + i), wires=i % WIRES)
            measure(i % WIRES, reset=i % 2 == 0)
        return expval()

    return qnode(program), 0.3


@family(100)
def gates_conditional_on_measurements(k):
    def program(x):
        for i in range(k):
            qml.RX(x * (1 + i), wires=0)
            outcome = measure(0)

            @cond(outcome)
            def correct():
                qml.RY(x, wires=1)

            correct()
        return expval()

    return qnode(program), 0.3


@family(100)
def measurements_in_one_formula(k):
    def program(x):
        found = []
        for i in range(k):
            qml.RX(x * (1 + i), wires=0)
            found.append(measure(0))
        return expval(), sum(found)

    return qnode(program), 0.3
