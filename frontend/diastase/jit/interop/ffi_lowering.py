"""Lowering of the equation `program` for XLA: a custom call, and what it is told.

XLA calls one handler for all programs (`diastase_engine/xla_ffi.py`); the call's attribute is
the address of a plan (`diastase_runtime.xla_plans`). It means something in this process only, and
says so: what XLA has compiled here and JAX kept on disk, no other process finds or can run.
"""

import ctypes
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.interpreters import mlir

from diastase.jit.interop.embedded_program import AroundProgram
from diastase_engine import foreign_library
from diastase_mlir.jax_compat import of_type, physical_aval
from diastase_runtime import Executable, xla_plans

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


def lower_program(ctx: mlir.LoweringRuleContext, *operands: Any, program: AroundProgram) -> Any:
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


def _plan(program: AroundProgram, executable: Executable) -> int:
    """The program's plan, made once."""
    if program.plan is None:
        program.plan = xla_plans.plan_of(
            executable, _shapes(program.in_avals), _shapes(program.out_avals), program.options.seed
        )
    return program.plan


def _shapes(avals: Sequence[Any]) -> list[tuple[int, ...]]:
    return [tuple(physical_aval(aval).shape) for aval in avals]
