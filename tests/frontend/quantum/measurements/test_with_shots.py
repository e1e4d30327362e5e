"""Every observable of the tables with shots, known and traced, against its exact distribution."""

import pytest

from frontend.quantum.measurements.tables import OBSERVABLES
from frontend.quantum.measurements.with_shots import differences, outcomes

NAMES = list(OBSERVABLES)
CHUNKS = [tuple(NAMES[start : start + 8]) for start in range(0, len(NAMES), 8)]


@pytest.mark.sample(2)
@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("names", CHUNKS, ids=range(len(CHUNKS)))
def test_statistics_of_shots(names, traced):
    for name, values in zip(names, outcomes(names, traced), strict=True):
        assert not isinstance(values, Exception), f"{name}: {values}"
        assert differences(name, values) == []
