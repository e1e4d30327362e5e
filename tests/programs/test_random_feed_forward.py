"""Random programs on basis states: every outcome is certain, so plain Python knows the result.

Gates permute basis states; measurements steer branches and loops, nested at random, on known and
on traced wires.
"""

import numpy as np
import pennylane as qml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diastase import cond, for_loop, measure, qjit, while_loop
from sampled import examples

WIRES = 4
ROUNDS = 3
"""Most iterations of a loop that waits for an outcome."""

wires = st.integers(0, WIRES - 1)
orders = st.permutations(range(WIRES))
blocks = st.recursive(
    st.one_of(
        st.tuples(st.just("flip"), st.integers(1, 3), orders, st.booleans()),
        st.tuples(st.just("swap"), orders),
        st.tuples(st.just("measure"), wires, st.booleans()),
    ),
    lambda inner: st.one_of(
        st.tuples(st.just("branch"), wires, st.lists(inner, max_size=3), st.lists(inner)),
        st.tuples(st.just("loop"), st.integers(0, 3), st.lists(inner, max_size=3)),
        st.tuples(st.just("until"), wires, st.lists(inner, max_size=3)),
    ),
    max_leaves=10,
)


def apply_all(program, total, shift):
    """Apply blocks; `total` counts outcomes, `shift` (0) makes wires traced."""
    for block in program:
        total = apply(block, total, shift)
    return total


def apply(block, total, shift):
    match block:
        case "flip", count, order, traced:
            labels = [wire + shift for wire in order] if traced else order
            gate = (qml.X, qml.CNOT, qml.Toffoli)[count - 1]
            gate(wires=labels[:count])
            return total
        case "swap", order:
            qml.SWAP(wires=[order[0], order[1] + shift])
            return total
        case "measure", wire, reset:
            return total + measure(wire + shift if reset else wire, reset=reset)
        case "branch", wire, then, otherwise:
            return apply_branch(wire, then, otherwise, total, shift)
        case "loop", count, body:
            return for_loop(0, count + shift, 1)(
                lambda index, total: apply_all(body, total + index, shift)
            )(total)
        case "until", wire, body:
            return apply_until(wire, body, total, shift)


def apply_branch(wire, then, otherwise, total, shift):
    @cond(measure(wire))
    def branch():
        return apply_all(then, total, shift)

    @branch.otherwise
    def branch_otherwise():
        return apply_all(otherwise, total + 10, shift)

    return branch()


def apply_until(wire, body, total, shift):
    @while_loop(lambda outcome, rounds, total: ~outcome & (rounds < ROUNDS))
    def search(outcome, rounds, total):
        total = apply_all(body, total, shift)
        return measure(wire), rounds + 1, total

    return search(measure(wire), 0, total)[2]


def expect_all(program, total, bits):
    """The same on a list of bits, which changes in place."""
    for block in program:
        total = expect(block, total, bits)
    return total


def expect(block, total, bits):
    match block:
        case "flip", count, order, _:
            *controls, target = order[:count]
            bits[target] ^= all(bits[control] for control in controls)
        case "swap", order:
            bits[order[0]], bits[order[1]] = bits[order[1]], bits[order[0]]
        case "measure", wire, reset:
            total += bits[wire]
            bits[wire] = bits[wire] and not reset
        case "branch", wire, then, otherwise:
            return (
                expect_all(then, total, bits)
                if bits[wire]
                else expect_all(otherwise, total + 10, bits)
            )
        case "loop", count, body:
            for index in range(count):
                total = expect_all(body, total + index, bits)
        case "until", wire, body:
            rounds = 0
            while not bits[wire] and rounds < ROUNDS:
                total, rounds = expect_all(body, total, bits), rounds + 1
    return total


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(program=st.lists(blocks, min_size=1, max_size=5))
def test_random_feed_forward(program):
    @qjit
    @qml.qnode(qml.device("default.qubit", wires=WIRES))
    def circuit(shift: int):
        total = apply_all(program, shift, shift)
        return total, qml.probs(), [qml.expval(qml.Z(wire)) for wire in range(WIRES)]

    bits = [False] * WIRES
    expected_total = expect_all(program, 0, bits)
    total, probabilities, expectations = circuit(0)
    assert int(total) == expected_total
    index = int("".join(str(int(bit)) for bit in bits), 2)
    np.testing.assert_allclose(probabilities, np.eye(2**WIRES)[index], atol=1e-12)
    np.testing.assert_allclose(expectations, [1 - 2 * bit for bit in bits], atol=1e-12)
