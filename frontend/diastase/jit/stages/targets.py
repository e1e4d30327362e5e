"""Machine code for the processors that a saved function is to run on.

In: compiled programs, and names of processors: `"native"` is the one that this process compiles
for, `"baseline"` the lowest level of x86-64 that there is code for. Out: a `Target` for each, those
with more features first, and the libraries as members of the file. Where several programs call the
same engine there is one member.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from diastase.jit.options.saving_errors import SaveError
from diastase_mlir import compile_for, with_libraries
from diastase_runtime.abi import LIBRARY_FIELDS, Artifact, is_as_named
from diastase_runtime.calls.prepared_call import PreparedCall
from diastase_runtime.errors import Span
from diastase_runtime.saved import file, processors
from diastase_runtime.saved.manifest import Target
from diastase_toolchain.cache import host_processor
from diastase_toolchain.errors import TargetProcessorError
from diastase_toolchain.processor import LEVELS

NATIVE, BASELINE = "native", "baseline"
_LOWEST = "x86-64-v2"


class Program(Protocol):
    """What of a compiled program matters here."""

    @property
    def interface(self) -> Any: ...  # noqa: D102
    @property
    def module(self) -> Any: ...  # noqa: D102
    @property
    def direct_call(self) -> PreparedCall: ...  # noqa: D102


def targets_of(
    target_cpu: str | Sequence[str] | None,
    programs: Sequence[Program],
    members: dict[str, bytes],
    *,
    sources: bool,
) -> tuple[Target, ...]:
    """Compile for each processor; what the file is to have is added to the members."""
    given = NATIVE if target_cpu is None else target_cpu
    names = [given] if isinstance(given, str) else list(given)
    levels = dict.fromkeys(map(_level, names or [NATIVE]))
    made = [_target(level, programs, members, sources) for level in levels]
    return tuple(sorted(made, key=lambda target: -len(target.features)))


def _level(name: Any) -> str:
    """Whose machine code a name means; refuses what this computer could not run."""
    level = _LOWEST if name == BASELINE else name
    if level == NATIVE:
        return level
    reason = ""
    if level not in LEVELS:
        reason = f"which is none of {', '.join((NATIVE, BASELINE, *LEVELS))}"
    elif lacks := processors.missing("linux-x86_64", processors.needed(LEVELS[level])):
        reason = f"and this computer {lacks}"
    if reason:
        raise TargetProcessorError(variable="target_cpu", level=name, reason=reason)
    return level


def _target(
    level: str, programs: Sequence[Program], members: dict[str, bytes], sources: bool
) -> Target:
    host = host_processor()
    if level in (NATIVE, host.name):
        artifacts = [program.direct_call.executable.artifact for program in programs]
        whole = [with_libraries(artifact, whole=True) for artifact in artifacts]
        saved = _saved(whole, members, sources)
        features = processors.needed_here(host.features)
        return Target(host.name, processors.platform(), features, saved)
    with TemporaryDirectory(prefix="diastase-") as folder:
        modules = [program.module for program in programs]
        options = programs[0].interface.options
        made = compile_for(level, modules, options, Path(folder))
        saved = _saved(made, members, sources)
    features = processors.needed(LEVELS[level])
    return Target(level, processors.platform(), features, saved)


def _saved(
    artifacts: Iterable[Artifact], members: dict[str, bytes], sources: bool
) -> tuple[Artifact, ...]:
    return tuple(_with_members(artifact, members, sources) for artifact in artifacts)


def _with_members(artifact: Artifact, members: dict[str, bytes], sources: bool) -> Artifact:
    """An artifact whose paths are names of members, to which its libraries are added."""
    paths: dict[str, Path] = {}
    for kind in LIBRARY_FIELDS:
        library: Path | None = getattr(artifact, kind)
        if library is not None:
            content = _content(library)
            name = "programs/program" if kind == "library" else f"libraries/{kind}"
            paths[kind] = Path(f"{name}-{file.checksum(content)[:16]}.so")
            members[str(paths[kind])] = content
    sites = artifact.sites
    if sources:
        sites = tuple(replace(site, text=Span(site.file, site.line).text) for site in sites)
    return replace(artifact, sites=sites, **paths)


def _content(library: Path) -> bytes:
    """What was compiled, if it is still there."""
    try:
        content = library.read_bytes()
    except OSError as error:
        raise SaveError(file=library, reason=error.strerror or str(error)) from error
    if not is_as_named(library.name, content):
        raise SaveError(file=library, reason="its contents have changed since it was compiled")
    return content
