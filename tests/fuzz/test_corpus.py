"""What the campaign has found stays mended, and the campaign itself draws, checks and shrinks."""

import json
from pathlib import Path

import pytest

from fuzz.campaign import CORPUS, batch, judge
from fuzz.oracles import ORACLES, Wrong, oracle
from fuzz.programs import random_state
from hypothesis import strategies as st

FILES = sorted(CORPUS.glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_was_found(path: Path):
    found = json.loads(path.read_text())
    judge(found["oracle"], found["drawn"])
