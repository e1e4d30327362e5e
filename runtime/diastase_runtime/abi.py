"""What compiled programs, the state-vector engine and the loader agree on.

This is the one definition: code generation and the loader both read it, and it imports nothing
of ours. Three libraries meet at run time: the compiled program, the engine (gates and
measurements on a state vector) and Python (callbacks). A program reaches the other two only
through its *import table*, a global array of pointers that the loader fills before the first
call; it has no undefined symbol of ours, so nothing depends on the dynamic linker's search order.
A callback's pointer is that of the Python function itself, which `call_back` of the thread pool's
library calls.

Inside MLIR and LLVM IR an imported function is a declaration whose name is made by
`import_symbol`; code generation turns each into a stub that calls through the table.

Errors: compiled code never aborts. A function that fails records an error in the `CallContext`
of the call (the first error wins) and returns a harmless value; while an error is recorded,
engine functions do nothing, and loops whose end depends on them stop. The loader raises after
the call.
"""

import ctypes
import enum
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

ABI_VERSION = 15
"""Part of every cache key; raised by one with every change of this file's meaning."""

ENTRY_FUNCTION = "diastase_entry"
"""MLIR name of the program: `(CallContext*, arguments…) -> results`, all of them memrefs; in the
end `(CallContext*, arguments…, results*)` (`passes.llvm.results_in_memory`)."""

ENTRY_SYMBOL = f"_mlir_ciface_{ENTRY_FUNCTION}"
"""C symbol: `void (pointers*)`, to an array of results*, CallContext*, argument descriptor*…; no
`results*` where there are none. One parameter, so that whoever calls need not know how many."""

LEAVE_FUNCTION = "diastase_leave"
"""`() -> ()`: abandons the call, which has recorded an error and has allocated nothing yet."""

ABANDON_FUNCTION = "diastase_abandon"
"""The same where something may be allocated, which is freed."""

CHECK_FAILED_FUNCTION = "diastase_check_failed"
"""`(message) -> ()`: records that a check of a checked build has failed, and abandons the call."""

CHECK_FAILED_ON_THREAD_FUNCTION = "diastase_check_failed_on_thread"
"""The same in functions that the thread pool runs: prints the message and ends the process."""

ELEMENT_FUNCTION = "diastase_element_"
"""Functions with a name that begins so are of one element of a batch:
`(CallContext*, number of the element, ON_CALLING_THREAD or wires, what it uses…) -> ()`."""

ELEMENT_ENTRY = "_entry"
"""With a name that ends so: `(CallContext*, memory of what it uses, number of the element) -> ()`,
which returns, too, where the element abandons its call."""

AFTER_ELEMENTS = "diastase_after_elements"
"""`(CallContext*) -> ()`: abandons the call if an element has abandoned its own."""

ON_CALLING_THREAD = -1
"""In the place of a number of wires: the elements call Python."""

IMPORT_TABLE = "diastase_import_table"
"""Global `[n x ptr]`, one entry for each of `Artifact.imports`, in that order."""

POLLS = 32
"""How often a loop asks whether there are signals until it reads the clock."""

SHORT_LINE = 48
"""Numbers up to which a line is sorted without any memory besides."""

MAX_SAMPLED_WIRES = 62
"""Wires whose outcomes in one shot make one integer."""

Engine = Literal["engine", "single", "mixed", "single_mixed", "lanes"]
ImportedLibrary = Literal[
    Engine, "threads", "elementary", "fourier", "sorting", "callback", "lapack", "blas"
]
OurLibrary = ImportedLibrary | Literal["foreign"]

ENGINES: tuple[Engine, ...] = ("engine", "single", "mixed", "single_mixed", "lanes")
"""Libraries of states: state vectors in both precisions, then density matrices likewise, then
small state vectors side by side in the lanes of vectors."""

STATE_VECTORS: tuple[Engine, ...] = ("engine", "single", "lanes")
"""Those that may be built for a GPU."""

ON_THE_POOL: tuple[ImportedLibrary, ...] = (*ENGINES, "fourier", "sorting")
"""Libraries that run their loops on the thread pool, of which they are told (`use_threads`)."""


LIBRARY_FIELDS = ("library", *ON_THE_POOL, "threads", "elementary")
"""Fields of an artifact that are paths of libraries."""


def library_file(key: str, content: bytes) -> str:
    """Name of a library's file in the cache, which says what is in it."""
    return f"{key}-{_checksum(content)}.so"


def is_as_named(file: str, content: bytes) -> bool:
    """Whether a file has the contents that its name tells, if it tells any."""
    named = _NAMED.search(file)
    return named is None or named[1] == _checksum(content)


_NAMED = re.compile(r"-([0-9a-f]{16})\.so$")


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def import_symbol(library: ImportedLibrary, name: str) -> str:
    """Name under which IR declares an imported function: `diastase_import__engine__gate`."""
    return f"diastase_import__{library}__{name}"


def library_symbol(library: OurLibrary, name: str) -> str:
    """C symbol of a function of one of our own libraries: `diastase_engine_gate`."""
    return f"diastase_{library}_{name}"


@dataclass(frozen=True)
class Import:
    """One entry of the import table."""

    library: ImportedLibrary
    name: str


CALLED_BY_THE_LOADER = frozenset(("use_threads", "state_release", "script_end"))
"""Functions of the engine that the loader calls, whatever the program does."""

DRAWING = frozenset(("measure", "sample", "uniform"))
"""Functions of the engine that draw random numbers."""


@dataclass(frozen=True)
class ArrayType:
    """Element type (numpy name, `bfloat16` included) and rank; sizes travel in descriptors."""

    dtype: str
    rank: int


@dataclass(frozen=True)
class Site:
    """A place in the user's program at which compiled code may fail."""

    file: str
    line: int
    function: str
    construct: str
    """What stands there, in the user's words: `RX`, `for_loop`, `measure`."""
    text: str = ""
    """The line itself, where it travels with the program."""


@dataclass(frozen=True)
class CallbackType:
    """Types of one host callback: arguments in, results out (allocated by the program)."""

    arguments: tuple[ArrayType, ...]
    results: tuple[ArrayType, ...]


@dataclass(frozen=True)
class Artifact:
    """A compiled program on disk: everything that is needed to load and call it."""

    name: str
    """The user's name for the program; for messages only, never a symbol."""
    library: Path
    arguments: tuple[ArrayType, ...]
    results: tuple[ArrayType, ...]
    imports: tuple[Import, ...] = ()
    sites: tuple[Site, ...] = ()
    callbacks: tuple[CallbackType, ...] = ()
    """Callback `k` is imported as `Import("callback", str(k))`; the functions come from Python."""
    engine: Path | None = None
    """The engine library, for programs that import from it."""
    single: Path | None = None
    """The engine for amplitudes in single precision, likewise."""
    mixed: Path | None = None
    """The engine of density matrices, likewise."""
    single_mixed: Path | None = None
    """That in single precision, likewise."""
    lanes: Path | None = None
    """The engine of state vectors side by side in vectors, likewise."""
    threads: Path | None = None
    """The library of the thread pool, for programs that import from it or from the engine."""
    elementary: Path | None = None
    """The library of elementary functions, for programs that import from it."""
    sorting: Path | None = None
    """The library that sorts, likewise."""
    fourier: Path | None = None
    """The library of Fourier transforms, likewise."""

    @property
    def is_pure(self) -> bool:
        """Whether equal arguments give equal results: nothing is drawn, no Python is called."""
        return not any(
            entry.library == "callback" or (entry.library in ENGINES and entry.name in DRAWING)
            for entry in self.imports
        )

    def to_json(self) -> str:
        """Write everything but the library itself; the cache keeps this beside it."""
        return json.dumps(asdict(self), default=str, sort_keys=True)

    @staticmethod
    def from_json(text: str) -> "Artifact":
        """Read what `to_json` wrote; raises ValueError, KeyError or TypeError on anything else."""
        return Artifact.from_fields(json.loads(text))

    @staticmethod
    def from_fields(fields: Mapping[str, Any]) -> "Artifact":
        """The same of what JSON made of it."""
        libraries = {
            name: None if fields[name] is None else Path(fields[name])
            for name in (*ON_THE_POOL, "threads", "elementary")
        }
        return Artifact(
            name=fields["name"],
            library=Path(fields["library"]),
            arguments=_array_types(fields["arguments"]),
            results=_array_types(fields["results"]),
            imports=tuple(Import(**entry) for entry in fields["imports"]),
            sites=tuple(Site(**site) for site in fields["sites"]),
            callbacks=tuple(
                CallbackType(_array_types(entry["arguments"]), _array_types(entry["results"]))
                for entry in fields["callbacks"]
            ),
            **libraries,
        )


def _array_types(entries: list[dict[str, Any]]) -> tuple[ArrayType, ...]:
    return tuple(ArrayType(**entry) for entry in entries)


class ErrorCode(enum.IntEnum):
    """Why a call failed; `CallContext.detail` holds the numbers named in brackets."""

    NONE = 0
    WIRE_OUT_OF_RANGE = 1
    """[wire, number of wires]"""
    OVERLAPPING_WIRES = 2
    """[wire]"""
    OUT_OF_MEMORY = 3
    """[bytes asked for]; where `detail[3]` is 1 the call was abandoned and left no results."""
    CALLBACK_RAISED = 4
    """[type, value, traceback], as `PyErr_Restore` takes them: an exception of Python's."""
    ZERO_STEP = 5
    """A `for_loop` with a traced step of 0."""
    NEGATIVE_SIZE = 6
    """[size, axis]"""
    IMPOSSIBLE_POSTSELECTION = 7
    """[wire, outcome]; the outcome has probability zero."""
    TOO_MANY_QUBITS = 8
    """[number asked for]"""
    SIZE_MISMATCH = 9
    """[size found, size expected]"""
    ASSUMPTION_FAILED = 10
    """[left, right, number of the assumption]; the site's construct is the assumption's text.
    The call was abandoned, and left no results."""
    SIZE_TOO_LARGE = 11
    """[size, largest size possible]"""
    INVALID_SHOTS = 12
    """[number of shots]"""
    INVALID_VALUE = 13
    """A value that a program checks is not what it must be; the site's construct says which."""
    NEGATIVE_QUBITS = 14
    """[number asked for]"""
    NOT_A_NUMBER = 15
    """Outcomes are to be drawn from a state whose amplitudes are NaN or infinite."""
    INTERRUPTED = 16
    """A handler of signals has raised; the exception is kept by the thread pool's library."""
    ASSERTION_FAILED = 17
    """What `debug_assert` says must hold does not; the site's construct is its message."""
    NOT_TRACE_PRESERVING = 18
    """A channel that is given when the program runs does not preserve traces, or is no number."""
    CHECK_FAILED = 19
    """[address of a message]: in a checked build, an access that is out of bounds. The call was
    abandoned."""
    GPU_FAILED = 20
    """[CUDA's code, number of the driver's function in `GPU_FUNCTIONS`]"""


GPU_FUNCTIONS = (
    "cuCtxSetCurrent", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemsetD8_v2", "cuMemcpyHtoD_v2",
    "cuMemcpyDtoH_v2", "cuMemcpyDtoD_v2", "cuLaunchKernel",
)  # fmt: skip
"""Functions of CUDA's driver that the engine of a GPU calls, in the order of its table; after their
addresses the table has the context, and the handles of `GRIDS`."""
GRIDS = (
    "give_amplitudes", "project",
    "run_stage", "rotate_words", "add_weights", "add_words", "multiply_all", "write_weights",
    "fold", "add_multiple", "add_products", "add_applied", "undo_stage", "undo_words",
    "add_blocks", "weigh_chunks", "find_outcomes", "apply_matrix", "add_moments",
    "apply_diagonal",
)  # fmt: skip
"""Kernels that the engine of a GPU launches. That has the functions of the engine, by the same
names, and besides them `use_gpu`, and a constant with the PTX of these."""
LANE_GRIDS = (
    "begin_lanes_there", "sweep_lanes", "weigh_lanes", "add_lane_words", "add_outcomes",
)  # fmt: skip
"""The same of the engine of lanes on a GPU."""
MOST_GRIDS = max(len(GRIDS), len(LANE_GRIDS))
"""Room for handles in the table."""
GRIDS_TEXT = "grids"
"""Name of that constant, which ends with a zero."""


class CallContext(ctypes.Structure):
    """State of one call: made by the loader, handed to the entry, shared with nothing else."""

    _fields_ = (
        ("code", ctypes.c_int64),
        ("site", ctypes.c_int64),
        ("detail", ctypes.c_int64 * 4),
        # Key and position of the counter-based random generator (measurement outcomes).
        ("seed", ctypes.c_uint64),
        ("counter", ctypes.c_uint64),
        # The quantum states that are alive, a linked list: an abandoned call leaves them.
        ("states", ctypes.c_void_p),
        # The outcome scripts that are alive, another one.
        ("scripts", ctypes.c_void_p),
        # What the states that were released have done: operations asked for, operations
        # after fusion, walks over the amplitudes.
        ("gates", ctypes.c_int64),
        ("operations", ctypes.c_int64),
        ("stages", ctypes.c_int64),
        # What was launched on a GPU, and how many bytes were copied there and back.
        ("launches", ctypes.c_int64),
        ("to_device", ctypes.c_int64),
        ("to_host", ctypes.c_int64),
        # Up to here all is set to zero before a call, but for the seed.
        #
        # Bytes that the process can have; nothing larger is asked of the system. 0: not known.
        ("memory", ctypes.c_int64),
        # How often the call polls for signals until it reads the clock.
        ("polls", ctypes.c_int64),
        # The context of the call that this is a part of (an element of a batch), or null.
        ("outer", ctypes.c_void_p),
        # Of an element of a batch: the position of the call's random numbers from which those of
        # elements are derived.
        ("position", ctypes.c_int64),
    )
    code: int
    site: int
    seed: int
    counter: int
    states: int | None
    scripts: int | None
    gates: int
    operations: int
    stages: int
    launches: int
    to_device: int
    to_host: int
    memory: int
    polls: int
    outer: int | None
    position: int
    detail: "ctypes.Array[ctypes.c_int64]"
