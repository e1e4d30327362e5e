"""Compile lowered modules for another processor than this process compiles for, in a child.

In: modules, and a level of x86-64 that this computer has, too. Out: artifacts, whole engines
included, as files in a folder of the caller's. The processor is part of every key in the cache, of
LLVM's target machines and of the engines that are loaded: a process has one, which
`DIASTASE_TARGET_CPU` names. The child finds and keeps what it compiles in the same cache.

The trap: nothing of Python travels. A module that calls back compiles, and cannot be called.
"""

import json
import os
import shutil
import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from diastase_engine import with_libraries
from diastase_mlir.driver.compilation import compile_module
from diastase_mlir.lowering.core.lowered_module import LoweredModule
from diastase_mlir.options import CompileOptions
from diastase_runtime.abi import LIBRARY_FIELDS, Artifact
from diastase_runtime.errors import DiastaseError, InternalError
from diastase_toolchain.processor import VARIABLE

_PROGRAM = """\
import sys
sys.path[:] = {path}
from diastase_mlir.driver.other_processors import compile_jobs
compile_jobs({folder!r})
"""
_JOBS, _MADE = "jobs.json", "made.json"


def compile_for(
    level: str, modules: Sequence[LoweredModule], options: CompileOptions, folder: Path
) -> list[Artifact]:
    """Compile for a level; libraries are written into the folder, which is empty."""
    jobs = [_job(module, options) for module in modules]
    (folder / _JOBS).write_text(json.dumps(jobs))
    path = [os.path.abspath(entry) for entry in sys.path]
    done = subprocess.run(
        [sys.executable, "-I", "-c", _PROGRAM.format(path=path, folder=str(folder))],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd="/", check=False,
        env={**os.environ, VARIABLE: level},
    )  # fmt: skip
    try:
        made: dict[str, Any] = json.loads((folder / _MADE).read_text())
    except FileNotFoundError:
        what = f"compiling for {level} ended with {done.returncode}: {done.stderr[-2000:]}"
        raise InternalError(what=what) from None
    if "error" in made:
        raise InternalError(what=f"compiling for {level}: {made['error']}")
    return list(map(Artifact.from_fields, made["artifacts"]))


def _job(module: LoweredModule, options: CompileOptions) -> dict[str, Any]:
    """A module as JSON: its interface is that of an artifact without a library."""
    interface = Artifact(
        name=module.name,
        library=Path(),
        arguments=module.arguments,
        results=module.results,
        sites=module.sites,
    )
    return {
        "bytecode": b64encode(module.bytecode).decode(),
        "interface": interface.to_json(),
        "uses_engine": module.uses_engine,
        "fingerprint": module.fingerprint,
        "edits": dict(module.edits),
        "pipelines": asdict(options)["pipelines"],
    }


def compile_jobs(folder: str) -> None:
    """Compile what the parent has written into the folder, and leave it there."""
    place = Path(folder)
    jobs = json.loads((place / _JOBS).read_text())
    try:
        made: dict[str, Any] = {
            "artifacts": [json.loads(_compiled(job, place).to_json()) for job in jobs]
        }
    except DiastaseError as error:
        made = {"error": str(error)}
    unfinished = place / f"{_MADE}.part"
    unfinished.write_text(json.dumps(made))
    unfinished.replace(place / _MADE)


def _compiled(job: dict[str, Any], folder: Path) -> Artifact:
    interface = Artifact.from_json(job["interface"])
    module = LoweredModule(
        name=interface.name,
        bytecode=b64decode(job["bytecode"]),
        arguments=interface.arguments,
        results=interface.results,
        sites=interface.sites,
        uses_engine=job["uses_engine"],
        fingerprint=job["fingerprint"],
        edits=job["edits"],
    )
    pipelines = job["pipelines"]
    if pipelines is not None:
        pipelines = tuple((stage, tuple(passes)) for stage, passes in pipelines)
    compiled = compile_module(module, CompileOptions(pipelines=pipelines)).artifact
    artifact = with_libraries(compiled, whole=True)
    copies: dict[str, Path] = {}
    for kind in LIBRARY_FIELDS:
        library: Path | None = getattr(artifact, kind)
        if library is not None:
            copies[kind] = folder / library.name  # which says what is in it, if it is in the cache
            shutil.copyfile(library, copies[kind])
    return replace(artifact, **copies)
