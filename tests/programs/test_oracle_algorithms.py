"""Algorithms with an oracle, whose secret is an argument: against the same QNodes interpreted."""

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import qjit


def both(qnode, *arguments):
    """Results of a QNode compiled and interpreted, compared; the compiled ones."""
    compiled = qjit(qnode)(*arguments)
    np.testing.assert_allclose(compiled, qnode(*arguments), atol=1e-10)
    return compiled


def flip_bits(number, wires):
    """An X on each wire where a number, whose first bit is the most significant, has a 1."""

    @qml.for_loop(0, len(wires), 1)
    def flip(wire):
        bit = (number >> (len(wires) - 1 - wire)) % 2
        qml.cond(bit == 1, qml.X)(wires=wire)

    flip()


@pytest.mark.parametrize("secret", [0, 5, 15])
def test_bernstein_vazirani_finds_the_secret_with_one_question(secret):
    @qml.qnode(qml.device("default.qubit", wires=5))
    def ask(secret):
        qml.X(4)
        for wire in range(5):
            qml.Hadamard(wire)

        @qml.for_loop(0, 4, 1)
        def oracle(wire):
            bit = (secret >> (3 - wire)) % 2
            qml.cond(bit == 1, qml.CNOT)(wires=[wire, 4])

        oracle()
        for wire in range(4):
            qml.Hadamard(wire)
        return qml.probs(wires=range(4))

    assert int(jnp.argmax(both(ask, secret))) == secret


@pytest.mark.parametrize("kind", range(4))
def test_deutsch_jozsa_tells_constant_from_balanced(kind):
    """Four functions of three bits: 0, 1, the first bit, the parity."""

    @qml.qnode(qml.device("default.qubit", wires=4))
    def decide(kind):
        qml.X(3)
        for wire in range(4):
            qml.Hadamard(wire)
        qml.cond(kind == 1, qml.X)(wires=3)

        def parity():
            for wire in range(3):
                qml.CNOT([wire, 3])

        qml.cond(kind == 2, lambda: qml.CNOT([0, 3]))()
        qml.cond(kind == 3, parity)()
        for wire in range(3):
            qml.Hadamard(wire)
        return qml.probs(wires=range(3))

    is_constant = both(decide, kind)[0]
    np.testing.assert_allclose(is_constant, kind < 2, atol=1e-12)


@pytest.mark.parametrize("secret", [0b101, 0b110, 0b011])
def test_simon_gives_what_is_orthogonal_to_the_period(secret):
    @qml.qnode(qml.device("default.qubit", wires=6))
    def ask(secret):
        for wire in range(3):
            qml.Hadamard(wire)
        for wire in range(3):
            qml.CNOT([wire, wire + 3])
        # Where the highest bit of the period is set, the period is added: f(x) = f(x + period).
        highest = 1 - secret // 4

        @qml.for_loop(0, 3, 1)
        def mask(wire):
            bit = (secret >> (2 - wire)) % 2
            qml.cond(bit == 1, qml.CNOT)(wires=[highest, wire + 3])

        mask()
        for wire in range(3):
            qml.Hadamard(wire)
        return qml.probs(wires=range(3))

    probabilities = both(ask, secret)
    orthogonal = [bin(number & secret).count("1") % 2 == 0 for number in range(8)]
    np.testing.assert_allclose(probabilities, np.where(orthogonal, 0.25, 0), atol=1e-12)


@pytest.mark.parametrize("marked", [0, 6, 11])
def test_grover_amplifies_a_traced_number(marked):
    @qml.qnode(qml.device("default.qubit", wires=4))
    def search(marked, rounds):
        for wire in range(4):
            qml.Hadamard(wire)

        @qml.for_loop(0, rounds, 1)
        def iterate(_):
            flip_bits(15 - marked, range(4))
            qml.ctrl(qml.Z, control=[0, 1, 2])(wires=3)
            flip_bits(15 - marked, range(4))
            qml.GroverOperator(wires=range(4))

        iterate()
        return qml.probs()

    probabilities = both(search, marked, 3)
    np.testing.assert_allclose(probabilities[marked], np.sin(7 * np.arcsin(1 / 4)) ** 2, atol=1e-12)


def test_counting_estimates_how_many_are_marked():
    """Phase estimation of Grover's operator: the eigenphases are +-2 asin sqrt(2/4)."""

    @qml.qnode(qml.device("default.qubit", wires=6))
    def count():
        searched, counting = [0, 1], [2, 3, 4, 5]
        for wire in (*searched, *counting):
            qml.Hadamard(wire)

        def grover():
            qml.Z(1)  # marks 1 and 3
            qml.GroverOperator(wires=searched)

        for position, wire in enumerate(counting):
            controlled = qml.ctrl(grover, control=wire)

            @qml.for_loop(0, 2 ** (len(counting) - 1 - position), 1)
            def repeat(_, controlled=controlled):
                controlled()

            repeat()
        qml.adjoint(qml.QFT)(wires=counting)
        return qml.probs(wires=counting)

    probabilities = both(count)
    likely = np.flatnonzero(np.asarray(probabilities) > 1e-9)
    angles = 2 * np.pi * likely / 16
    np.testing.assert_allclose(4 * np.sin(angles / 2) ** 2, 2.0, atol=1e-9)


@pytest.mark.parametrize("amplitude", [0.1, 0.25])
def test_amplitude_amplification_of_a_prepared_state(amplitude):
    @qml.qnode(qml.device("default.qubit", wires=1))
    def amplify(angle, rounds):
        qml.RY(angle, 0)

        @qml.for_loop(0, rounds, 1)
        def reflect(_):
            qml.Z(0)
            qml.adjoint(qml.RY)(angle, 0)
            qml.Z(0)
            qml.RY(angle, 0)

        reflect()
        return qml.probs(wires=0)

    angle = 2 * np.arcsin(np.sqrt(amplitude))
    for rounds in range(4):
        found = both(amplify, angle, rounds)[1]
        np.testing.assert_allclose(found, np.sin((2 * rounds + 1) * angle / 2) ** 2, atol=1e-12)
