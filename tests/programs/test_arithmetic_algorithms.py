"""Arithmetic on registers, phase and order finding: against the same QNodes interpreted."""

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import qjit


def write(number, wires):
    """A number into wires that are |0>, its most significant bit first."""
    for position, wire in enumerate(wires):
        bit = (number >> (len(wires) - 1 - position)) % 2
        qml.RX(np.pi * bit, wire)


@pytest.mark.sample(2)
@pytest.mark.parametrize(("a", "b"), [(0, 0), (3, 6), (13, 9), (15, 15)])
def test_addition_in_the_fourier_basis(a, b):
    """Draper, quant-ph/0008033: each bit of `a` turns the phases of `b`."""

    @qml.qnode(qml.device("default.qubit", wires=8))
    def add(a, b):
        first, second = range(4), range(4, 8)
        write(a, first)
        write(b, second)
        qml.QFT(wires=second)

        @qml.for_loop(0, 4, 1)
        def of_bit(source):
            @qml.for_loop(0, 4, 1)
            def onto(target):
                power = 6 - source - target
                angle = 2 * np.pi * 2.0**power / 16
                qml.ControlledPhaseShift(angle, wires=[source, target + 4])

            onto()

        of_bit()
        qml.adjoint(qml.QFT)(wires=second)
        return qml.probs(wires=second), qml.probs(wires=first)

    sums, untouched = qjit(add)(a, b)
    interpreted = add(a, b)
    np.testing.assert_allclose(sums, interpreted[0], atol=1e-10)
    assert (int(jnp.argmax(sums)), int(jnp.argmax(untouched))) == ((a + b) % 16, a)


@pytest.mark.parametrize(("a", "b"), [(2, 3), (3, 3), (1, 2)])
def test_multiplication_by_a_template(a, b):
    @qml.qnode(qml.device("default.qubit", wires=8))
    def multiply(a, b):
        write(a, [0, 1])
        write(b, [2, 3])
        qml.OutMultiplier([0, 1], [2, 3], [4, 5, 6, 7])
        return qml.probs(wires=[4, 5, 6, 7])

    product = qjit(multiply)(a, b)
    np.testing.assert_allclose(product, multiply(a, b), atol=1e-10)
    assert int(jnp.argmax(product)) == a * b


def multiply_mod_15(factor, wires):
    """Multiplication by 2, 4, 7, 8, 11, 13 or 14, of a number that is no multiple of 3 or 5."""
    powers = {1: 0, 2: 1, 4: 2, 8: 3, 14: 0, 13: 1, 11: 2, 7: 3}
    for _ in range(powers[factor]):  # a rotation of the bits doubles
        qml.SWAP([wires[0], wires[1]])
        qml.SWAP([wires[1], wires[2]])
        qml.SWAP([wires[2], wires[3]])
    if factor in (14, 13, 11, 7):  # minus one times
        for wire in wires:
            qml.X(wire)


@pytest.mark.parametrize(("base", "order"), [(2, 4), (4, 2), (7, 4), (11, 2), (13, 4)])
def test_shor_finds_the_order_modulo_15_and_so_its_factors(base, order):
    counting, number = [0, 1, 2], [3, 4, 5, 6]

    @qml.qnode(qml.device("default.qubit", wires=7))
    def find_order():
        for wire in counting:
            qml.Hadamard(wire)
        qml.X(6)  # the number 1
        for position, wire in enumerate(counting):
            factor = pow(base, 2 ** (len(counting) - 1 - position), 15)
            qml.ctrl(multiply_mod_15, control=wire)(factor, number)
        qml.adjoint(qml.QFT)(wires=counting)
        return qml.probs(wires=counting)

    probabilities = qjit(find_order)()
    np.testing.assert_allclose(probabilities, find_order(), atol=1e-10)
    peaks = np.flatnonzero(np.asarray(probabilities) > 1e-9)
    assert list(peaks) == [8 * k // order for k in range(order)]
    half = pow(base, order // 2, 15)
    assert {np.gcd(half - 1, 15), np.gcd(half + 1, 15)} <= {1, 3, 5, 15}
    assert any(divisor in (3, 5) for divisor in (np.gcd(half - 1, 15), np.gcd(half + 1, 15)))


@pytest.mark.parametrize("phase", [0.25, 0.3, 0.8125])
def test_phase_estimation_by_the_template(phase):
    @qml.qnode(qml.device("default.qubit", wires=5))
    def estimate(phase):
        qml.X(4)
        unitary = qml.PhaseShift(2 * np.pi * phase, wires=4)
        qml.QuantumPhaseEstimation(unitary, estimation_wires=range(4))
        return qml.probs(wires=range(4))

    np.testing.assert_allclose(qjit(estimate)(phase), estimate(phase), atol=1e-10)


@pytest.mark.parametrize("phase", [0.625, 0.375, 0.9375])
def test_iterative_phase_estimation_with_one_reused_qubit(phase):
    """Each digit is measured and corrects the angle of the next (semiclassical transform)."""

    @qjit
    @qml.qnode(qml.device("default.qubit", wires=2))
    def digits(phase):
        qml.X(1)

        @qml.for_loop(0, 4, 1)
        def measure_digit(k, found):
            qml.Hadamard(0)
            qml.ControlledPhaseShift(2 * np.pi * phase * 2.0 ** (3 - k), wires=[0, 1])
            qml.PhaseShift(-np.pi * found, 0)
            qml.Hadamard(0)
            digit = qml.measure(0, reset=True)
            return (found + digit) / 2

        return measure_digit(0.0)

    np.testing.assert_allclose(digits(phase), phase, atol=1e-12)
