"""Where shots come from, how many there are, what they depend on; counts at the border."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diastase import for_loop, qjit
from diastase.capture.quantum_errors import InvalidSettingError, UnsupportedMeasurementError
from diastase_runtime.errors import InvalidShotsError, OutOfMemoryError


def circuit_with(**settings):
    @qml.qnode(qml.device("default.qubit", wires=2), **settings)
    def circuit(x):
        qml.RX(x, 0)
        qml.CNOT([0, 1])
        return qml.sample(wires=[0, 1]), qml.expval(qml.Z(0)), qml.counts()

    return circuit


@pytest.mark.filterwarnings("ignore::pennylane.exceptions.PennyLaneDeprecationWarning")
def test_where_shots_come_from():
    on_device = qml.device("default.qubit", wires=2, shots=3)
    of_device = qml.QNode(circuit_with().func, on_device)

    @qjit
    def program(x):
        @qml.set_shots(6)
        @qml.qnode(qml.device("lightning.qubit", wires=1))
        def decorated():
            return qml.sample()

        return (
            circuit_with(shots=2)(x)[0],
            of_device(x)[0],
            of_device(x, shots=4)[0],
            qml.set_shots(of_device, 5)(x)[0],
            decorated(),
            qml.set_shots(circuit_with(shots=2), shots=7)(x)[0],
        )

    assert [len(found) for found in program(0.3)] == [2, 3, 4, 5, 6, 7]


def test_no_shots_after_all():
    @qml.set_shots(None)
    @qml.qnode(qml.device("default.qubit", wires=1), shots=10)
    def circuit(x):
        qml.RX(x, 0)
        return qml.expval(qml.Z(0))

    np.testing.assert_allclose(qjit(circuit)(0.4), np.cos(0.4))


def test_traced_shots_compile_once():
    traces = []

    @qjit
    def program(n, x):
        traces.append(n)
        return qml.set_shots(circuit_with(), n)(x)

    for shots in (4, 9, 1):
        samples, mean, counts = program(shots, 0.7)
        assert samples.shape == (shots, 2)
        assert sum(counts.values()) == shots
        np.testing.assert_allclose(mean, np.mean(1 - 2 * samples[:, 0]))
    assert len(traces) == 1


def test_traced_shots_in_a_loop():
    @qjit(seed=3)
    def program(x):
        @for_loop(1, 5, 1)
        def body(i, total):
            samples, *_ = qml.set_shots(circuit_with(), i)(x)
            return total + samples.shape[0] * 10 + samples.sum() // samples.shape[0]

        return body(0)

    assert 100 <= program(0.0) <= 108


@pytest.mark.parametrize("shots", [0, -3])
def test_traced_shots_that_are_none(shots):
    program = qjit(lambda n: qml.set_shots(circuit_with(), n)(0.3))
    with pytest.raises(InvalidShotsError, match=f"with {shots} shots"):
        program(shots)
    assert len(program(2)[0]) == 2  # nothing is left behind


def test_shot_vectors():
    compiled = qjit(circuit_with(shots=[5, (3, 2), 1]), seed=5)(0.9)
    native = circuit_with(shots=[5, (3, 2), 1])(0.9)
    assert [tuple(map(np.shape, part[:2])) for part in compiled] == [
        tuple(map(np.shape, part[:2])) for part in native
    ]
    for samples, mean, counts in compiled:
        np.testing.assert_allclose(mean, np.mean(1 - 2 * samples[:, 0]))
        assert sum(counts.values()) == len(samples)
    joined = np.concatenate([part[0] for part in compiled])
    np.testing.assert_array_equal(joined, qjit(circuit_with(shots=12), seed=5)(0.9)[0])


def test_shot_vector_with_traced_partitions():
    program = qjit(lambda n: qml.set_shots(circuit_with(), [n, 3])(0.5))
    assert [len(part[0]) for part in program(4)] == [4, 3]
    assert [len(part[0]) for part in program(6)] == [6, 3]


def test_seeds():
    circuit = circuit_with(shots=40)
    seeded = qjit(circuit, seed=11)
    first, again = seeded(1.2)[0], seeded(1.2)[0]
    np.testing.assert_array_equal(first, again)
    other = qjit(circuit, seed=12)(1.2)[0]
    assert (first != other).any()
    unseeded = qjit(circuit)
    assert (unseeded(1.2)[0] != unseeded(1.2)[0]).any()
    twice = qjit(lambda x: (circuit(x)[0], circuit(x)[0]), seed=11)(1.2)
    assert (twice[0] != twice[1]).any()


def test_results_in_any_pytree_with_classical_values():
    @qml.qnode(qml.device("default.qubit", wires=1), shots=4)
    def circuit(x):
        qml.X(0)
        return {"a": [qml.sample(), x * 2], "b": (qml.counts(qml.Z(0)), (), None)}

    found = qjit(circuit)(1.5)
    assert found["a"][1] == 3.0
    np.testing.assert_array_equal(found["a"][0], np.ones((4, 1)))
    assert found["b"] == ({-1.0: 4}, (), None)


def test_counts_inside_and_outside():
    @qml.qnode(qml.device("default.qubit", wires=3), shots=300)
    def circuit(x):
        qml.RX(x, 0)
        qml.CNOT([0, 1])
        return qml.counts(), qml.counts(qml.Z(0)), qml.counts(wires=[0, 2], all_outcomes=True)

    def program(x):
        bits, values, every = circuit(x)
        return circuit(x), bits["000"] + bits["110"], values[1.0] + values[-1.0], every["11"]

    (bits, values, every), all_bits, all_values, none = qjit(program, seed=1)(0.9)
    assert set(bits) == {"000", "110"}
    assert list(values) == [-1.0, 1.0]
    assert list(every) == ["00", "01", "10", "11"]
    assert (all_bits, all_values, none) == (300, 300, 0)
    assert all(type(key) is str and type(count) is int for key, count in bits.items())
    outcomes, numbers = qjit(circuit, seed=1, counts="arrays")(0.9)[0]
    np.testing.assert_array_equal(outcomes, np.arange(8))
    assert isinstance(numbers, jax.Array)
    assert numbers.sum() == 300
    assert set(np.flatnonzero(numbers)) == {0, 6}


def test_counts_of_a_batch():
    @qml.qnode(qml.device("default.qubit", wires=2), shots=4)
    def circuit(angles):
        qml.RX(angles, 0)
        return qml.sample(wires=[0, 1]), qml.counts(), qml.counts(qml.Z(0)), qml.expval(qml.Z(0))

    angles = np.array([0.0, np.pi, 0.0])
    found, wanted = qjit(circuit)(angles), circuit(angles)
    np.testing.assert_array_equal(found[0], wanted[0])
    assert found[1:3] == wanted[1:3]
    np.testing.assert_array_equal(found[3], wanted[3])
    outcomes, numbers = qjit(circuit, counts="arrays")(angles)[1]
    assert outcomes.shape == numbers.shape == (3, 4)


@pytest.mark.thorough
@given(
    first=st.integers(1, 300),
    second=st.integers(1, 40),
    angle=st.floats(0, 3),
    wire=st.integers(0, 2),
)
@settings(max_examples=60, deadline=None)
def test_any_number_of_shots(first, second, angle, wire):
    """Sizes are right, and all results are of the same shots; one program for all."""
    for size, part in zip((first, second), _any_number(first, second, angle, wire), strict=True):
        samples, counts, probs, mean, variance, values = part
        assert samples.shape == (size, 3)
        bits = np.asarray(samples)[:, wire]
        assert sum(counts.values()) == size
        np.testing.assert_array_equal(values, 1 - 2 * bits)
        np.testing.assert_allclose(mean, np.mean(values), atol=1e-12)
        np.testing.assert_allclose(variance, np.var(values), atol=1e-12)
        np.testing.assert_allclose(probs, np.bincount(bits, minlength=2) / size)
        strings, numbers = np.unique(samples @ np.array([4, 2, 1]), return_counts=True)
        assert counts == {f"{s:03b}": n for s, n in zip(strings, numbers, strict=True)}


@qjit
def _any_number(first, second, angle, wire):
    @qml.set_shots((first, second))
    @qml.qnode(qml.device("lightning.qubit", wires=3))
    def circuit():
        qml.RX(angle, wire)
        qml.CNOT([wire, (wire + 1) % 3])
        z = qml.Z(wire)
        return (
            qml.sample(), qml.counts(), qml.probs(wires=wire), qml.expval(z), qml.var(z),
            qml.sample(z),
        )  # fmt: skip

    return circuit()


def test_memory_that_there_is_not():
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit():
        return qml.expval(qml.Z(0))

    program = qjit(lambda n: qml.set_shots(circuit, n)())
    with pytest.raises(OutOfMemoryError):
        program(10**14)
    assert program(3) == 1


def test_counts_on_many_wires():
    @qml.qnode(qml.device("default.qubit", wires=18), shots=10)
    def circuit():
        qml.X(17)
        return qml.counts()

    assert qjit(circuit)() == {"0" * 17 + "1": 10}


@pytest.mark.parametrize("key", ["01", "0012", 3, "abc"])
def test_counts_have_no_such_key(key):
    @qml.qnode(qml.device("default.qubit", wires=3), shots=10)
    def circuit():
        return qml.counts()

    with pytest.raises(KeyError):
        qjit(lambda: circuit()[key])()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mcm_method": "one-shot"}, "needs shots"),
        ({"mcm_method": "device"}, "the methods are"),
        ({"shots": 4, "mcm_method": "device"}, "the methods are"),
        ({"shots": 4, "postselect_mode": "pad-invalid-samples"}, "use hw-like"),
    ],
)
def test_invalid_settings(settings, message):
    with pytest.raises(InvalidSettingError, match=message):
        qjit(circuit_with(**settings))(0.1)


def test_invalid_traced_shots():
    program = qjit(lambda n: qml.set_shots(circuit_with(), n)(0.3))
    with pytest.raises(InvalidSettingError, match="an integer"):
        program(2.5)


@pytest.mark.parametrize("kind", [qml.sample, qml.counts, lambda: qml.classical_shadow(0)])
def test_samples_need_shots(kind):
    @qml.qnode(qml.device("default.qubit", wires=1))
    def circuit():
        return kind()

    with pytest.raises(UnsupportedMeasurementError):
        qjit(circuit)()


def test_many_shots_of_a_wide_register():
    @qml.qnode(qml.device("lightning.qubit", wires=20), shots=200_000)
    def circuit(angles):
        @for_loop(0, 20, 1)
        def layer(wire):
            qml.RY(angles[wire], wire)

        layer()
        return qml.expval(qml.Z(19)), qml.probs(wires=[0, 7])

    angles = jnp.linspace(0.1, 3.0, 20)
    mean, probs = qjit(circuit, seed=2)(angles)
    assert abs(mean - np.cos(angles[19])) < 4.9 / np.sqrt(200_000)
    first, second = np.cos(np.asarray(angles)[[0, 7]] / 2) ** 2
    wanted = np.kron([first, 1 - first], [second, 1 - second])
    np.testing.assert_allclose(probs, wanted, atol=4.9 * 0.5 / np.sqrt(200_000))


def test_sizes_inside_of_a_circuit():
    """The adjoint of a loop with traced bounds saves what it carries, in as many rows."""

    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit(angles, n):
        def turns():
            @for_loop(0, n, 1)
            def turn(_, angles):
                qml.RX(angles[0], 0)
                return angles / 2

            turn(angles)

        qml.adjoint(turns)()
        return qml.expval(qml.Z(0))

    shots, angles = 40_000, jnp.array([0.8, 0.1])
    sampled = qjit(qml.set_shots(circuit, shots), seed=1)
    for n in (0, 1, 3):
        exact = np.cos(0.8 * (2 - 0.5 ** (n - 1)) if n else 0.0)
        assert abs(sampled(angles, n) - exact) < 4.9 / np.sqrt(shots)
