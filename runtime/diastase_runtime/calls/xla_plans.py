"""Programs called by compiled code of others: what XLA's handler is told of them.

In: an `Executable` and the shapes that it is called with and returns, all known. Out: a number, the
address of a `Plan`, by which the handler (`diastase_engine/xla_ffi.py`) calls the program
without Python. Where a call fails the handler calls `_report`, which frees what is left of the call
and says what went wrong.

The trap: XLA may call a program as long as it keeps what it has compiled, and after Python has let
go of that; nobody says when that is over. So plans, and the libraries that they call, stay loaded
as long as the process lives.
"""

import ctypes
import os
import random
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

from diastase_runtime.abi import library_symbol
from diastase_runtime.arrays.frames import Frame
from diastase_runtime.arrays.memref import numpy_dtype, sizes_and_strides
from diastase_runtime.call_observer import Observer, register
from diastase_runtime.errors import DiastaseError
from diastase_runtime.libraries import open_library
from diastase_runtime.loader import Executable
from diastase_runtime.python import raises_on_ctrl_c

Shapes = Sequence[tuple[int, ...]]
_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Plan(ctypes.Structure):
    """How one program is called: read by the handler; offsets in words of eight bytes."""

    _fields_ = (
        ("entry", ctypes.c_void_p),
        ("bytes", ctypes.c_int64),
        ("template", ctypes.c_void_p),
        ("num_arguments", ctypes.c_int64),
        ("arguments", ctypes.c_void_p),
        ("num_results", ctypes.c_int64),
        ("results", ctypes.c_void_p),
        ("result_bytes", ctypes.c_void_p),
        ("pointers", ctypes.c_int64),
        ("num_pointers", ctypes.c_int64),
        ("targets", ctypes.c_void_p),
        ("draws", ctypes.c_int64),
    )


@dataclass(frozen=True, eq=False)
class _Made:
    """A plan and all that it points to; its calls may be observed, which takes Python."""

    plan: Plan
    executable: Executable
    kept: Sequence[Any]
    entries: list[Any] = field(default_factory=list[Any])
    """What observers were called through: somebody may be in there still."""

    def observed_by(self, observer: Observer | None) -> None:
        """Call compiled code through this observer, or directly."""
        if observer is None:
            self.plan.entry = self.executable.entry_address
            return
        entry = observer.entry(self.executable, _ENTRY(self.executable.entry_address))
        self.entries.append(_ENTRY(lambda pointers: entry(ctypes.c_void_p(pointers))))
        self.plan.entry = ctypes.cast(self.entries[-1], ctypes.c_void_p).value


_plans: dict[int, _Made] = {}
_messages: deque[Any] = deque(maxlen=256)
"""The last ones: XLA copies a message right after it was told where it is."""


def plan_of(executable: Executable, arguments: Shapes, results: Shapes, seed: int | None) -> int:
    """Make the plan of a program for these shapes; without a seed each call draws one."""
    layout, template = executable.layout, _template(executable, arguments, seed)
    first = layout.results // 8
    kinds = zip(executable.artifact.results, results, strict=True)
    tables = [
        _numbers([offset // 8 for offset in layout.arguments]),
        _numbers([first + word for word in executable.first_words]),
        _numbers([prod(shape) * numpy_dtype(kind.dtype).itemsize for kind, shape in kinds]),
        _numbers([offset // 8 for offset in layout.targets]),
    ]
    at_arguments, at_results, sizes, targets = map(ctypes.addressof, tables)
    plan = Plan(
        executable.entry_address,
        layout.size,
        template.address,
        len(arguments),
        at_arguments,
        len(results),
        at_results,
        sizes,
        layout.pointers // 8,
        len(layout.targets),
        targets,
        int(seed is None),
    )
    address = ctypes.addressof(plan)
    _plans[address] = _Made(plan, executable, (template, tables))
    register(_plans[address])
    return address


def _template(executable: Executable, arguments: Shapes, seed: int | None) -> Frame:
    """A call's memory in which the sizes of all arguments stand."""
    template = Frame(executable.layout)
    template.context.seed = 0 if seed is None else seed
    for offset, shape in zip(executable.layout.arguments, arguments, strict=True):
        words = _numbers([0, 0, 0, *sizes_and_strides(shape)])
        ctypes.memmove(template.address + offset, words, ctypes.sizeof(words))
    return template


def _numbers(values: Sequence[int]) -> Any:
    return (ctypes.c_int64 * len(values))(*values)


# --- the handler ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Handler:
    """The handler of this process."""

    address: int
    process: int
    """What a call names beside a plan, so that no other process can take it for its own."""


_LOCK = threading.Lock()


def handler(library: Path, version: tuple[int, int]) -> Handler:
    """The handler, told what it must know; `version` of the interface, major and minor."""
    with _LOCK:
        return _handler(library, version)


@cache
def _handler(library: Path, version: tuple[int, int]) -> Handler:
    opened = open_library(library, unique=False)
    process = int.from_bytes(os.urandom(8), "little", signed=True)
    major, minor = version
    opened[library_symbol("foreign", "configure")](
        ctypes.c_int64(process),
        ctypes.c_int64(major | minor << 32),
        ctypes.cast(_REPORT, ctypes.c_void_p),
        ctypes.cast(ctypes.pythonapi.PyErr_SetInterrupt, ctypes.c_void_p),
    )
    set_key = opened[library_symbol("foreign", "set_key")]
    set_key(ctypes.c_uint64(random.getrandbits(64)))
    # As Python's own generator: a child must not draw what its parent draws.
    os.register_at_fork(after_in_child=lambda: set_key(ctypes.c_uint64(_entropy())))
    address = ctypes.cast(opened[library_symbol("foreign", "handler")], ctypes.c_void_p).value
    assert address is not None
    return Handler(address, process)


def _entropy() -> int:
    return int.from_bytes(os.urandom(8), "little")


def _report(plan: int | None, memory: int | None) -> int | None:
    """Say what went wrong in a call; the address of the text.

    None for Ctrl-C: what XLA makes of an error is another exception. The call counts as done, and
    Python raises `KeyboardInterrupt` as soon as XLA has returned, so nobody sees its results. Where
    Ctrl-C is ignored, or has another handler, it is an error like any other.
    """
    try:
        error = _failure(plan, memory)
        if isinstance(error, KeyboardInterrupt) and raises_on_ctrl_c():
            return None
        if isinstance(error, DiastaseError):
            text = str(error)
        else:
            text = f"{type(error).__name__}: {error}"
    except BaseException as error:
        text = f"a program of diastase failed, and so did its report: {error!r}"
    message = ctypes.create_string_buffer(text.encode().replace(b"\0", b"?"))
    _messages.append(message)
    return ctypes.addressof(message)


def _failure(plan: int | None, memory: int | None) -> BaseException:
    if plan is None:
        return RuntimeError("compiled by another process: its calls of diastase mean nothing here")
    if memory is None:
        return MemoryError("no memory for a call of diastase")
    return _plans[plan].executable.failed_at(memory)


_REPORT = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(_report)
