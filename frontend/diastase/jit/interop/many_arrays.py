"""Calls of programs with many arrays: by XLA, which makes arrays in less time than Python can.

To take the memory of one argument and to make an array of one result takes Python 2 to 5 us each,
XLA's dispatch of compiled functions a quarter of that. What XLA has to compile for it takes tens of
milliseconds, and half a millisecond for each array. So a program is called from Python first, and
by XLA once it was called with as many arrays as would have made up for that.

In: pure programs of known sizes whose results are small, as XLA's are copies, and which call no
library of ours: engine and loops that signals interrupt are called from Python. Arguments are
`jax.Array`s of the types that the program was compiled for; whose types these are, the key says
under which `QJIT` finds the call.

The trap: XLA's errors are not ours. Since the program is pure, a call that fails is made again from
Python, where it fails as it should.
"""

import os
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from diastase.jit.interop.ffi_lowering import called_by_xla
from diastase.jit.stages.prepared_call import PreparedCall
from diastase_mlir.jax_compat import is_being_transformed, nans_are_looked_for, wait_for

ARRAYS_BEFORE = 10_000
"""Of all calls together, before XLA calls the program."""


class _Process:
    """Whether XLA may be used: in a forked process it would wait for threads that are not there."""

    is_forked = False


def _forked() -> None:
    _Process.is_forked = True


os.register_at_fork(after_in_child=_forked)

_LOCK = threading.Lock()
_MADE: "weakref.WeakValueDictionary[int, ManyArrays]" = weakref.WeakValueDictionary()
"""By programs, which live as long."""


class ManyArrays:
    """The calls of one program; safe to share by threads."""

    def __init__(self, plan: PreparedCall) -> None:
        self._plan, self._executable = plan, plan.executable
        self._left = ARRAYS_BEFORE
        self._by_xla: Callable[..., Sequence[Any]] | None = None
        self._lock = threading.Lock()

    @classmethod
    def of(cls, plan: PreparedCall) -> "ManyArrays":
        """Return the one of a program, whichever thread asks first."""
        with _LOCK:
            return _MADE.get(id(plan)) or _MADE.setdefault(id(plan), cls(plan))

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """Run the program."""
        plan, by_xla = self._plan, self._by_xla
        if by_xla is None:
            self._left -= plan.num_arrays
            if self._left > 0:
                return plan(leaves)
            by_xla = self._made()
        if (
            plan.executable is not self._executable
            or _Process.is_forked
            or is_being_transformed()
            or nans_are_looked_for()
        ):
            return plan(leaves)
        try:
            results = by_xla(*leaves)
            wait_for(results)
        except (RuntimeError, ValueError):  # of one or the other kind XLA's are
            return plan(leaves)
        return plan.in_pytree(results)

    def _made(self) -> Callable[..., Sequence[Any]]:
        with self._lock:
            if self._by_xla is None:
                plan = self._plan
                self._by_xla = called_by_xla(plan.executable, plan.in_avals, plan.out_avals)
            return self._by_xla
