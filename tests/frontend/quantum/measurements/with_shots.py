"""Measurements with shots of the observables of the tables, against their exact distributions.

Run in `tests`: `python -m measurements.with_shots` prints how many agree, and which are refused.
"""

import collections
import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pennylane as qml

from diastase import qjit
from diastase_runtime.errors import DiastaseError
from frontend.quantum.measurements.runner import ANGLES, DEVICE, Case, dense_matrix, run_eagerly
from frontend.quantum.measurements.tables import NUMBERS, OBSERVABLES, PLACES, prepare
from frontend.quantum.sampling.distributions import Exact

SHOTS = 10_000
DEVIATIONS = 4.9
"""A normal number lies further out once in a million."""
KINDS: Mapping[str, Callable[[Any], Any]] = {
    "expval": qml.expval,
    "var": qml.var,
    "sample": qml.sample,
    "counts": qml.counts,
}


def compiled(names: Sequence[str], traced: bool) -> Sequence[Sequence[Any]]:
    """All kinds of each observable, from one program; traced: its numbers and wires."""
    cases = [Case("expval", name, traced, traced) for name in names]

    @qjit(seed=17)
    @qml.set_shots(SHOTS)
    @qml.qnode(DEVICE)
    def circuit(angles: Any, numbers: Any, places: Any) -> Any:
        prepare(angles)
        return tuple(
            tuple(kind(case.observable_on(numbers, places)) for kind in KINDS.values())
            for case in cases
        )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PennyLane on what it thinks is not Hermitian
        return circuit(ANGLES, NUMBERS, PLACES)


def outcomes(names: Sequence[str], traced: bool) -> list[Any]:
    """The values of all kinds of each observable, or the error that compiling it raises."""
    try:
        return list(compiled(names, traced))
    except DiastaseError as error:
        if len(names) == 1:
            return [error]
    middle = len(names) // 2
    return [*outcomes(names[:middle], traced), *outcomes(names[middle:], traced)]


def differences(name: str, values: Sequence[Any]) -> list[str]:
    """What is wrong with the statistics of an observable."""
    exact, spread = _exact(name)
    mean, variance, samples, counts = values
    checks: dict[str, Callable[[], None]] = {
        "expval": lambda: _check_mean(mean, exact.mean, spread),
        "var": lambda: exact.check_variance(variance, SHOTS),
        "sample": lambda: exact.check_samples(samples),
        "counts": lambda: exact.check_counts(counts),
    }
    wrong: list[str] = []
    for kind, check in checks.items():
        try:
            check()
        except AssertionError as error:
            wrong.append(f"{kind}({name}): {error}")
    return wrong


def _check_mean(found: Any, expected: float, spread: float) -> None:
    assert abs(found - expected) <= DEVIATIONS * spread / np.sqrt(SHOTS) + 1e-9, (found, expected)


@functools.cache
def _exact(name: str) -> tuple[Exact, float]:
    """The distribution, and a bound on the deviation of one shot.

    The words of a sum may be measured in shots of their own: then it is the sum of all weights.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        observable = OBSERVABLES[name](NUMBERS, [int(wire) for wire in PLACES])
        matrix = np.asarray(dense_matrix(observable))
    values, vectors = np.linalg.eigh(matrix)
    exact = Exact(values, abs(vectors.conj().T @ np.asarray(run_eagerly(qml.state))) ** 2)
    words = qml.pauli_decompose(matrix).terms()[0] if matrix.any() else []
    return exact, float(max(np.sqrt(exact.variance), np.sum(np.abs(words))))


def main() -> None:
    """Run all of them."""
    totals: collections.Counter[str] = collections.Counter()
    names = list(OBSERVABLES)
    for traced in (False, True):
        for start in range(0, len(names), 8):
            chunk = names[start : start + 8]
            for name, values in zip(chunk, outcomes(chunk, traced), strict=True):
                if isinstance(values, Exception):
                    totals["refused"] += len(KINDS)
                    print(name, traced, values)
                    continue
                wrong = differences(name, values)
                totals["different"] += len(wrong)
                totals["equal"] += len(KINDS) - len(wrong)
                print(*wrong, sep="\n", end="\n" if wrong else "")
    print(dict(totals))


if __name__ == "__main__":
    main()
