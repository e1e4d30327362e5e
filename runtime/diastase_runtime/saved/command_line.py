"""`python -m diastase_runtime`: look into saved functions, and run them on arrays in files.

    python -m diastase_runtime inspect f.diastase
    python -m diastase_runtime run f.diastase arguments.npz --output results.npz

In an archive of arguments each array has the name that `inspect` shows (`x`, `params['w']`); in one
of results its place (`result`, `result[0]`, `result['y']`). Nothing is run to inspect a file.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from diastase_runtime.errors import DiastaseError
from diastase_runtime.saved.errors import UnnamedArgumentsError
from diastase_runtime.saved.function import load, read_manifest
from diastase_runtime.saved.manifest import Manifest, SavedProgram
from diastase_runtime.saved.pytrees import builder, flatten, leaf_names

Command = Callable[[argparse.Namespace], None]


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; the status with which the process ends."""
    return done(command_line().parse_args(arguments))


def command_line() -> argparse.ArgumentParser:
    """What reads the command line: each command says what it does, and what it takes."""
    parser = argparse.ArgumentParser(
        "diastase_runtime",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="command")
    inspected = commands.add_parser("inspect", help="say what is in a saved function")
    inspected.add_argument("file", type=Path, help="what `save` has written")
    inspected.set_defaults(command=lambda given: print(description(given.file)))
    add_run(commands)
    return parser


def done(given: argparse.Namespace) -> int:
    """Run a command; what goes wrong is told in a few lines."""
    try:
        given.command(given)
    except (DiastaseError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def add_run(commands: Any) -> None:
    """The command that calls a saved function."""
    run = commands.add_parser("run", help="call a saved function on arrays of an .npz file")
    run.add_argument("file", type=Path, help="what `save` has written")
    run.add_argument("arguments", type=Path, nargs="?", help="an .npz file; none: no arguments")
    run.add_argument("--output", "-o", type=Path, help="an .npz file; by default, print")
    run.set_defaults(command=_run)


def _run(given: argparse.Namespace) -> None:
    arrays: dict[str, np.ndarray] = {}
    if given.arguments is not None:
        try:
            with np.load(given.arguments, allow_pickle=False) as archive:
                arrays = dict(archive)
        except (ValueError, TypeError, AttributeError) as error:
            raise OSError(f"{given.arguments} is no archive of arrays: {error}") from None
    function = load(given.file)
    args, kwargs = _arguments(function.manifest, arrays)
    results = dict(_named("result", function(*args, **kwargs)))
    if given.output is None:
        for name, value in results.items():
            print(f"{name}: {value!r}")
        return
    with given.output.open("wb") as file:
        np.savez(file, **results)


def _arguments(manifest: Manifest, arrays: dict[str, np.ndarray]) -> Any:
    """The arguments of the first program that has these names and ranks; with its static values."""
    named = [one for one in manifest.programs if sorted(one.names) == sorted(arrays)]
    fitting = [one for one in named if _has_types(one, arrays)] or named
    if not fitting:
        raise UnnamedArgumentsError(
            function=manifest.name,
            given=", ".join(arrays) or "none",
            programs="\n".join(f"    {program}" for program in manifest.programs),
        )
    program = fitting[0]
    args, kwargs = builder(program.in_structure)([arrays[name] for name in program.names])
    args = list(args)
    for place, value in program.static:
        if isinstance(place, int):
            args.insert(place, value)
        else:
            kwargs[place] = value
    return args, kwargs


def _has_types(program: SavedProgram, arrays: dict[str, np.ndarray]) -> bool:
    pairs = zip(program.names, program.arguments, strict=True)
    return all(
        (arrays[name].dtype.name, arrays[name].ndim) == (kind.dtype, len(kind.shape))
        for name, kind in pairs
    )


def _named(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Each array of the results with its place."""
    leaves: list[Any] = []
    structure = flatten(value, leaves)
    places = leaf_names(name, structure)
    return zip(places, map(np.asarray, leaves), strict=True)


def description(path: Path) -> str:
    """What is in a file, in a screen of text."""
    manifest, sizes = read_manifest(path)
    versions = ", ".join(f"{name} {version}" for name, version in manifest.versions.items())
    lines = [f"{manifest.name}, saved by {versions} (ABI {manifest.abi})", "", "programs:"]
    for program in manifest.programs:
        lines.append(f"  {manifest.name}{program}")
        lines += [f"      where {assumption}" for assumption in program.assumptions]
        lines += [f"      with seed {program.seed}"] * (program.seed is not None)
    lines += ["", "processors, the best first:"]
    for target in manifest.targets:
        lines.append(f"  {target.name} ({target.platform}): {' '.join(target.features)}")
    lines += ["", "members:"]
    lines += [f"  {size:>10,}  {name}" for name, size in sizes.items()]
    return "\n".join(lines)
