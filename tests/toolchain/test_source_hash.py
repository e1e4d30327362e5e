"""`sources`: the hash of files follows their contents, whatever notes say of how they were."""

import os
import time

import pytest

from diastase_toolchain import source_hash
from diastase_toolchain.source_hash import hash_of_files, python_files, read_note, write_note


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Two files that count as settled at once, and the folder of the notes."""
    monkeypatch.setattr(source_hash, "_SETTLED", -60.0)
    folder, notes = tmp_path / "package" / "inner", tmp_path / "notes"
    folder.mkdir(parents=True)
    notes.mkdir()
    (folder.parent / "one.py").write_text("a = 1\n")
    (folder / "two.py").write_text("b = 2\n")
    return list(python_files(folder.parent)), notes


def _tick():
    """Until the file system's clock has moved on."""
    time.sleep(0.02)


def test_what_is_noted_is_what_the_contents_give(files):
    paths, notes = files
    fresh = hash_of_files(paths, None)
    assert hash_of_files(paths, notes) == fresh
    (note,) = notes.iterdir()
    assert read_note(note) == fresh
    write_note(note, "0" * 64)  # so that we see that it is read
    assert hash_of_files(paths, notes) == "0" * 64


@pytest.mark.parametrize("restores_times", [False, True])
def test_a_file_of_the_same_size_with_other_contents(files, restores_times):
    paths, notes = files
    before = hash_of_files(paths, notes)
    times = os.stat(paths[0])
    _tick()
    with open(paths[0], "r+") as file:
        file.write("a = 2\n" if paths[0].endswith("one.py") else "b = 3\n")
    if restores_times:
        os.utime(paths[0], ns=(times.st_atime_ns, times.st_mtime_ns))
    assert hash_of_files(paths, notes) == hash_of_files(paths, None) != before


def test_a_file_that_is_replaced_by_an_older_one(files, tmp_path):
    paths, notes = files
    other = tmp_path / "other"
    other.write_text("c = 5\n")
    os.utime(other, ns=(os.stat(paths[0]).st_atime_ns, os.stat(paths[0]).st_mtime_ns))
    before = hash_of_files(paths, notes)
    _tick()
    os.replace(other, paths[0])
    assert hash_of_files(paths, notes) == hash_of_files(paths, None) != before


def test_nothing_is_noted_of_files_that_have_just_changed(files, monkeypatch):
    paths, notes = files
    monkeypatch.setattr(source_hash, "_SETTLED", 60.0)
    assert hash_of_files(paths, notes) == hash_of_files(paths, None)
    assert not list(notes.iterdir())


@pytest.mark.parametrize("text", ["", "0" * 63, "g" * 64, "\x00" * 64, "é" * 64])
def test_a_note_that_is_no_hash_is_not_believed(files, text):
    paths, notes = files
    fresh = hash_of_files(paths, notes)
    (note,) = notes.iterdir()
    write_note(note, text)
    assert hash_of_files(paths, notes) == fresh
    assert read_note(note) == fresh


def test_a_note_with_a_flipped_bit_is_not_believed(files):
    paths, notes = files
    fresh = hash_of_files(paths, notes)
    (note,) = notes.iterdir()
    whole = note.read_bytes()
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        note.write_bytes(damaged)
        assert read_note(note) is None, place
    assert hash_of_files(paths, notes) == fresh
    assert note.read_bytes() == whole


def test_a_folder_that_cannot_be_written(files):
    paths, notes = files
    assert hash_of_files(paths, notes / "missing") == hash_of_files(paths, None)


def test_the_files_come_in_a_fixed_order(files):
    paths, _ = files
    assert [os.path.basename(path) for path in paths] == ["two.py", "one.py"]
