"""One compilation for every number of qubits: programs on `qml.device(…, wires=n)`."""

from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import cond, for_loop, measure, qjit
from diastase.capture.quantum_errors import WireTypeError
from diastase.jit.stages.stages import Stage
from diastase_engine.state_vector.state import records
from diastase_mlir.lowering.quantum import registers
from diastase_runtime.errors import (
    NegativeQubitsError,
    TooManyQubitsError,
    WireOutOfRangeError,
)


def ghz(n):
    @qml.qnode(qml.device("lightning.qubit", wires=n))
    def circuit():
        qml.Hadamard(0)

        @for_loop(0, n - 1, 1)
        def entangle(i):
            qml.CNOT([i, i + 1])

        entangle()
        return {
            "probs": qml.probs(),
            "state": qml.state(),
            "ends": qml.expval(qml.Z(0) @ qml.Z(n - 1)),
            "last": (qml.probs(wires=n - 1), qml.density_matrix(n - 1), qml.purity(n - 1)),
        }

    return circuit()


def fourier_transform(n, number):
    @qml.qnode(qml.device("default.qubit", wires=n))
    def circuit():
        @for_loop(0, n, 1)
        def prepare(i):
            qml.RY(np.pi * ((number >> (n - 1 - i)) & 1), i)

        @for_loop(0, n, 1)
        def rows(i):
            qml.Hadamard(i)

            @for_loop(i + 1, n, 1)
            def columns(j):
                qml.ControlledPhaseShift(np.pi / 2.0 ** (j - i), wires=[j, i])

            columns()

        @for_loop(0, n // 2, 1)
        def reverse(i):
            qml.SWAP([i, n - 1 - i])

        prepare()
        rows()
        reverse()
        return qml.state(), qml.var(qml.X(n - 1))

    return circuit()


def search(n, marked):
    """Grover's search among 2^n; n - 2 more wires hold the AND of the others, n is at least 3."""

    def all_ones():
        @for_loop(1, n - 2, 1)
        def there(k):
            qml.Toffoli([k + 1, n + k - 1, n + k])

        @for_loop(n - 3, 0, -1)
        def back(k):
            qml.Toffoli([k + 1, n + k - 1, n + k])

        qml.Toffoli([0, 1, n])
        there()
        qml.CZ([2 * n - 3, n - 1])
        back()
        qml.Toffoli([0, 1, n])

    @qml.qnode(qml.device("lightning.qubit", wires=2 * n - 2))
    def circuit():
        on_data = for_loop(0, n, 1)

        def hadamard(i):
            qml.Hadamard(i)

        def flip(i):
            qml.RX(np.pi * (1 - ((marked >> (n - 1 - i)) & 1)), i)

        def hadamard_and_flip(i):
            qml.Hadamard(i)
            qml.X(i)

        def flip_and_hadamard(i):
            qml.X(i)
            qml.Hadamard(i)

        @for_loop(0, jnp.floor(np.pi / 4 * jnp.sqrt(2.0**n)).astype(int), 1)
        def iterate(_):
            on_data(flip)()
            all_ones()
            on_data(flip)()
            on_data(hadamard_and_flip)()
            all_ones()
            on_data(flip_and_hadamard)()

        on_data(hadamard)()
        iterate()
        return qml.probs()

    return circuit()


def compiled_once(function, calls):
    """The results of all calls, for which one program is compiled."""
    compiled = []
    load_compiled = Stage._compiled

    def counted(stage, *arguments):
        compiled.append(stage)
        return load_compiled(stage, *arguments)

    program = qjit(function)
    with patch.object(Stage, "_compiled", counted):
        results = [program(*arguments) for arguments in calls]
    assert len(compiled) == 1
    return results


def check(function, calls):
    for arguments, found in zip(calls, compiled_once(function, calls), strict=True):
        expected = function(*arguments)
        leaves, wanted = map(jax.tree.leaves, (found, expected))
        for leaf, value in zip(leaves, wanted, strict=True):
            assert leaf.shape == np.shape(value)
            assert leaf.dtype == np.asarray(value).dtype
            np.testing.assert_allclose(leaf, value, atol=1e-9)


@pytest.mark.thorough
def test_entangled_states_of_1_to_12_qubits():
    check(ghz, [(n,) for n in range(1, 13)])


def test_fourier_transforms_of_1_to_9_qubits():
    check(fourier_transform, [(n, (5 * n + 1) % 2**n) for n in range(1, 10)])


def test_searches_among_8_to_64():
    calls = [(n, (3 * n) % 2**n) for n in range(3, 7)]
    check(search, calls)
    for (n, marked), found in zip(calls, map(search, *zip(*calls, strict=True)), strict=True):
        assert found[marked << (n - 2)] > 0.9


def test_measurements_and_branches():
    @qjit(seed=3)
    def program(n):
        @qml.qnode(qml.device("lightning.qubit", wires=n))
        def circuit():
            @for_loop(0, n, 1)
            def flip_twice(i):
                qml.Hadamard(i)
                cond(measure(i))(lambda: qml.X(i))()

            flip_twice()
            return qml.probs()

        return circuit()

    for n in range(1, 6):
        np.testing.assert_allclose(program(n), np.eye(2**n)[0], atol=1e-12)


def test_sizes_of_results_are_sizes():
    @qjit
    def program(n):
        @qml.qnode(qml.device("default.qubit", wires=n))
        def circuit():
            qml.X(n - 1)
            return qml.probs()

        found = circuit()
        return found @ jnp.arange(found.shape[0]), found.shape[0], circuit() + found

    for n in range(1, 6):
        place, size, twice = program(n)
        assert (place, size) == (1, 2**n)
        assert twice[1] == 2


def test_no_qubits():
    @qjit
    def program(n):
        return qml.QNode(lambda: qml.probs(), qml.device("default.qubit", wires=n))()

    np.testing.assert_array_equal(program(0), [1])


@pytest.mark.parametrize(
    ("number", "error"),
    [
        (-1, NegativeQubitsError),
        (0, WireOutOfRangeError),
        (3, WireOutOfRangeError),
        (40, TooManyQubitsError),
        (10**12, TooManyQubitsError),
    ],
)
def test_numbers_that_do_not_fit(number, error):
    @qjit
    def program(n):
        @qml.qnode(qml.device("default.qubit", wires=n))
        def circuit():
            for_loop(0, n, 1)(lambda i: qml.Hadamard(i))()
            qml.X(3)
            return qml.state()

        return circuit()

    with pytest.raises(error):
        program(number)
    assert program(4).shape == (16,)


@pytest.mark.parametrize(
    ("device", "process", "error", "message"),
    [
        (
            lambda n: qml.device("reference.qubit", wires=n),
            qml.probs,
            WireTypeError,
            "only default",
        ),
        (lambda n: qml.device("default.qubit", wires=n * 1.0), qml.probs, WireTypeError, "integer"),
        (
            lambda n: qml.device("default.qubit", wires=n),
            lambda: qml.expval(qml.X("a")),
            WireTypeError,
            "0, 1, 2",
        ),
    ],
)
def test_refused(device, process, error, message):
    def program(n):
        return qml.QNode(process, device(n))()

    with pytest.raises(error, match=message):
        qjit(program)(2)


def test_samples_of_all_wires():
    def program(n):
        @qml.set_shots(200)
        @qml.qnode(qml.device("default.qubit", wires=n))
        def circuit():
            qml.X(0)
            qml.Hadamard(n - 1)
            return qml.sample()

        return circuit()

    sizes = [2, 3, 6]
    for n, found in zip(sizes, compiled_once(program, [(n,) for n in sizes]), strict=True):
        assert found.shape == (200, n)
        assert set(np.asarray(found[:, 0])) == {1}
        assert not np.any(found[:, 1 : n - 1])
        assert 40 < found[:, n - 1].sum() < 160  # beyond 8 standard deviations


def test_the_largest_number_is_the_engines():
    assert registers.MAX_QUBITS == records.MAX_QUBITS
