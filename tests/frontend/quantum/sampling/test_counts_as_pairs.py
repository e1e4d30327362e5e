"""Counts are PennyLane's dictionary, and unpack into Catalyst's arrays: outcomes, numbers."""

import copy
import json
import pickle  # noqa: TID251 - users may
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pennylane as qml
import pytest

from diastase import DiastaseError, qjit


def circuit(num_wires, observable=None, shots=40):
    @qml.qnode(qml.device("lightning.qubit", wires=num_wires), shots=shots)
    def circuit():
        qml.Hadamard(0)
        return qml.counts(observable) if observable is not None else qml.counts()

    return circuit


@pytest.mark.parametrize("num_wires", [1, 3, 17])
def test_unpacked(num_wires):
    """With one wire there are two keys, which a dictionary would unpack into."""
    program = circuit(num_wires)
    half = 2 ** (num_wires - 1)

    def inside():
        outcomes, numbers = program()
        counts = program()
        return outcomes, numbers, counts[0].shape[0], counts[1].sum()

    outcomes, numbers = qjit(program, seed=3)()
    arrays = qjit(program, seed=3, counts="arrays")()
    (again, found), _ = qjit(program, seed=3)(), None
    traced_outcomes, traced_numbers, size, total = qjit(inside, seed=3)()
    assert (size, total) == (2 * half, 40)
    for ours in ((outcomes, numbers), (again, found), (traced_outcomes, traced_numbers)):
        np.testing.assert_array_equal(ours[0], arrays[0])
        assert set(np.flatnonzero(np.asarray(ours[1]))) <= {0, half}
        assert np.sum(ours[1]) == 40
    np.testing.assert_array_equal(numbers, arrays[1])


def test_by_number():
    counts = qjit(circuit(2))()
    np.testing.assert_array_equal(counts[0], range(4))
    np.testing.assert_array_equal(counts[1], [counts["00"], 0, counts["10"], 0])
    for missing in (2, -1, "11"):
        with pytest.raises(KeyError):
            counts[missing]


def test_values_have_no_numbers_of_their_own():
    counts = qjit(circuit(1, qml.X(0)))()
    assert counts == {1.0: 40}
    assert counts[1] == 40
    with pytest.raises(KeyError):
        counts[0]
    outcomes, numbers = counts
    assert (outcomes.tolist(), numbers.tolist()) == ([1.0], [40])


def test_else_it_is_a_dictionary():
    counts = qjit(circuit(2))()
    keys = ["00", "10"]
    assert isinstance(counts, dict)
    assert list(counts) == sorted(counts) == [key for key in counts] == [*counts] == keys
    assert dict(counts) == counts == {**counts} == copy.deepcopy(counts)
    assert pickle.loads(pickle.dumps(counts)) == json.loads(json.dumps(counts)) == counts
    doubled = jax.tree.map(lambda number: 2 * number, counts)
    assert doubled == {key: 2 * number for key, number in counts.items()}


def test_with_a_star_it_is_refused():
    counts = qjit(circuit(2))()
    with pytest.raises(DiastaseError, match=r"keys \['00', '10'\]"):
        dict(zip(*counts, strict=True))
    with pytest.raises(DiastaseError, match=r"keys \['00', '10'\]"):
        list(*qjit(circuit(2))())
    with pytest.raises(DiastaseError, match=r"keys \['00', '10'\]"):
        print(*counts)


def test_a_function_in_c_that_is_given_them_gets_the_keys():
    counts = qjit(circuit(2))()
    assert sorted(*[counts]) == sorted(*(counts,), reverse=False) == ["00", "10"]
    with ThreadPoolExecutor(1) as executor:
        assert executor.submit(sorted, counts).result() == ["00", "10"]
    assert list(*(each for each in [counts])) == ["00", "10"]
