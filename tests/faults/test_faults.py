"""The shortest part of the campaign; `make faults` runs it all."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.mark.skipif(sys.platform != "linux", reason="the injector is for Linux's C library")
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_some_faults() -> None:
    """Of calls for files, of memory for compiled code, of processes that are killed."""
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-W", "ignore", "-m", "faults", "--quick"]
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "OutOfMemoryError" in done.stdout  # or nothing was provoked
