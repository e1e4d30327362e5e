"""Programs whose measurements decide what is done next: for every outcome, the same result.

What is compared does not depend on the outcomes, so one run is compared with PennyLane's average.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import cond, for_loop, measure, qjit, while_loop

SEEDS = range(6)


def bell_pair(first, second):
    qml.Hadamard(first)
    qml.CNOT([first, second])


def test_teleportation_of_a_traced_state():
    @qml.qnode(qml.device("default.qubit", wires=3))
    def teleport(theta, phi):
        qml.RY(theta, 0)
        qml.RZ(phi, 0)
        bell_pair(1, 2)
        qml.CNOT([0, 1])
        qml.Hadamard(0)
        along_z, along_x = qml.measure(0), qml.measure(1)
        qml.cond(along_x, qml.X)(wires=2)
        qml.cond(along_z, qml.Z)(wires=2)
        return [qml.expval(pauli(2)) for pauli in (qml.X, qml.Y, qml.Z)]

    theta, phi = 0.7, 1.9
    bloch = [np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)]
    np.testing.assert_allclose(teleport(theta, phi), bloch, atol=1e-10)
    for seed in SEEDS:
        np.testing.assert_allclose(qjit(teleport, seed=seed)(theta, phi), bloch, atol=1e-12)


def test_entanglement_swapping():
    @qml.qnode(qml.device("default.qubit", wires=4))
    def swap():
        bell_pair(0, 1)
        bell_pair(2, 3)
        qml.CNOT([1, 2])
        qml.Hadamard(1)
        flip, sign = qml.measure(2), qml.measure(1)
        qml.cond(flip, qml.X)(wires=3)
        qml.cond(sign, qml.Z)(wires=3)
        return qml.expval(qml.X(0) @ qml.X(3)), qml.expval(qml.Z(0) @ qml.Z(3))

    np.testing.assert_allclose(swap(), [1, 1], atol=1e-10)
    for seed in SEEDS:
        np.testing.assert_allclose(qjit(swap, seed=seed)(), [1, 1], atol=1e-12)


def test_magic_state_injects_a_t_gate():
    """The T gate by a prepared state, a CNOT, a measurement, and S where it was 1."""

    @qml.qnode(qml.device("default.qubit", wires=2))
    def inject(theta):
        qml.RY(theta, 0)
        qml.Hadamard(1)
        qml.T(1)
        qml.CNOT([0, 1])
        outcome = qml.measure(1)
        qml.cond(outcome, qml.S)(wires=0)
        return [qml.expval(pauli(0)) for pauli in (qml.X, qml.Y, qml.Z)]

    bloch = [np.sin(0.9) / np.sqrt(2), np.sin(0.9) / np.sqrt(2), np.cos(0.9)]
    np.testing.assert_allclose(inject(0.9), bloch, atol=1e-10)
    for seed in SEEDS:
        np.testing.assert_allclose(qjit(inject, seed=seed)(0.9), bloch, atol=1e-12)


def test_rounds_of_a_repetition_code_keep_a_state_against_random_flips():
    """In each round at most one random flip, syndromes on reused wires, a correction."""

    @qml.qnode(qml.device("lightning.qubit", wires=5))
    def memory(angle, key, rounds):
        qml.RY(angle, 0)
        qml.CNOT([0, 1])
        qml.CNOT([0, 2])

        @for_loop(0, rounds, 1)
        def round_of(k, corrections):
            damaged = jax.random.randint(jax.random.fold_in(key, k), (), 0, 4)
            cond(damaged < 3)(lambda: qml.X(damaged) and None)()
            for ancilla, pair in ((3, (0, 1)), (4, (1, 2))):
                for wire in pair:
                    qml.CNOT([wire, ancilla])
            first, second = measure(3, reset=True), measure(4, reset=True)
            place = jnp.where(first, jnp.where(second, 1, 0), 2)
            cond(first | second)(lambda: qml.X(place) and None)()
            return corrections + (first | second)

        corrections = round_of(0)
        qml.CNOT([0, 2])
        qml.CNOT([0, 1])
        return corrections, qml.expval(qml.Z(0)), qml.expval(qml.X(0)), qml.probs(wires=[1, 2])

    key = jax.random.key(3)
    damage = [int(jax.random.randint(jax.random.fold_in(key, k), (), 0, 4)) for k in range(9)]
    for seed in SEEDS:
        corrections, along_z, along_x, rest = qjit(memory, seed=seed)(0.8, key, 9)
        assert int(corrections) == sum(place < 3 for place in damage)
        np.testing.assert_allclose([along_z, along_x], [np.cos(0.8), np.sin(0.8)], atol=1e-12)
        np.testing.assert_allclose(rest, [1, 0, 0, 0], atol=1e-12)


def test_five_qubit_code_corrects_every_pauli_on_every_wire():
    generators = ["XZZXI", "IXZZX", "XIXZZ", "ZXIXZ"]
    errors = [(0, 0)] + [(pauli, wire) for wire in range(5) for pauli in (1, 2, 3)]

    def syndrome_of(pauli, wire):
        """The generators that anticommute with an error, as a number."""
        name = "IXYZ"[pauli]
        bits = [g[wire] != "I" and name != "I" and g[wire] != name for g in generators]
        return sum(int(bit) << k for k, bit in enumerate(bits))

    table = np.zeros((16, 2), int)
    for pauli, wire in errors:
        table[syndrome_of(pauli, wire)] = pauli, wire

    def apply_pauli(pauli, wire):
        cond(pauli == 1)(lambda: qml.X(wire) and None)()
        cond(pauli == 2)(lambda: qml.Y(wire) and None)()
        cond(pauli == 3)(lambda: qml.Z(wire) and None)()

    def measured(generator):
        qml.Hadamard(5)
        for wire, name in enumerate(generator):
            if name != "I":
                qml.ctrl(qml.X(wire) if name == "X" else qml.Z(wire), control=5)
        qml.Hadamard(5)
        return measure(5, reset=True)

    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=6))
    def protect(pauli, wire, corrections):
        first = [measured(generator) for generator in generators]  # some code space
        apply_pauli(pauli, wire)
        second = [measured(generator) for generator in generators]
        number = sum(
            (a ^ b).astype(int) << k for k, (a, b) in enumerate(zip(first, second, strict=True))
        )
        apply_pauli(corrections[number, 0], corrections[number, 1])
        third = [measured(generator) for generator in generators]
        return jnp.stack(first), jnp.stack(third), number

    for pauli, wire in errors:
        before, after, number = protect(pauli, wire, jnp.asarray(table))
        np.testing.assert_array_equal(before, after)
        assert int(number) == syndrome_of(pauli, wire)


def test_superdense_coding_sends_two_bits():
    @qml.qnode(qml.device("default.qubit", wires=2))
    def send(first, second):
        bell_pair(0, 1)
        qml.cond(second == 1, qml.X)(wires=0)
        qml.cond(first == 1, qml.Z)(wires=0)
        qml.CNOT([0, 1])
        qml.Hadamard(0)
        return qml.probs()

    compiled = qjit(send)
    for number in range(4):
        expected = np.eye(4)[number]
        np.testing.assert_allclose(compiled(number // 2, number % 2), expected, atol=1e-12)
        np.testing.assert_allclose(send(number // 2, number % 2), expected, atol=1e-12)


@pytest.mark.parametrize("listens", [False, True])
def test_key_exchange_notices_who_listens(listens):
    """BB84: where both used the same basis their bits agree, unless somebody measured between."""

    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def send(bit, basis, listened, basis_between, basis_read):
        cond(bit)(lambda: qml.X(0) and None)()
        cond(basis)(lambda: qml.Hadamard(0) and None)()

        def listen():
            cond(basis_between)(lambda: qml.Hadamard(0) and None)()
            measure(0)
            cond(basis_between)(lambda: qml.Hadamard(0) and None)()

        cond(listened)(listen)()
        cond(basis_read)(lambda: qml.Hadamard(0) and None)()
        return measure(0)

    @qjit(seed=11)
    def exchange(key, listened):
        bits, bases, between, read = jax.random.bernoulli(key, 0.5, (4, 400))

        @for_loop(0, 400, 1)
        def each(k, counts):
            received = send(bits[k], bases[k], listened, between[k], read[k])
            kept = bases[k] == read[k]
            return counts + jnp.array([kept, kept & (received != bits[k])])

        return each(jnp.zeros(2, int))

    kept, wrong = map(int, exchange(jax.random.key(1), listens))
    assert 140 < kept < 260
    # A listener disturbs a quarter: 1 of 10^6 lies outside of five deviations.
    assert (wrong == 0) if not listens else abs(wrong - kept / 4) < 5 * np.sqrt(kept * 3 / 16)


def test_repeating_until_three_heads_counts_as_expected():
    """A while loop around measurements: three heads in a row take 14 throws on average."""

    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def throws():
        @while_loop(lambda run, count: run < 3)
        def throw(run, count):
            qml.Hadamard(0)
            head = measure(0, reset=True)
            return jnp.where(head, run + 1, 0), count + 1

        return throw(0, 0)[1]

    @qjit(seed=4)
    def mean(times):
        @for_loop(0, times, 1)
        def total(_, so_far):
            return so_far + throws()

        return total(0) / times

    assert abs(float(mean(4000)) - 14) < 5 * np.sqrt(142 / 4000)


def test_chsh_inequality_is_violated():
    @qml.qnode(qml.device("default.qubit", wires=2))
    def correlation(a, b):
        bell_pair(0, 1)
        qml.RY(-a, 0)
        qml.RY(-b, 1)
        return qml.expval(qml.Z(0) @ qml.Z(1))

    @qjit
    def chsh(a, a2, b, b2):
        return correlation(a, b) - correlation(a, b2) + correlation(a2, b) + correlation(a2, b2)

    angles = 0, np.pi / 2, np.pi / 4, 3 * np.pi / 4
    np.testing.assert_allclose(chsh(*angles), 2 * np.sqrt(2), atol=1e-12)
    a, a2, b, b2 = angles
    interpreted = correlation(a, b) - correlation(a, b2) + correlation(a2, b) + correlation(a2, b2)
    np.testing.assert_allclose(chsh(*angles), interpreted, atol=1e-10)
