"""`python -m diastase`: compile functions to files, look into them, run them, tidy the cache.

    python -m diastase compile module:function --types "f64[n,2], i64" --output f.diastase
    python -m diastase inspect f.diastase
    python -m diastase inspect module:function --types "f64[n,2], i64" --stage llvm_ir
    python -m diastase run f.diastase arguments.npz --output results.npz
    python -m diastase export f.diastase --c folder
    python -m diastase cache list | size | prune --limit 500MB | verify | clear

`compile` imports the module, from the working directory too, which runs it. A function that is not
compiled is taken as `qjit(function)`.
"""

import argparse
import sys
from collections.abc import Sequence
from datetime import datetime
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

from diastase.debugging.c_libraries import export_c
from diastase.jit.options.named_types import read_types
from diastase.jit.options.options import QjitOptions
from diastase.jit.options.saving_errors import NoFunctionError
from diastase.jit.qjit import QJIT
from diastase_runtime.saved.command_line import add_run, description, done
from diastase_toolchain import cache_limit
from diastase_toolchain.cache import ProgramCache, program_cache
from diastase_toolchain.errors import DamagedCacheError

_FUNCTION = "module:function, or module:object.function"
_TYPES = "of the arguments: 'f64[n,2], i64'; by default those of its type hints"


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; the status with which the process ends."""
    return done(command_line().parse_args(arguments))


def command_line() -> argparse.ArgumentParser:
    """What reads the command line: each command says what it does, and what it takes."""
    parser = argparse.ArgumentParser(
        "diastase", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="command")

    compiled = commands.add_parser("compile", help="compile a function, and save it")
    compiled.add_argument("function", help=_FUNCTION)
    compiled.add_argument("--types", action="append", help=f"{_TYPES}; again for more programs")
    compiled.add_argument("--output", "-o", type=Path, help="by default, function.diastase")
    compiled.add_argument("--target-cpu", action="append", help="native, baseline, x86-64-v3, …")
    compiled.add_argument("--sources", action="store_true", help="with lines that errors show")
    compiled.set_defaults(command=_compile)

    inspected = commands.add_parser("inspect", help="say what is in a file, or show IR")
    inspected.add_argument("what", help=f"a saved function, or {_FUNCTION}")
    inspected.add_argument("--types", default=None, help=_TYPES)
    inspected.add_argument("--stage", help="jaxpr, a stage's name, or llvm_ir; by default mlir")
    inspected.set_defaults(command=_inspect)

    exported = commands.add_parser("export", help="make a C library of a saved function")
    exported.add_argument("file", type=Path, help="a saved function")
    exported.add_argument("--c", type=Path, required=True, help="the folder that it is to be in")
    exported.add_argument("--program", type=int, help="its number, where there are several")
    exported.add_argument("--name", help="of the function in C; by default that of the function")
    exported.set_defaults(command=_export)

    add_run(commands)
    cache = commands.add_parser("cache", help="what the cache has, and what is to go")
    cache.add_argument("action", choices=_ACTIONS, help="show, shrink, check or empty it")
    cache.add_argument("--limit", help="500MB, 2GB, …; by default DIASTASE_CACHE_LIMIT, or 2GB")
    cache.set_defaults(command=_cache)
    return parser


def _function(name: str) -> QJIT[..., Any]:
    """Import what `module:function` names, compiled."""
    module, _, path = name.partition(":")
    sys.path[:0] = [""] * ("" not in sys.path)
    try:
        found: Any = attrgetter(path)(import_module(module))
    except (ModuleNotFoundError, AttributeError, ValueError, TypeError) as error:
        raise NoFunctionError(name=name, reason=str(error)) from error
    return found if isinstance(found, QJIT) else QJIT(found, QjitOptions())


def _compile(given: argparse.Namespace) -> None:
    function = _function(given.function)
    path = given.output or Path(f"{given.function.rpartition(':')[2]}.diastase")
    function.save(path, types=given.types, target_cpu=given.target_cpu, sources=given.sources)
    print(description(path))


def _inspect(given: argparse.Namespace) -> None:
    if ":" not in given.what or Path(given.what).exists():
        print(description(Path(given.what)))
        return
    function = _function(given.what)
    args, kwargs = read_types(given.types or "")[0]
    declared = function.signature.declared()
    if given.types is None and declared is not None:
        args, kwargs = declared
    traced = function.trace(*args, **kwargs)
    if given.stage == "jaxpr":
        print(traced.jaxpr)
    else:
        print(traced.lower().as_text(given.stage))


def _export(given: argparse.Namespace) -> None:
    print(export_c(given.file, given.c, number=given.program, name=given.name))


def _cache(given: argparse.Namespace) -> None:
    programs = program_cache()
    if programs is None:
        print("the cache is off")
        return
    _ACTIONS[given.action](programs, given.limit)


def _list(programs: ProgramCache, _: str | None) -> None:
    for entry in cache_limit.entries(programs.directory):
        used = datetime.fromtimestamp(entry.used).isoformat(" ", "minutes")
        print(f"{used}  {entry.size:>12,}  {entry.name}  {entry.library.name}")


def _size(programs: ProgramCache, given: str | None) -> None:
    known = cache_limit.entries(programs.directory)
    size, most = sum(entry.size for entry in known), _limit(given)
    print(f"{len(known)} libraries, {size:,} bytes of {most:,} in {programs.directory}")


def _limit(given: str | None) -> int:
    return cache_limit.limit() if given is None else cache_limit.size_of(given, "--limit")


def _prune(programs: ProgramCache, given: str | None) -> None:
    print(f"{cache_limit.prune(programs.directory, _limit(given)):,} bytes removed")


def _clear(programs: ProgramCache, _: str | None) -> None:
    removed = cache_limit.prune(programs.directory, -1, recent=float("-inf"))
    print(f"{removed:,} bytes removed")


def _verify(programs: ProgramCache, _: str | None) -> None:
    """Read each entry as a program would; raises for those that one would compile anew."""
    records = sorted(programs.directory.glob("*.json"))
    found = ((record, programs.looked_up(record)) for record in records)
    faults = [f"    {fault}: {record}" for record, fault in found if isinstance(fault, str)]
    if faults:
        raise DamagedCacheError(entries="\n".join(faults))
    print(f"{len(records)} entries are as they were written")


_ACTIONS = {"list": _list, "size": _size, "prune": _prune, "verify": _verify, "clear": _clear}


if __name__ == "__main__":
    sys.exit(main())
