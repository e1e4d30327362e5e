"""A part of the suite with machine code for other processors, as far as this one runs it.

Nothing that only this processor has is taken for granted then: not its instructions, nor the width
of its vectors, nor what its C library happens to define.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from other_processors import at_hand

PART = Path(__file__).with_name("test_tiny.py")


@pytest.mark.sample(1)
@pytest.mark.parametrize("level", at_hand())
def test_one_of_everything(level):
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", str(PART)]
    environment = {**os.environ, "DIASTASE_TARGET_CPU": level}
    root = PART.parent.parent
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
