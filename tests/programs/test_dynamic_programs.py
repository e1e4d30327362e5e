"""The programs that docs/catalyst-comparison.md compares: all work here, and the page says so."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def _load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


programs, verdicts = _load("dynamic_programs"), _load("dynamic_verdicts")


@pytest.mark.sample(5)
@pytest.mark.filterwarnings("ignore:.*empty.*:RuntimeWarning")
@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_works_at_every_size(name):
    api = verdicts.system("diastase")
    assert verdicts.judge(programs.PROGRAMS[name], api) == ("works", "")


def test_the_page_is_about_these_programs():
    page = (ROOT / "docs" / "catalyst-comparison.md").read_text()
    rows = re.findall(r"^\| (.+?) \| (.+) \| (\S+) \|$", page, re.M)
    assert [name for name, _, _ in rows if name != "program"] == list(programs.PROGRAMS)
    assert {ours for name, _, ours in rows if name != "program"} == {"works"}
