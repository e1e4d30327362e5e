"""`load`: from the file that `save` has written to a function of arrays.

In: a path. Out: a `SavedFunction`, called as the compiled function was, with NumPy's arrays,
numbers and pytrees of them; results are NumPy's arrays. It has the programs that were saved and
compiles none. A call finds its plan by structure, types and static values, as a call of the
compiled function does, and is a `PreparedCall` from there on.

Libraries are written into a temporary folder of this user's alone, loaded, and removed at once:
what is loaded needs its file no more. Engines and thread pools of equal contents are loaded once
for all saved functions of the process, or each would have its own threads.

The trap: who loads a file runs it.
"""

import io
import threading
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from diastase_runtime.abi import ABI_VERSION, LIBRARY_FIELDS, Artifact
from diastase_runtime.arrays.frames import Frame
from diastase_runtime.arrays.memref import numpy_dtype
from diastase_runtime.calls.prepared_call import PreparedCall
from diastase_runtime.calls.static_arguments import Static, split, typed_key
from diastase_runtime.errors import AssumptionError, DiastaseError
from diastase_runtime.loader import Executable
from diastase_runtime.saved import processors
from diastase_runtime.saved.errors import (
    DamagedFileError,
    MissingPackageError,
    MissingProcessorFeaturesError,
    SavedVersionError,
)
from diastase_runtime.saved.file import Member, SavedFile, opened
from diastase_runtime.saved.manifest import (
    Manifest,
    SavedProgram,
    Target,
    from_json,
)
from diastase_runtime.saved.pytrees import LEAF, Structure, builder, flatten
from diastase_runtime.saved.serving import NUMBERS, leaf_key, serving, unserved
from diastase_runtime.trusted_files import temporary

_MOST_PLANS = 2000
"""Of sizes that are open there may be ever new ones."""


def load(path: str | PathLike[str]) -> "SavedFunction":
    """Load what `save` of a compiled function has written.

    Args:
        path: of the file. Whoever loads it runs the machine code in it.

    Returns:
        A `SavedFunction`, called as the compiled function was.

    Raises:
        FileNotFoundError: if there is no such file.
        NotASavedFunctionError: a `ValueError`, for a file that `save` has not written.
        DamagedFileError: a `ValueError`, for one that was cut short, or altered.
        SavedVersionError: a `ValueError`, for one of another version of diastase's ABI.
        MissingProcessorFeaturesError: an `OSError`, if no program in it runs on this computer.
        MissingPackageError: an `ImportError`, if it needs SciPy, or ml_dtypes, which is not there.

    Example:
        >>> import diastase, diastase_runtime
        >>> path = diastase.qjit(lambda x: 2 * x).save("double.diastase", types="f64[n]")
        >>> import numpy as np
        >>> double = diastase_runtime.load(path)
        >>> double(np.array([1.0, 2.0, 3.0]))
        array([2., 4., 6.])

    """
    path = Path(path)
    with path.open("rb") as stream:
        return load_from(path, stream)


def load_from(path: Path, stream: BinaryIO) -> "SavedFunction":
    """Load what is in an open file, or in memory; errors name the path."""
    checksum, manifest, target, members = _read(path, stream)
    executables = _executables(target.artifacts, members)
    return SavedFunction(path, checksum, manifest, target, executables)


def read_programs(path: Path) -> tuple[Manifest, Sequence[Artifact], dict[str, Member]]:
    """What `load` reads of a file, which it would run: for other ways to run it."""
    with path.open("rb") as stream:
        _, manifest, target, members = _read(path, stream)
    return manifest, target.artifacts, members


def _read(path: Path, stream: BinaryIO) -> tuple[str, Manifest, Target, dict[str, Member]]:
    file = opened(path, stream)
    manifest = _manifest(file)
    with _understood(file):
        target = _target(path, manifest)
        _check_packages(manifest, target)
    libraries = {
        str(library)
        for artifact in target.artifacts
        for kind in LIBRARY_FIELDS
        if (library := getattr(artifact, kind)) is not None
    }
    return file.checksum, manifest, target, file.members(sorted(libraries))


def read_content(path: Path) -> tuple[bytes, str, Manifest]:
    """A file as it is, its checksum, and what it says of itself; nothing of it is run."""
    content = path.read_bytes()
    file = opened(path, io.BytesIO(content))
    return content, file.checksum, _manifest(file)


def read_manifest(path: Path) -> tuple[Manifest, dict[str, int]]:
    """What a file says of itself, and the sizes of its members; nothing of it is run."""
    with path.open("rb") as stream:
        file = opened(path, stream)
        members: dict[str, dict[str, Any]] = file.manifest["members"]
        return _manifest(file), {name: known["size"] for name, known in members.items()}


def _manifest(file: SavedFile) -> Manifest:
    data = file.manifest
    with _understood(file):
        saved = f"diastase {data['versions']['diastase']} (ABI {data['abi']})"
        if data["abi"] != ABI_VERSION:
            this = f"a runtime with ABI {ABI_VERSION}"
            raise SavedVersionError(file=file.path, saved=saved, this=this)
        return from_json(data)


@contextmanager
def _understood(file: SavedFile) -> Generator[None]:
    """What a manifest that makes no sense leads to is an error of the file."""
    try:
        yield
    except DiastaseError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise DamagedFileError(file=file.path, reason=f"its manifest: {error!r}") from None


def _target(path: Path, manifest: Manifest) -> Target:
    """The first target that this computer can run: those with more features come first."""
    reason = "has none of them"
    for target in manifest.targets:
        reason = processors.missing(target.platform, target.features)
        if not reason:
            return target
    names = ", ".join(f"{target.name} ({target.platform})" for target in manifest.targets)
    raise MissingProcessorFeaturesError(file=path, targets=names, reason=reason)


def _check_packages(manifest: Manifest, target: Target) -> None:
    needs_scipy = any(
        entry.library in ("lapack", "blas")
        for artifact in target.artifacts
        for entry in artifact.imports
    )
    if needs_scipy and find_spec("scipy") is None:
        raise MissingPackageError(function=manifest.name, package="scipy")
    try:
        for artifact in target.artifacts:
            for kind in (*artifact.arguments, *artifact.results):
                numpy_dtype(kind.dtype)
    except ImportError:
        raise MissingPackageError(function=manifest.name, package="ml_dtypes") from None


# --- loading libraries ----------------------------------------------------------------------------

_resident: dict[tuple[str, str], Path] = {}
"""Libraries that stay loaded: where they were, by their contents and those of their thread pool."""
_LOADING = threading.Lock()


def _executables(artifacts: Sequence[Artifact], members: Mapping[str, Member]) -> list[Executable]:
    with temporary("diastase-") as folder, _LOADING:
        places = dict(_resident)
        placed = [
            _placed(artifact, members, f"{folder}/{number}", places)
            for number, artifact in enumerate(artifacts)
        ]
        executables = list(map(Executable, placed))
        _resident.update(places)
        return executables


def _placed(
    artifact: Artifact,
    members: Mapping[str, Member],
    beginning: str,
    places: dict[tuple[str, str], Path],
) -> Artifact:
    """An artifact whose libraries are files, written here if they are not loaded already.

    Their names have a beginning of their own, as each program has an import table of its own.
    """
    paths: dict[str, Path] = {}
    pool = "" if artifact.threads is None else members[str(artifact.threads)].checksum
    for kind in LIBRARY_FIELDS:
        library: Path | None = getattr(artifact, kind)
        if library is None:
            continue
        member = members[str(library)]
        key = member.checksum, pool
        is_resident = kind != "library"
        if is_resident and key in places:
            paths[kind] = places[key]
            continue
        paths[kind] = Path(f"{beginning}-{kind}-{member.checksum[:16]}.so")
        paths[kind].write_bytes(member.content)
        if is_resident:
            places[key] = paths[kind]
    return replace(artifact, **paths)


# --- calls ----------------------------------------------------------------------------------------


class SavedFunction:
    """A function whose programs were compiled elsewhere; safe to share by threads.

    It takes NumPy's arrays, numbers, and pytrees of them, of the types for which there is a program
    in the file, and gives NumPy's arrays. `UnservedArgumentsError`, a `TypeError`, for others:
    nothing is compiled here. `load` makes one.

    Example:
        >>> import diastase, diastase_runtime
        >>> path = diastase.qjit(lambda x: 2 * x).save("double.diastase", types="f64[n]")
        >>> diastase_runtime.load(path)
        <SavedFunction <lambda>(x: float64[n]) -> float64[n]>

    """

    def __init__(
        self,
        path: Path,
        checksum: str,
        manifest: Manifest,
        target: Target,
        executables: Sequence[Executable],
    ) -> None:
        self.path, self.checksum = path, checksum
        self.manifest, self.target = manifest, target
        self.__name__ = manifest.name
        self._programs = [
            _prepared(program, executable)
            for program, executable in zip(manifest.programs, executables, strict=True)
        ]
        self._has_static = bool(manifest.static_positions or manifest.static_names)
        self._plans: dict[Hashable, Any] = {}

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the program for these arguments."""
        static: Static = ()
        if self._has_static:
            positions, names = self.manifest.static_positions, self.manifest.static_names
            args, kwargs, static = split(args, kwargs, positions, names)
        leaves: list[Any] = []
        structure = flatten((args, kwargs), leaves)
        key = (structure, typed_key(static), *[leaf_key(leaves, k) for k in range(len(leaves))])
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plan(structure, static, leaves)
            if plan is None:
                return self._call_in_places(args, kwargs, static, structure, leaves)
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            self._plans[key] = plan
        return plan(leaves)

    def _plan(self, structure: Structure, static: Static, leaves: Sequence[Any]) -> Any:
        """What serves such a call: a program, or several that hold for some sizes only."""
        numbers = serving(self.manifest.programs, structure, static, leaves)
        calls = self.calls(numbers)
        return Guarded(calls) if len(calls) > 1 else next(iter(calls), None)

    def calls(self, numbers: Sequence[int]) -> list[PreparedCall]:
        """The calls of some of its programs, by their numbers in the manifest."""
        return [self._programs[number] for number in numbers]

    def _call_in_places(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        static: Static,
        structure: Structure,
        leaves: Sequence[Any],
    ) -> Any:
        """Call with arguments by position that were given by name, if they can be."""
        parameters = self.manifest.parameters or ()
        named = dict(kwargs)
        in_places = [*args]
        for name in parameters[len(args) :]:
            if name not in named:
                break
            in_places.append(named.pop(name))
        if len(in_places) > len(args) and not static:
            return self(*in_places, **named)
        raise unserved(self.manifest, structure, static, leaves)

    def __repr__(self) -> str:
        programs = ", ".join(map(str, self.manifest.programs))
        return f"<SavedFunction {self.__name__}{programs}>"


class Guarded:
    """Programs each of which holds for some sizes only, which it checks itself."""

    def __init__(self, calls: Sequence[PreparedCall]) -> None:
        self._calls = tuple(calls)

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """Run the first that holds."""
        return self._first(PreparedCall.__call__, leaves)

    def flat_results(self, leaves: Sequence[Any], seed: int) -> list[Any]:
        """The same with a seed: what it gives, before it is a pytree."""
        return self._first(PreparedCall.flat_results, leaves, seed)

    def _first(self, run: Callable[..., Any], *arguments: Any) -> Any:
        """A program that does not hold has done nothing that is seen."""
        *others, last = self._calls
        for call in others:
            try:
                return run(call, *arguments)
            except AssumptionError as error:
                if error.raised_by is not call.executable:
                    raise
        return run(last, *arguments)


def _prepared(program: SavedProgram, executable: Executable) -> PreparedCall:
    """The call of a program with NumPy's arrays; Python's numbers are converted in the frame."""
    kinds = executable.artifact.arguments
    placers = [
        partial(_place, number, numpy_dtype(kind.dtype)) for number, kind in enumerate(kinds)
    ]
    return PreparedCall(
        executable,
        placers,
        [_take] * len(program.results),
        builder(program.out_structure),
        program.seed,
        is_one_array=program.out_structure == LEAF,
    )


def _place(number: int, dtype: Any, frame: Frame, leaf: Any) -> Any:
    return frame.place(number, leaf if type(leaf) in NUMBERS else np.asarray(leaf, dtype))


def _take(reader: Any, words: list[int], own: bool, committed: bool) -> Any:
    return reader.take(words, own)
