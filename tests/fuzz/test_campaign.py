"""What the campaign has found stays mended, and the campaign itself draws, judges and shrinks."""

import json
import time
from pathlib import Path

import jax
import pytest
from hypothesis import strategies as st

from fuzz import campaign, corpus, grammar, mutants
from fuzz.campaign import batch, judge
from fuzz.corpus import CORPUS, finding
from fuzz.judging import Oracle, Unstable, Wrong, must_equal
from fuzz.mutant_table import MUTANTS
from fuzz.oracles import ORACLES
from fuzz.programs import random_state

jax.config.update("jax_enable_x64", True)

FILES = sorted(CORPUS.glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_was_found(path: Path):
    found = json.loads(path.read_text())
    judge(found["oracle"], found["drawn"])


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", sorted(ORACLES))
def test_oracles_hold_for_some_programs(name, tmp_path, monkeypatch):
    monkeypatch.setattr(campaign, "BATCH", 2)
    monkeypatch.setattr(corpus, "CORPUS", tmp_path)
    counts, found = batch(name, 5, time.monotonic() + 600, tmp_path / "running")
    assert found is None, found.read_text()
    assert counts["right"] > 0


def test_the_page_says_what_each_oracle_compares():
    page = (Path(__file__).parents[2] / "docs" / "trust.md").read_text()
    assert [name for name in ORACLES if f"| `{name}` | " not in page] == []


def test_a_wrong_program_is_shrunk_and_written_down(tmp_path, monkeypatch):
    """The oracle says that no program has two controlled gates."""

    def check(gates):
        if json.dumps(gates).count('"controlled"') > 1:
            raise Wrong("two of them")

    strategy = st.fixed_dictionaries({"gates": grammar.UNITARY})
    monkeypatch.setitem(ORACLES, "at most one", Oracle(strategy, check))
    monkeypatch.setattr(campaign, "BATCH", 300)
    monkeypatch.setattr(corpus, "CORPUS", tmp_path)
    counts, path = batch("at most one", 0, time.monotonic() + 600, tmp_path / "running")
    assert counts["right"] > 10
    found = json.loads(path.read_text())
    assert "two of them" in found["error"]
    assert len(json.dumps(found["drawn"])) < 250
    with pytest.raises(Wrong):
        judge("at most one", found["drawn"])
    assert finding("at most one", found["drawn"], "again") == path


def test_what_rounding_decides_is_not_called_wrong():
    state = random_state(0)

    def steep(s):
        return (s.v * 1e13) % 1.0

    def smooth(s):
        return s.v * 2

    with pytest.raises(Unstable):
        must_equal(steep(state) + 0.3, steep, state)
    with pytest.raises(Wrong):
        must_equal(smooth(state) + 1e-3, smooth, state)
    must_equal(smooth(state) + 1e-9, smooth, state)


@pytest.mark.parametrize("name", MUTANTS)
def test_each_mutant_can_still_be_made(name):
    mutant = MUTANTS[name]
    assert (mutants.SOURCES / mutant.file).read_text().count(mutant.old) == 1
    assert mutant.new != mutant.old
