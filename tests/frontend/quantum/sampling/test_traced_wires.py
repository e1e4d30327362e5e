"""Shots of all wires of a device whose number of wires is traced: one program for every number."""

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import for_loop, measure, qjit


def parity_state(n):
    """All wires but the last are coins; the last is their parity."""

    @for_loop(0, n - 1, 1)
    def coins(i):
        qml.Hadamard(i)
        qml.CNOT([i, n - 1])

    coins()


def test_all_wires():
    traces = []

    def program(n, shots):
        traces.append(n)

        @qml.set_shots(shots)
        @qml.qnode(qml.device("lightning.qubit", wires=n))
        def circuit():
            parity_state(n)
            return (
                qml.sample(), qml.counts(), qml.counts(all_outcomes=True), qml.probs(),
                qml.sample(wires=[0, 1]), qml.expval(qml.Z(0) @ qml.Z(1)),
            )  # fmt: skip

        result = circuit()
        return result, result[1]["011"] + result[1]["000"]

    compiled = qjit(program, seed=5)
    for n, shots in ((3, 40), (2, 7), (6, 500), (3, 20)):
        (samples, counts, every, probs, two, _), some = compiled(n, shots)
        assert samples.shape == (shots, n)
        assert not (np.asarray(samples).sum(axis=1) % 2).any()
        strings = ["".join(map(str, row)) for row in np.asarray(samples)]
        assert counts == {key: strings.count(key) for key in sorted(set(strings))}
        assert list(every) == [f"{key:0{n}b}" for key in range(2**n)]
        np.testing.assert_allclose(probs, np.array(list(every.values())) / shots)
        assert two.shape == (shots, 2)
        assert some == (counts.get("011", 0) + counts.get("000", 0) if n == 3 else 0)
    assert len(traces) == 1


def test_with_measurements_in_the_middle():
    def program(n):
        @qml.qnode(qml.device("lightning.qubit", wires=n), shots=[30, 20])
        def circuit():
            parity_state(n)
            first = measure(0, postselect=1)
            last = measure(n - 1)
            return qml.sample(), qml.sample([first, last]), qml.counts()

        return circuit()

    compiled = qjit(program, seed=2)
    for n in (2, 5):
        for samples, outcomes, counts in compiled(n):
            np.testing.assert_array_equal(np.asarray(samples)[:, [0, n - 1]], outcomes)
            assert sum(counts.values()) == len(samples)
            assert (np.asarray(outcomes)[:, 0] == 1).all()


@pytest.mark.parametrize("form", ["dict", "arrays"])
def test_forms_of_counts(form):
    def program(n, x):
        @qml.qnode(qml.device("lightning.qubit", wires=n), shots=9)
        def circuit(angle):
            qml.RX(angle, 0)
            return qml.counts()

        return circuit(jnp.array(0.0)), circuit(jnp.stack([x, 0.0 * x]))

    one, batch = qjit(program, counts=form)(2, np.pi)
    if form == "dict":
        assert one == {"00": 9}
        assert batch == [{"10": 9}, {"00": 9}]
        return
    np.testing.assert_array_equal(one[0], np.arange(4))
    np.testing.assert_array_equal(one[1], [9, 0, 0, 0])
    np.testing.assert_array_equal(batch[1], [[0, 0, 9, 0], [9, 0, 0, 0]])
