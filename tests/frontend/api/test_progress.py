"""The line on a terminal about a compilation that takes long; a pty is the terminal."""

import os
import pty
import re
import sys
import threading
import time
from contextlib import nullcontext, suppress

import jax.numpy as jnp
import pytest

from diastase import qjit
from diastase.inspection import progress
from diastase_toolchain.background import enter, watched


@pytest.fixture
def written(monkeypatch):
    """Compile with the standard error at one end of a pty or pipe; give what came out."""
    monkeypatch.setattr(progress, "_PATIENCE", 0.01)
    monkeypatch.setattr(progress, "_PAUSE", 0.01)
    monkeypatch.delenv("DIASTASE_PROGRESS", raising=False)

    def compile_with(ends, interrupted=False):
        out, to = ends
        with open(to, "w") as stream, monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", stream)

            @qjit
            def curve(x):
                time.sleep(0.1)  # a program that is in the cache may take less than the patience
                if interrupted:
                    raise KeyboardInterrupt
                return jnp.sin(x) + 2.0

            with pytest.raises(KeyboardInterrupt) if interrupted else nullcontext():
                assert curve(0.0) == 2.0
        os.set_blocking(out, False)
        read = b""
        # A terminal gives some thousand bytes at a time; in the end nobody writes any more.
        with suppress(OSError):
            while part := os.read(out, 10**6):
                read += part
        os.close(out)
        return read.decode()

    return compile_with


def test_a_terminal_is_told_what_is_done(written):
    text = written(pty.openpty())
    lines = text.split("\r")
    assert lines[0] == lines[-1] == ""
    told = [re.fullmatch(r"diastase: compiling curve: (.*), 0 s *", line) for line in lines[1:-2]]
    steps = [match and match[1] for match in told]
    assert steps
    assert all(steps)
    assert lines[-2] == " " * len(lines[-3].rstrip()), "wiped out at the end"
    assert "diastase-progress" not in [thread.name for thread in threading.enumerate()]


def test_pipes_are_silent(written):
    assert written(os.pipe()) == ""


def test_it_can_be_turned_off(written, monkeypatch):
    monkeypatch.setenv("DIASTASE_PROGRESS", "0")
    assert written(pty.openpty()) == ""


def test_an_interrupted_compilation_wipes_it_out(written):
    text = written(pty.openpty(), interrupted=True)
    assert text.startswith("\rdiastase: compiling curve: trace, 0 s")
    assert text.endswith(" \r")


def test_who_watches_goes_on_when_a_compilation_inside_has_ended():
    with watched("trace") as outer:
        with watched("trace") as inner:
            enter("compile")
        enter("lower")
    assert (outer.step, inner.step) == ("lower", "compile")
