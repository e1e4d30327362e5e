"""Programs called by XLA: as the equation `program`, and for calls with many arrays.

XLA calls one handler for all programs (`diastase_engine/xla_ffi.py`); the attribute of the call is
the address of a plan (`diastase_runtime.calls.xla_plans`). It means something in this process only,
and says so: what XLA has compiled here and JAX kept on disk, no other process finds or can run.

To take the memory of one argument and to make an array of one result takes Python 2 to 5 us each,
XLA's dispatch of compiled functions a quarter of that. What XLA has to compile for it takes tens of
milliseconds, and half a millisecond for each array. So a program with many arrays is called from
Python first, and by XLA once it was called with as many as would have made up for that
(`ManyArrays`). Such programs are pure, of known sizes, with small results, as XLA's are copies;
they call no library of ours: engine and loops that signals interrupt are called from Python.
Arguments are `jax.Array`s of the types that the key says under which `QJIT` finds the call.

The trap: XLA's errors are not ours. Since the program is pure, a call that fails is made again from
Python, where it fails as it should.
"""

import ctypes
import os
import re
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.interpreters import mlir

from diastase.jit.interop.embedded_program import EmbeddedProgram
from diastase.jit.stages.prepared_call import PreparedCall
from diastase_engine import foreign_library
from diastase_mlir.jax_compat import (
    is_being_transformed,
    nans_are_looked_for,
    of_type,
    physical_aval,
    wait_for,
)
from diastase_runtime import Executable
from diastase_runtime.calls import xla_plans

_TARGET = "diastase_program"
_VERSION = re.compile(r"^#define XLA_FFI_API_(MAJOR|MINOR) (\d+)$", re.M)


@cache
def _handler() -> xla_plans.Handler:
    """The handler, known to XLA."""
    header = Path(jax.ffi.include_dir(), "xla", "ffi", "api", "c_api.h").read_text()
    version = {name: int(number) for name, number in _VERSION.findall(header)}
    handler = xla_plans.handler(foreign_library(), (version["MAJOR"], version["MINOR"]))
    capsule = jax.ffi.pycapsule(ctypes.c_void_p(handler.address))
    jax.ffi.register_ffi_target(_TARGET, capsule, platform="cpu")
    return handler


def lower_program(ctx: mlir.LoweringRuleContext, *operands: Any, program: EmbeddedProgram) -> Any:
    """Compile the program, and emit its call."""
    handler = _handler()
    executable = program.compiled.prepared.executable
    name = np.array([_plan(program, executable), handler.process], np.int64)
    rule = jax.ffi.ffi_lowering(_TARGET, has_side_effect=not executable.artifact.is_pure)
    return rule(ctx, *operands, plan=name)


def called_by_xla(
    executable: Executable, in_avals: Sequence[Any], out_avals: Sequence[Any]
) -> Callable[..., Sequence[Any]]:
    """Make a function of JAX that calls a pure program of known sizes with flat arrays."""
    handler = _handler()
    plan = xla_plans.plan_of(executable, _shapes(in_avals), _shapes(out_avals), 0)
    name = np.array([plan, handler.process], np.int64)
    types = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in out_avals]
    call = jax.ffi.ffi_call(_TARGET, types)

    def function(*arrays: Any) -> Sequence[Any]:
        return list(map(of_type, call(*arrays, plan=name), out_avals))

    return jax.jit(function)


def _plan(program: EmbeddedProgram, executable: Executable) -> int:
    """The program's plan, made once."""
    if program.plan is None:
        program.plan = xla_plans.plan_of(
            executable, _shapes(program.in_avals), _shapes(program.out_avals), program.options.seed
        )
    return program.plan


def _shapes(avals: Sequence[Any]) -> list[tuple[int, ...]]:
    return [tuple(physical_aval(aval).shape) for aval in avals]


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
