"""A call that is left while its results are made: each is freed once, wherever that happens.

The exception is raised before each line in turn between the native call and the results, as a
handler of signals may raise there; lines that begin right after one another, without a call
between them, count as one (`diastase_runtime.arrays.memref.give_back`).
"""

import gc
import linecache
import sys
from types import FrameType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit
from diastase.jit.stages import prepared_call
from diastase_runtime import loader
from diastase_runtime.arrays import memref
from soak.measures import allocated

jax.config.update("jax_enable_x64", True)

FILES = {module.__file__ for module in (loader, memref, prepared_call)}
WITHOUT_A_CALL_BEFORE = ("self._entry(frame.pointer)", "if own:", "free(pointer)")
TIMES = 8
LEAST = 4000
"""Bytes of the smallest result here."""


class Left(BaseException):
    """What is raised."""


class Interruption:
    """Raises before a line; counts lines from 1."""

    def __init__(self, line: int) -> None:
        self.left, self.found = line, ""

    def __call__(self, frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename not in FILES:
            return None
        if event == "line":
            text = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
            self.left -= not text.startswith(WITHOUT_A_CALL_BEFORE)
            if self.left == 0:
                self.left, self.found = -1, text
                raise Left
        return self

    def during(self, function: Any, argument: Any) -> bool:
        """Whether the call was left."""
        function(argument)  # so that there is a frame: each time the same lines
        before = sys.gettrace()
        sys.settrace(self)
        try:
            function(argument)
        except Left:
            return True
        finally:
            sys.settrace(before)
        return False


def small(x):
    """One array, which JAX copies."""
    return x * 2


def several(x):
    """The same memory twice, a scalar, and a result of a size that only the call knows."""
    doubled = x * 2
    return doubled, doubled, x.sum(), x[x > 0] * 3


@pytest.mark.parametrize("function", [small, several])
@pytest.mark.parametrize("size", [500, 100_000])
def test_what_a_call_has_made_is_freed_once(function, size):
    if allocated() is None:
        pytest.skip("the C library has no mallinfo2")
    x = jnp.arange(1.0, size + 1)
    compiled = qjit(function)
    right = jax.tree.map(np.array, compiled(x))
    leaking, seen = [], []
    for line in range(1, 500):
        interruption = Interruption(line)
        if not interruption.during(compiled, x):
            break
        gc.collect(0)
        before = allocated()
        for _ in range(TIMES):
            assert Interruption(line).during(compiled, x)
        gc.collect(0)  # when JAX lets go of memory that it has got from NumPy
        seen.append(interruption.found)
        if allocated() - before > TIMES * LEAST // 2:
            leaking.append((interruption.found, (allocated() - before) // TIMES))
    assert leaking == []
    assert "words = [*self._unpack(memory, self._results)]" in seen
    assert len(seen) > 20
    for found, expected in zip(jax.tree.leaves(compiled(x)), jax.tree.leaves(right), strict=True):
        np.testing.assert_array_equal(found, expected)
