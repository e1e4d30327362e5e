"""Shots that are shared out: results of all of them, by what they are and by the probabilities."""

import functools
from collections import Counter, namedtuple

import jax
import numpy as np
import pennylane as qml
import pytest

import diastase
from diastase import grad, jacobian, qjit, value_and_grad
from diastase.distributed import map
from diastase.distributed.parts_of_shots import Cut, cut
from diastase_runtime.distributed.errors import (
    BatchError,
    MappedElementError,
    NotCompiledError,
    UnsharedShotsError,
)
from diastase_runtime.errors import WireOutOfRangeError

DEVICE = qml.device("lightning.qubit", wires=2)
ANGLES = np.array([0.4, 1.3])
SHOTS = 2003
"""A prime: 3 parts of 667, and one of 2."""
Found = namedtuple("Found", ["values", "others"])


def rotated(measure, device=DEVICE, **options):
    """A circuit in which Z(0) is 1 with probability cos(x/2)²."""

    @qml.qnode(device, **options)
    def circuit(x):
        qml.RX(x, wires=0)
        qml.CNOT(wires=[0, 1])
        return measure()

    return circuit


expval = qjit(rotated(lambda: qml.expval(qml.Z(0))))


@pytest.mark.parametrize("shots", [*range(1, 50), 999, 1000, 1001, 2003, 4096, 10**5, 10**6 + 3])
def test_parts_have_all_shots(shots):
    parts, size, rest = cut(shots)
    assert parts * size + rest == shots
    assert 0 <= rest < parts <= 32
    assert min(parts, size) > 0
    assert parts == 1 or size >= 500


def test_round_numbers_need_one_program():
    assert [cut(10**n) for n in (3, 4, 5, 6)] == [
        Cut(1, 1000, 0), Cut(10, 1000, 0), Cut(32, 3125, 0), Cut(32, 31250, 0),
    ]  # fmt: skip
    assert cut(SHOTS) == Cut(3, 667, 2)


@pytest.mark.parametrize("shots", [7, 3000, SHOTS])
def test_results_are_those_of_all_shots(shots):
    """All look at the same shots, which `sample` gives: each result is what NumPy makes of them."""

    @qjit
    @qml.qnode(DEVICE)
    def circuit(x):
        qml.RX(x, wires=0)
        qml.RY(x, wires=1)
        values = qml.Z(0) @ qml.Z(1)
        return Found(
            {"sample": qml.sample(values), "mean": qml.expval(values), "var": qml.var(values)},
            [qml.counts(values), qml.counts(), qml.probs(), qml.sample(), qml.sample(wires=1)],
        )

    found = map(circuit, ANGLES, shots=shots, seed=5)
    assert type(found) is Found
    counts, outcomes, probabilities, bits, of_wire = found.others
    assert bits.shape == (2, shots, 2)
    assert of_wire.shape == (2, shots, 1)
    assert bits.dtype == np.int64
    for k in range(2):
        signs = (-1.0) ** bits[k].sum(1)
        assert found.values["sample"][k].tolist() == signs.tolist()
        assert found.values["mean"][k] == pytest.approx(signs.mean(), abs=1e-12)
        assert found.values["var"][k] == pytest.approx(signs.var(), abs=1e-12)
        assert counts[k] == Counter(signs.tolist())
        assert outcomes[k] == Counter(f"{one}{other}" for one, other in bits[k].tolist())
        numbers = np.bincount(bits[k] @ [2, 1], minlength=4)
        assert probabilities[k] == pytest.approx(numbers / shots, abs=1e-12)
        assert of_wire[k, :, 0].tolist() == bits[k, :, 1].tolist()


def test_they_are_as_exact_as_so_many_shots_are():
    """By the probabilities of the circuit, and no less: parts have numbers of their own."""
    angles = np.full(400, 1.3)
    counts = map(qjit(rotated(lambda: qml.counts(wires=0))), angles, shots=SHOTS, seed=3)
    assert {sum(count.values()) for count in counts} == {SHOTS}
    ones = np.array([count["1"] for count in counts])
    chance = np.sin(1.3 / 2) ** 2
    variance = SHOTS * chance * (1 - chance)
    assert abs(ones.mean() - SHOTS * chance) < 5 * np.sqrt(variance / 400)
    assert ones.var() == pytest.approx(variance, rel=5 * np.sqrt(2 / 399))  # of parts alike: thrice


def test_parts_and_elements_have_other_numbers():
    samples = map(qjit(rotated(lambda: qml.sample(wires=0))), np.full(2, 1.5), shots=SHOTS)
    parts = [samples[k, p * 667 : (p + 1) * 667, 0].tobytes() for k in range(2) for p in range(3)]
    assert len(set(parts)) == 6


def test_seeds():
    """Of the map or of the function; else each map has other numbers."""
    angles = np.full(3, 1.3)
    circuit = rotated(lambda: qml.sample())
    one = map(qjit(circuit), angles, shots=SHOTS, seed=np.uint64(11))
    assert map(qjit(circuit, seed=11), angles, shots=SHOTS).tobytes() == one.tobytes()
    assert map(qjit(circuit), angles, shots=SHOTS, seed=11, chunk_size=2).tobytes() == one.tobytes()
    assert map(qjit(circuit), angles, shots=SHOTS).tobytes() != one.tobytes()
    assert map(qjit(circuit), angles[:1], shots=SHOTS, seed=11)[0].tobytes() == one[0].tobytes()


def test_one_part_is_a_call():
    """Its shots replace those of the QNode."""
    circuit = rotated(lambda: (qml.counts(), qml.expval(qml.Z(0)), qml.sample()))
    there = map(qjit(qml.set_shots(circuit, 7)), ANGLES, shots=300, seed=4)
    calls = map(qjit(qml.set_shots(circuit, 300)), ANGLES, seed=4)
    assert there[0] == calls[0]
    assert [each.tobytes() for each in there[1:]] == [each.tobytes() for each in calls[1:]]


def test_programs_are_kept():
    map(expval, ANGLES, shots=SHOTS)
    programs = dict(expval.derived)
    assert len(programs) == 2
    map(expval, np.append(ANGLES, 3.0), shots=SHOTS)
    assert expval.derived == programs
    map(expval, ANGLES.astype(np.float32), shots=SHOTS)
    assert len(expval.derived) == 4
    expval.clear_cache()
    assert not expval.derived


def test_derivatives_are_means():
    """By shifted runs, which look at as many shots each."""
    energy = rotated(lambda: qml.expval(qml.Z(0)))
    values, slopes = map(qjit(value_and_grad(energy)), ANGLES, shots=SHOTS, seed=1)
    assert np.all(np.abs(values - np.cos(ANGLES)) < 5 / np.sqrt(SHOTS))
    assert np.all(np.abs(slopes + np.sin(ANGLES)) < 5 / np.sqrt(2 * SHOTS))
    alone = map(qjit(grad(energy)), ANGLES, shots=SHOTS, seed=2)
    assert np.all(np.abs(alone + np.sin(ANGLES)) < 5 / np.sqrt(2 * SHOTS))
    both = qjit(jacobian(rotated(lambda: {"z": qml.expval(qml.Z(0)), "p": qml.probs(wires=0)})))
    rows = map(both, ANGLES, shots=SHOTS, seed=2)
    assert rows["p"].shape == (2, 2)
    for row in (rows["z"], rows["p"][:, 0] - rows["p"][:, 1]):
        assert np.all(np.abs(row + np.sin(ANGLES)) < 5 / np.sqrt(2 * SHOTS))


def test_outcomes_in_the_middle():
    @qjit
    @qml.qnode(DEVICE)
    def circuit(x):
        qml.RX(x, wires=0)
        m = diastase.measure(0)
        qml.RX(np.pi * m, wires=1)
        measured = qml.sample(m), qml.expval(m), qml.var(m), qml.counts(m), qml.probs(op=[m])
        return *measured, qml.expval(qml.Z(1))

    samples, means, variances, counts, probabilities, signs = map(circuit, ANGLES, shots=SHOTS)
    assert samples.shape == (2, SHOTS)
    for k in range(2):
        assert counts[k] == Counter(samples[k].tolist())
        assert means[k] == pytest.approx(samples[k].mean(), abs=1e-12)
        assert variances[k] == pytest.approx(samples[k].var(), abs=1e-12)
        assert probabilities[k, 1] == pytest.approx(means[k], abs=1e-12)
        assert signs[k] == pytest.approx(1 - 2 * means[k], abs=1e-12)
    assert np.all(np.abs(means - np.sin(ANGLES / 2) ** 2) < 2.5 / np.sqrt(SHOTS))


def test_postselected_shots_that_fill_up():
    @qjit
    @qml.qnode(DEVICE, postselect_mode="fill-shots")
    def circuit(x):
        qml.Hadamard(wires=0)
        diastase.measure(0, postselect=1)
        qml.CNOT(wires=[0, 1])
        return qml.counts()

    assert map(circuit, ANGLES, shots=SHOTS) == [{"11": SHOTS}] * 2


def test_batches_of_operators_have_an_axis_of_their_own():
    circuit = qjit(rotated(lambda: (qml.sample(), qml.counts(), qml.var(qml.Z(0)))))
    samples, counts, variances = map(
        circuit, np.array([ANGLES, ANGLES + 1, ANGLES + 2]), shots=SHOTS
    )
    assert samples.shape == (3, 2, SHOTS, 2)
    for k, j in np.ndindex(3, 2):
        signs = 1 - 2 * samples[k, j, :, 0]
        assert variances[k, j] == pytest.approx(signs.var(), abs=1e-12)
        assert counts[k][j].get("11", 0) == samples[k, j, :, 1].sum()


def test_other_options_of_qjit():
    """Counts as arrays, control flow of Python's, single precision."""
    numbers = qjit(rotated(lambda: qml.counts(all_outcomes=True)), counts="arrays")
    outcomes, found = map(numbers, ANGLES, shots=SHOTS)
    assert outcomes.tolist() == [[0, 1, 2, 3]] * 2
    assert found.sum(1).tolist() == [SHOTS] * 2

    @qml.qnode(DEVICE)
    def flips(x):
        if x > 1:
            qml.X(wires=0)
        return qml.expval(qml.Z(0))

    assert map(qjit(flips, autograph=True), ANGLES, shots=SHOTS).tolist() == [1, -1]
    with jax.enable_x64(False):
        narrow = map(qjit(rotated(lambda: qml.probs())), ANGLES, shots=SHOTS)
    assert narrow.dtype == np.float32
    assert narrow.sum(1) == pytest.approx(1, abs=1e-6)


def test_an_element_that_fails_is_named():
    @qjit
    @qml.qnode(DEVICE)
    def on_wire(wire):
        qml.X(wires=wire)
        return qml.counts()

    with pytest.raises(MappedElementError, match=r"(?s)element 1 of on_wire: .* wire 5") as caught:
        map(on_wire, np.array([0, 5, 1]), shots=SHOTS)
    assert isinstance(caught.value.error, WireOutOfRangeError)


@qml.transform
def squared(tape):
    return [tape], lambda results: results[0] ** 2


@qml.qnode(DEVICE)
def postselecting(x):
    qml.RX(x, wires=0)
    diastase.measure(0, postselect=1)
    return qml.expval(qml.Z(1))


@qml.qnode(DEVICE, mcm_method="single-branch-statistics")
def in_one_branch(x):
    qml.RX(x, wires=0)
    diastase.measure(0)
    return qml.expval(qml.Z(0))


@qml.qnode(DEVICE)
def seen(x):
    qml.RX(x, wires=0)
    qml.Snapshot()
    return qml.expval(qml.Z(0))


UNSHARED = {
    "results of classical_shadow cannot": rotated(lambda: qml.classical_shadow(wires=[0])),
    "results of shadow_expval cannot": rotated(lambda: qml.shadow_expval(qml.Z(0))),
    "results of state cannot": rotated(lambda: qml.state()),
    "what it returns beside its measurements": rotated(lambda: (qml.expval(qml.Z(0)), 2.0)),
    "drops shots that are not postselected": postselecting,
    "a part has its own outcomes": in_one_branch,
    "returns snapshots": seen,
    "squared computes its results of": squared(rotated(lambda: qml.expval(qml.Z(0)))),
    "derivatives of var are no averages": grad(rotated(lambda: qml.var(qml.Z(0)))),
    "spsa": grad(rotated(lambda: qml.expval(qml.Z(0)), diff_method="spsa")),
    "this is a function": lambda x: seen(x) ** 2,
    "a shot vector": qml.set_shots(seen, [10, 20]),
}


@pytest.mark.parametrize("reason", UNSHARED)
def test_what_cannot_be_merged(reason):
    """It is said before anything runs, and what to do."""
    with pytest.raises(UnsharedShotsError, match=f"(?s){reason}.*repeats="):
        map(qjit(UNSHARED[reason]), ANGLES, shots=SHOTS)


def test_errors_name_the_line_of_the_measurement():
    with pytest.raises(UnsharedShotsError, match=r"qml\.expval") as caught:
        map(qjit(postselecting), ANGLES, shots=SHOTS)
    assert caught.value.span.file == __file__
    assert caught.value.span.function == "postselecting"


def test_what_is_made_of_a_derivative_is_none():
    slope = grad(rotated(lambda: qml.expval(qml.Z(0))))
    steepness = functools.wraps(slope)(lambda x: slope(x) ** 2)
    with pytest.raises(UnsharedShotsError, match="this is a function"):
        map(qjit(steepness), ANGLES, shots=SHOTS)


def test_counts_of_values_as_arrays():
    circuit = qjit(rotated(lambda: qml.counts(qml.Z(0))), counts="arrays")
    with pytest.raises(UnsharedShotsError, match="counts='dict'"):
        map(circuit, ANGLES, shots=SHOTS)


@pytest.mark.parametrize("shots", [0, -3, 10.0, True, "all", [10, 20]])
def test_what_is_no_number_of_shots(shots):
    with pytest.raises(BatchError, match=r"shots is .* not a positive integer"):
        map(expval, ANGLES, shots=shots)


def test_options_that_do_not_go_together():
    with pytest.raises(BatchError, match="leave repeats= out"):
        map(expval, ANGLES, shots=10, repeats=2)
    with pytest.raises(BatchError, match="shots= merges them here: use repeats="):
        map(expval, ANGLES, shots=10, futures=True)
    with pytest.raises(UnsharedShotsError, match=r"f\.diastase: a saved function has the shots"):
        map("f.diastase", ANGLES, shots=10)
    with pytest.raises(NotCompiledError, match="is a QNode"):
        map(seen, ANGLES, shots=10)
    with pytest.raises(BatchError, match="no part of a traced program"):
        jax.jit(lambda x: map(expval, x, shots=10))(ANGLES)
    with pytest.raises(BatchError, match="seed is -1"):
        map(expval, ANGLES, shots=SHOTS, seed=-1)


def test_progress_is_shown_once(capsys):
    map(expval, ANGLES, shots=SHOTS, progress=True)
    assert capsys.readouterr().out.count("100% Completed") == 1
