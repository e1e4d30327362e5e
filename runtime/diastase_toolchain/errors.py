"""Errors of the way from LLVM IR to a library on disk: the processor, the linker, the cache."""

from pathlib import Path
from typing import ClassVar

from diastase_runtime.errors import CompileError, DiastaseError


class LinkerNotFoundError(CompileError, RuntimeError):
    """No program that can link a shared library was found.

    diastase makes machine code by itself but leaves the last step to the system's linker: `ld`,
    or one of the compiler drivers `cc`, `gcc` and `clang`. Install one of them (Debian, Ubuntu:
    `apt install binutils`; Fedora: `dnf install binutils`; macOS: `xcode-select --install`), or
    name one in the environment variable `DIASTASE_CC`.
    """

    title: ClassVar[str] = "No linker found"
    message: ClassVar[str] = "none of {tried} is on the PATH"
    help: ClassVar[str] = (
        "install one (Debian, Ubuntu: apt install binutils; Fedora: dnf install binutils; "
        "macOS: xcode-select --install) or set DIASTASE_CC to a C compiler driver"
    )
    tried: str


class LinkError(CompileError, RuntimeError):
    """The system's linker refused the object file, or could not be run.

    The message quotes the command and what it printed, or says that it did not end, or wrote no
    whole library. Usual causes: a full disk, or a `DIASTASE_CC` that names something which is not
    a linker or a C compiler driver.
    """

    title: ClassVar[str] = "Linking failed"
    message: ClassVar[str] = "{command}: {reason}"
    command: str
    reason: str


class ForkedWhileCompilingError(CompileError, RuntimeError):
    """A process was forked while another thread of its parent compiled for long.

    A fork waits ten seconds for such threads. After that the child has locks which nobody opens,
    and would wait for ever where it compiles. What the parent had compiled can be called. Compile
    before the fork, or start processes with `multiprocessing.get_context("spawn")`.
    """

    title: ClassVar[str] = "Forked while compiling"
    message: ClassVar[str] = "another thread was compiling when this process was forked"
    help: ClassVar[str] = "compile before the fork, or use multiprocessing's method 'spawn'"


class TargetProcessorError(DiastaseError, ValueError):
    """The environment variable for the processor names one that programs cannot be compiled for.

        DIASTASE_TARGET_CPU=x86-64-v3 python program.py

    Unset it to compile for the processor of this computer, or name a level of x86-64 that this
    computer has.
    """

    title: ClassVar[str] = "Invalid target processor"
    message: ClassVar[str] = "{variable} is {level!r}, {reason}"
    help: ClassVar[str] = "unset it to compile for this computer's processor"
    variable: str
    level: str
    reason: str


class DamagedCacheError(DiastaseError, OSError):
    """`python -m diastase cache verify` has found entries that are not what was written.

    None of them would be loaded: a program that looks for one warns, compiles anew and replaces it.
    `python -m diastase cache clear` removes all entries.
    """

    title: ClassVar[str] = "Damaged cache"
    message: ClassVar[str] = "these entries would be compiled anew:\n{entries}"
    entries: str


class InvalidCacheLimitError(DiastaseError, ValueError):
    """The size that the cache may have is no size.

        DIASTASE_CACHE_LIMIT=plenty python program.py

    Give a number of bytes, or one with a unit: `500MB`, `2GB`; `0` for no limit.
    """

    title: ClassVar[str] = "Invalid size of the cache"
    message: ClassVar[str] = "{variable} is {value!r}, which is no size"
    help: ClassVar[str] = "give a number of bytes, or 500MB, 2GB, …; 0 for no limit"
    variable: str
    value: str


class CheckedBuildError(DiastaseError, ValueError):
    """The environment variable for checked builds asks for checks that there are not.

        DIASTASE_CHECKED=bounds python program.py

    Unset it for programs as they are, or see `docs/debugging.md` for what there is. The sanitizers'
    libraries come with GCC, and must be loaded first:
    `LD_PRELOAD=$(gcc -print-file-name=libasan.so) DIASTASE_CHECKED=address python program.py`.
    """

    title: ClassVar[str] = "Invalid checked build"
    message: ClassVar[str] = "{variable} is {value!r}, {reason}"
    help: ClassVar[str] = "unset it, or see docs/debugging.md for how to start a checked process"
    variable: str
    value: str
    reason: str


class UnsafeCacheDirectoryError(DiastaseError, PermissionError):
    """The cache directory is one in which others could plant a library.

    Compiled programs are loaded from the cache and run with your rights, so its directory must
    belong to you and be writable by nobody else: `chmod 700` it, or set `DIASTASE_CACHE_DIR` to
    another directory. Folders above it may belong to root, too, and may be writable by others if
    they are sticky, as `/tmp` is: in others, it could be renamed and another put in its place.
    """

    title: ClassVar[str] = "Unsafe cache directory"
    message: ClassVar[str] = "{directory} {reason}"
    help: ClassVar[str] = "chmod 700 {directory}, or set DIASTASE_CACHE_DIR to another directory"
    directory: Path
    reason: str


class CacheWarning(UserWarning):
    """The disk cache could not be used, or held a broken entry; the program is compiled anew."""


class MissingNameError(CompileError, NotImplementedError):
    """A version of JAX or PennyLane that has not what diastase uses inside of it.

    Both have no public way to some of what a compiler must do, so diastase uses private names,
    which come and go. Where one is missing, or is another function than it was, the feature that
    needs it is off, and everything else works. Install a version that the message names, or wait
    for a new diastase.
    """

    title: ClassVar[str] = "Not with this version"
    message: ClassVar[str] = "{feature}: {name} of {package} {reason}"
    help: ClassVar[str] = "diastase is tested with {tested}"
    feature: str
    name: str
    package: str
    reason: str
    tested: str
