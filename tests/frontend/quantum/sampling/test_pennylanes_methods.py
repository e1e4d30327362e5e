"""Our methods for mid-circuit measurements against PennyLane's own, both with shots."""

import numpy as np
import pennylane as qml
import pytest
from scipy import stats

from diastase import qjit

SHOTS = 3_000
RARE = 1e-6


def circuit(postselect):
    qml.RY(1.1, 0)
    first = qml.measure(0)
    qml.cond(first, qml.RX)(0.9, 1)
    second = qml.measure(1, reset=True, postselect=postselect)
    qml.RY(0.8, 1)
    qml.CNOT([1, 2])
    third = qml.measure(2)
    qml.cond(second & third, qml.RY)(0.5, 0)
    return qml.counts([first, second, third]), qml.counts(wires=[0, 1, 2]), qml.sample(third)


def same_distribution(found: dict, wanted: dict) -> None:
    """Two samples of one distribution: the chi-square test of a two-row table."""
    keys = sorted(set(found) | set(wanted))
    table = np.array([[counts.get(key, 0) for key in keys] for counts in (found, wanted)])
    rare = table.sum(axis=0) < 10
    table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    assert table.shape[1] < 2 or stats.chi2_contingency(table).pvalue > RARE


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("method", "postselect", "mode"),
    [
        ("one-shot", None, None),
        ("one-shot", 1, "hw-like"),
        ("tree-traversal", None, None),
        ("tree-traversal", 0, "hw-like"),
        ("deferred", None, None),
        ("deferred", 1, "hw-like"),
        ("deferred", 1, "fill-shots"),
    ],
)
def test_same_distributions(method, postselect, mode):
    def qnode(device):
        return qml.QNode(
            lambda: circuit(postselect), device, shots=SHOTS, mcm_method=method,
            postselect_mode=mode,
        )  # fmt: skip

    found = qjit(qnode(qml.device("lightning.qubit", wires=3)), seed=6)()
    wanted = qnode(qml.device("default.qubit", seed=16))()
    for ours, theirs in zip(found[:2], wanted[:2], strict=True):
        same_distribution(ours, theirs)
    valid = len(wanted[2])
    chance = min(valid / SHOTS, 1 - 1e-9)
    spread = 4.9 * np.sqrt(2 * SHOTS * chance * (1 - chance))
    assert abs(len(found[2]) - valid) <= spread
    assert found[2].dtype == wanted[2].dtype
    assert found[2].ndim == wanted[2].ndim


def test_shapes_and_dtypes_of_outcomes():
    """PennyLane's, as `one-shot` gives them."""

    def body():
        qml.RY(1.1, 0)
        first = qml.measure(0)
        qml.RY(0.7, 0)
        second = qml.measure(0)
        return (
            qml.sample(first), qml.sample([first, second]), qml.expval(first),
            qml.var(second), qml.probs(op=first), qml.probs(op=[first, second]),
            qml.sample(qml.Z(0)), qml.sample(wires=0), qml.expval(qml.X(0)),
        )  # fmt: skip

    found = qjit(qml.QNode(body, qml.device("lightning.qubit", wires=1), shots=9))()
    wanted = qml.QNode(body, qml.device("default.qubit", wires=1), shots=9, mcm_method="one-shot")()
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.shape == np.shape(theirs)
        assert ours.dtype == np.asarray(theirs).dtype
