"""What a process can have, as its control group says; processors are in `test_threads.py`."""

import os
from collections.abc import Callable
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit
from diastase_runtime import process_limits
from diastase_runtime.arrays import frames
from diastase_runtime.errors import OutOfMemoryError

PHYSICAL = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def available(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., int]:
    """What is found where the files of the control group hold these texts."""
    monkeypatch.setattr(process_limits, "_CONTROL_GROUPS", tmp_path)

    def found(**files: str) -> int:
        (tmp_path / "memory").mkdir(exist_ok=True)
        for name, text in files.items():
            place = "memory.max" if name == "second" else "memory/memory.limit_in_bytes"
            (tmp_path / place).write_text(text)
        return process_limits.available_memory.__wrapped__()

    return found


def test_memory_of_the_machine_and_of_the_group(available: Callable[..., int]) -> None:
    assert available() == PHYSICAL
    assert available(second="max\n") == PHYSICAL
    assert available(second="123456\n") == 123456
    assert available(first="1000\n") == 1000
    assert available(second="max", first=str(2**63 - 4096)) == PHYSICAL


def test_arrays_beyond_the_groups_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of which this machine could have a few times as much."""
    monkeypatch.setattr(frames, "available_memory", lambda: 100 << 20)
    total = qjit(lambda n: jnp.ones(n).sum())
    assert total(1000) == 1000.0
    with pytest.raises(OutOfMemoryError, match="asked for 160000064 bytes"):
        total(20_000_000)
    assert total(5_000_000) == 5e6
    with pytest.raises(OutOfMemoryError):
        qjit(lambda: jnp.ones(20_000_000))()


def test_more_than_the_machine_has() -> None:
    """Twice its memory, which the system might grant."""
    ones = qjit(lambda n: jnp.ones(n))
    np.testing.assert_array_equal(ones(3), np.ones(3))
    with pytest.raises(OutOfMemoryError):
        ones(PHYSICAL // 4)
    with pytest.raises(OutOfMemoryError):
        ones(10**13)
