"""The processor as it is noted in the cache: believed only for this processor and this LLVM."""

import json

import pytest

from diastase_toolchain import processor
from diastase_toolchain.errors import TargetProcessorError
from diastase_toolchain.processor import HostProcessor, asked_processor, known_processor
from diastase_toolchain.source_hash import read_note, write_note

NOTED = HostProcessor("triple", "name", "+feature")
CPUINFO = "processor\t: 0\nmodel\t: 1\ncpu MHz\t: {mhz}\nflags\t: {flags}\n\nprocessor\t: 1\n"


@pytest.fixture(autouse=True)
def this_processor(monkeypatch):
    """Whatever processor the suite is run for."""
    monkeypatch.delenv(processor.VARIABLE, raising=False)


@pytest.fixture
def cpuinfo(tmp_path, monkeypatch):
    """A description of a processor in place of the system's."""
    path = tmp_path / "cpuinfo"
    path.write_text(CPUINFO.format(mhz=1, flags="avx2"))
    monkeypatch.setattr(processor, "_PROCESSORS", path)
    return path


def noted(directory):
    """Let a note be made, and change what it says."""
    assert known_processor(directory) == asked_processor()
    (note,) = directory.glob("processor-*.json")
    write_note(note, json.dumps(vars(NOTED)))
    return note


def test_a_note_is_believed(tmp_path, cpuinfo):
    noted(tmp_path)
    cpuinfo.write_text(CPUINFO.format(mhz=2, flags="avx2"))  # the speed of the moment
    assert known_processor(tmp_path) == NOTED


@pytest.mark.parametrize(
    "text", [CPUINFO.format(mhz=1, flags="avx512f"), "processor\t: 0\nmodel\t: 1\n"]
)
def test_a_note_about_another_processor_or_an_unknown_one_is_not(tmp_path, cpuinfo, text):
    noted(tmp_path)
    cpuinfo.write_text(text)
    assert known_processor(tmp_path) == asked_processor()


def test_a_note_for_another_llvm_is_not(tmp_path, cpuinfo, monkeypatch):
    noted(tmp_path)
    monkeypatch.setattr(processor, "llvmlite_version", lambda: "0")
    assert known_processor(tmp_path) == asked_processor()


@pytest.mark.parametrize("text", ["", "[]", '{"triple": 1}'])
def test_a_damaged_note_is_written_anew(tmp_path, cpuinfo, text):
    note = noted(tmp_path)
    write_note(note, text)
    assert known_processor(tmp_path) == asked_processor()
    assert json.loads(read_note(note)) == vars(asked_processor())


def test_a_note_with_a_flipped_bit_is_not_believed(tmp_path, cpuinfo):
    """A feature that the processor does not have would be an illegal instruction."""
    note = noted(tmp_path)
    damaged = note.read_bytes().replace(b"+", b"-", 1)
    note.write_bytes(damaged)
    assert b"-" in damaged
    assert known_processor(tmp_path) == asked_processor()


def test_without_a_directory_or_a_description_llvm_is_asked(tmp_path, cpuinfo):
    assert known_processor(None) == asked_processor()
    cpuinfo.unlink()
    assert known_processor(tmp_path) == asked_processor()
    assert known_processor(tmp_path / "missing") == asked_processor()


def test_a_level_that_is_named(tmp_path, cpuinfo, monkeypatch):
    monkeypatch.setattr(processor, "LEVELS", {"x86-64-v9": asked_processor().features})
    noted(tmp_path)
    monkeypatch.setenv("DIASTASE_TARGET_CPU", "x86-64-v9")
    assert known_processor(tmp_path).name == asked_processor().name == "x86-64-v9"


@pytest.mark.parametrize(
    ("level", "reason"), [("pentium", "none of x86-64-v2"), ("x86-64-v4", "no tail")]
)
def test_a_level_that_is_unknown_or_too_high(monkeypatch, level, reason):
    levels = {"x86-64-v2": "+sse3", "x86-64-v4": "+tail"}
    monkeypatch.setattr(processor, "LEVELS", levels)
    monkeypatch.setenv("DIASTASE_TARGET_CPU", level)
    with pytest.raises(TargetProcessorError, match=reason):
        asked_processor()
