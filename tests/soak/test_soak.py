"""Each scenario at its smallest, and what the report says of what grows."""

import dataclasses

import jax
import pytest

from soak.__main__ import run
from soak.all_scenarios import SCENARIOS
from soak.measures import Measures
from soak.programs import Call, WrongResult
from soak.report import Outcome, merged, table

jax.config.update("jax_enable_x64", True)

IN_THIS_PROCESS = [name for name in SCENARIOS if "spawned" not in name]


@pytest.mark.sample(14)
@pytest.mark.filterwarnings("ignore:.*fork")
@pytest.mark.parametrize("name", IN_THIS_PROCESS)
def test_a_scenario_at_its_smallest(name):
    found = SCENARIOS[name]
    made = list(found.run(found.least))
    assert made[-1] >= found.least
    assert made == sorted(made)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["calls: circuits", "processes spawned while 8 threads call"])
def test_a_scenario_in_a_process_of_its_own(name):
    outcome = run(name, 1e-6)
    assert outcome.failure is None, outcome.errors
    assert outcome.late.calls >= SCENARIOS[name].least


def outcome(**grown: int) -> Outcome:
    early = Measures(100, 2**29, 2**26, 5, 10, 1200, 0)
    late = dataclasses.replace(early, calls=1000)
    late = dataclasses.replace(late, **{k: getattr(late, k) + by for k, by in grown.items()})
    measured = {"early": dataclasses.asdict(early), "late": dataclasses.asdict(late), "seconds": 1}
    return Outcome(SCENARIOS["calls: classical"], 1000, None, "", measured)


def test_what_grows_is_said():
    assert outcome().verdict == outcome(resident=2**20, mappings=3).verdict == "flat"
    assert outcome(resident=2**24).verdict == "memory grow"
    assert outcome(descriptors=1, files=2).verdict == "descriptors, files grow"
    assert not outcome(threads=1).is_good
    died = Outcome(SCENARIOS["calls: classical"], 1000, "exit -11", "Segmentation fault")
    assert died.verdict in table([died])
    assert not died.is_good
    text = merged(table([died]), table([outcome()]))
    assert text == table([outcome()])


def test_a_wrong_result_is_found():
    Call(lambda x: x + 1e-13, (1.0,), 1.0).check()
    for right in (1.1, 1, (1.0,)):
        with pytest.raises(WrongResult):
            Call(lambda x: x, (1.0,), right).check()
