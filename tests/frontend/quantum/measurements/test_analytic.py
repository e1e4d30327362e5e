"""Every measurement of the tables without shots, in four forms, against `default.qubit`."""

import pytest

from frontend.quantum.measurements.runner import CHUNK, cases, difference, outcomes
from frontend.quantum.measurements.tables import (
    NO_EIGENBASIS,
    OBSERVABLES,
    OF_OBSERVABLES,
    ON_WIRES,
)

CASES = cases()
CHUNKS = [CASES[start : start + CHUNK] for start in range(0, len(CASES), CHUNK)]


@pytest.mark.sample(3)
@pytest.mark.parametrize("number", range(len(CHUNKS)))
def test_as_default_qubit(number):
    chunk = CHUNKS[number]
    wrong = {
        f"{case.name} {case.traced_numbers} {case.traced_wires}": problem
        for case, value in zip(chunk, outcomes(chunk), strict=True)
        if (problem := refused(value) or difference(case, value))
    }
    assert wrong == {}


def refused(value):
    return str(value) if isinstance(value, Exception) else None


def test_none_is_left_out():
    assert NO_EIGENBASIS.keys() <= OBSERVABLES.keys()
    number = len(OBSERVABLES) * len(OF_OBSERVABLES) - len(NO_EIGENBASIS) + len(ON_WIRES)
    assert len(CASES) == 4 * number
