"""Each private name of JAX and PennyLane removed in turn: the import goes on, plain programs run.

Where no program can do without a name, the error says which name it is, of which version.
"""

import json
import subprocess
import sys
from pathlib import Path

import jax
import pennylane as qml
import pytest

from diastase.capture.pennylane_compat.private import CIRCUITS, PENNYLANE
from diastase_mlir.jax_compat import EVERY_PROGRAM, JAX

NEEDED = {EVERY_PROGRAM: {"array_program", "circuit"}, CIRCUITS: {"circuit"}}
"""Features that these programs use."""
GROUP = 12
"""Names of one process, which imports JAX and PennyLane once."""


def features():
    """What needs each place."""
    found = {}
    for library in (JAX, PENNYLANE):
        for need in library.needs:
            for place in need.places():
                found.setdefault(place, set()).add(need.feature)
        for patch in library.patches.values():
            for place in patch.places:
                found.setdefault(place.rstrip("?*"), set()).add(patch.feature)
    return found


FEATURES = features()
PLACES = sorted(FEATURES)
GROUPS = [PLACES[first : first + GROUP] for first in range(0, len(PLACES), GROUP)]


@pytest.mark.sample(1)
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group[0])
def test_plain_programs_do_without(group):
    script = str(Path(__file__).with_name("removed_names.py"))
    run = subprocess.run(
        [sys.executable, "-W", "ignore", script, *group],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    outcomes = dict(map(json.loads, run.stdout.splitlines()))
    assert list(outcomes) == group
    versions = (f"jax {jax.__version__}", f"pennylane {qml.__version__}")
    for place, programs in outcomes.items():
        for program, outcome in programs.items():
            needed = any(program in NEEDED.get(feature, ()) for feature in FEATURES[place])
            if outcome == ["right"]:
                continue
            assert needed, (place, program, *outcome)
            kind, text, _ = outcome
            assert kind == "MissingNameError", (place, program, *outcome)
            assert place.replace(":", ".") in text
            assert any(version in text for version in versions)
