"""What the steps of programs take, on the console and as YAML."""

import re

import jax.numpy as jnp
import pytest

from diastase import debug, profile, qjit
from diastase_mlir.driver.pipeline import PIPELINE

STEPS = ["capture", "generate_ir", "compile", "run"]
LINE = re.compile(
    r"\[DIAGNOSTICS\] (?P<kind>Running|> Total) (?P<step>[\w-]+) *\twalltime: [\d.]+ ms\t"
    r"cputime: [\d.]+ ms(?:\tprogramsize: (?P<size>\d+) lines)?"
)
STAGES = [stage.name for stage in PIPELINE.stages]


@pytest.fixture(autouse=True)
def nothing_is_in_the_cache(monkeypatch):
    monkeypatch.setenv("DIASTASE_CACHE", "0")


def test_steps_on_the_console(capsys):
    f = qjit(lambda x: jnp.sin(x) * 2)
    with debug.instrumentation("session") as nothing:
        f(1.0)
        f(2.0)
        f(jnp.ones(3))
    assert nothing is None
    lines = [LINE.fullmatch(line) for line in capsys.readouterr().err.splitlines()]
    assert all(line and line["kind"] == "Running" for line in lines)
    assert [line["step"] for line in lines] == [*STEPS, "run", *STEPS]
    for line in lines:
        assert (line["size"] is None) == (line["step"] == "run")
    jaxpr, mlir, llvm_ir = (int(line["size"]) for line in lines[:3])
    assert 0 < jaxpr < mlir < llvm_ir
    f(4)
    assert not capsys.readouterr().err


def test_stages_too(capsys):
    with debug.instrumentation("session", detailed=True):
        qjit(lambda x: jnp.sin(x) * 2)(1.0)
    lines = [LINE.fullmatch(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["step"] for line in lines if line["kind"] == "> Total"] == STEPS
    parts = [line["step"] for line in lines if line["kind"] == "Running"]
    assert parts == ["parse", *STAGES, "translate", "optimise", "emit", "link"]


def test_sessions_in_a_file(tmp_path, capsys):
    file = tmp_path / "sessions.yml"
    for name, detailed in (("first one", False), ("second: yes", True)):
        with debug.instrumentation(name, filename=file, detailed=detailed):
            qjit(lambda x: x + 1)(1.0)
    assert not capsys.readouterr().err
    text = file.read_text()
    heads = re.findall(r"^\d{4}-\d\d-\d\d [\d:.]+:\n  name: (.*)\n  system:\n    os: ", text, re.M)
    assert heads == ["first one", '"second: yes"']
    first, second = text.split("\n\n")[:2]
    assert re.findall(r"^    - (\w+):$", first, re.M) == STEPS
    assert "finegrained" not in first
    assert re.findall(r"^    - (\w+):$", second, re.M) == STEPS
    assert re.findall(r"^          - ([\w-]+):$", second, re.M)[1 : len(STAGES) + 1] == STAGES
    assert len(re.findall(r"^        (?:wall|cpu)time: [\d.]+$", second, re.M)) == 8


def test_errors_inside_end_the_session(capsys):
    with pytest.raises(ZeroDivisionError), debug.instrumentation("session"):
        qjit(lambda x: 1 // 0)(1.0)
    with debug.instrumentation("again"):
        qjit(lambda x: x)(1.0)
    assert [LINE.fullmatch(x)["step"] for x in capsys.readouterr().err.splitlines()] == STEPS


def test_only_one_measures_at_a_time(tmp_path):
    with profile(), pytest.raises(RuntimeError, match="already"), debug.instrumentation("session"):
        pass
    with debug.instrumentation("session"), pytest.raises(RuntimeError), profile():
        pass
    with pytest.raises(OSError, match="nowhere"):
        with debug.instrumentation("session", tmp_path / "nowhere" / "file"):
            raise AssertionError("never gets here")
