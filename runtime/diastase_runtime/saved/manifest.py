"""What is in the file of a saved function, as JSON: read here, and written here.

    programs   for each set of argument types: structures, types, names, static values, the seed
    targets    for each kind of processor: what it needs, and an `Artifact` for each program, whose
               paths are names of members

The trap: sizes of results may be expressions (`2*n`), which nobody reads; sizes of arguments are
numbers or symbols, which each call is compared with.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from diastase_runtime.abi import ABI_VERSION, Artifact
from diastase_runtime.saved import pytrees


@dataclass(frozen=True)
class LeafType:
    """Type of one array of the arguments or results."""

    dtype: str
    shape: tuple[int | str, ...]
    weak: bool = False
    """Whether a number of Python's stands for it."""

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class SavedProgram:
    """How one program is called, whatever machine runs it."""

    static: tuple[tuple[int | str, Any], ...]
    """Values of static arguments, by position or name."""
    in_structure: pytrees.Structure
    """Of `(args, kwargs)`, without static ones."""
    names: tuple[str, ...]
    """The user's words for the leaves of the arguments."""
    static_names: tuple[str, ...]
    """The same for static ones."""
    arguments: tuple[LeafType, ...]
    out_structure: pytrees.Structure
    results: tuple[LeafType, ...]
    seed: int | None
    assumptions: tuple[str, ...] = ()
    """What must hold of sizes, in the user's words; the program checks it."""

    def __str__(self) -> str:
        """`(x: float64[n], k=3) -> float64[n]`."""
        named = zip(self.names, self.arguments, strict=True)
        arguments = [f"{name}: {kind}" for name, kind in named]
        static = zip(self.static_names, self.static, strict=True)
        arguments += [f"{name}={value!r}" for name, (_, value) in static]
        results = [str(kind) for kind in self.results]
        returned = results[0] if len(results) == 1 else f"({', '.join(results)})"
        return f"({', '.join(arguments)}) -> {returned}"


@dataclass(frozen=True)
class Target:
    """Machine code for one kind of processor."""

    name: str
    platform: str
    features: tuple[str, ...]
    """Flags that the processor must have."""
    artifacts: tuple[Artifact, ...]
    """One for each program."""


@dataclass(frozen=True)
class Manifest:
    """All that is known of a saved function but its machine code."""

    name: str
    versions: Mapping[str, str]
    """Of diastase and what it compiled with."""
    abi: int
    parameters: tuple[str, ...] | None
    """Names of positional parameters, where arguments by name are put in their places."""
    static_positions: tuple[int, ...]
    static_names: tuple[str, ...]
    programs: tuple[SavedProgram, ...]
    targets: tuple[Target, ...]
    """The one with the most features first."""


def to_json(manifest: Manifest) -> dict[str, Any]:
    """What the file has; raises TypeError for static values and keys that JSON has no words for."""
    return {
        "name": manifest.name,
        "versions": dict(manifest.versions),
        "abi": manifest.abi,
        "parameters": manifest.parameters,
        "static_positions": manifest.static_positions,
        "static_names": manifest.static_names,
        "programs": [_program_to_json(program) for program in manifest.programs],
        "targets": [
            {
                "name": target.name,
                "platform": target.platform,
                "features": target.features,
                "artifacts": [json.loads(artifact.to_json()) for artifact in target.artifacts],
            }
            for target in manifest.targets
        ],
    }


def _program_to_json(program: SavedProgram) -> dict[str, Any]:
    return {
        "static": [[place, pytrees.value_to_json(value)] for place, value in program.static],
        "in": pytrees.to_json(program.in_structure),
        "names": program.names,
        "static_names": program.static_names,
        "arguments": list(map(asdict, program.arguments)),
        "out": pytrees.to_json(program.out_structure),
        "results": list(map(asdict, program.results)),
        "seed": program.seed,
        "assumptions": program.assumptions,
    }


def from_json(data: Mapping[str, Any]) -> Manifest:
    """Read what `to_json` wrote; raises KeyError, TypeError or ValueError for anything else."""
    if data["abi"] != ABI_VERSION:
        raise ValueError("another ABI")
    manifest = Manifest(
        name=data["name"],
        versions=data["versions"],
        abi=data["abi"],
        parameters=None if data["parameters"] is None else tuple(data["parameters"]),
        static_positions=tuple(data["static_positions"]),
        static_names=tuple(data["static_names"]),
        programs=tuple(map(_program_from_json, data["programs"])),
        targets=tuple(
            Target(
                name=target["name"],
                platform=target["platform"],
                features=tuple(map(str, target["features"])),
                artifacts=tuple(map(Artifact.from_fields, target["artifacts"])),
            )
            for target in data["targets"]
        ),
    )
    _require_equal_lengths(manifest)
    return manifest


def _require_equal_lengths(manifest: Manifest) -> None:
    """Raises ValueError where parts of a manifest are of other programs."""
    programs = manifest.programs
    for program in programs:
        results = pytrees.leaf_names("", program.out_structure)
        pairs = zip(
            (program.names, program.static_names, program.results),
            (program.arguments, program.static, results),
            strict=True,
        )
        if any(len(one) != len(other) for one, other in pairs):
            raise ValueError(f"names, types and values of {manifest.name}")
    if any(len(target.artifacts) != len(programs) for target in manifest.targets):
        raise ValueError("not as many artifacts as programs")


def _program_from_json(data: Mapping[str, Any]) -> SavedProgram:
    return SavedProgram(
        static=tuple((place, pytrees.value_from_json(value)) for place, value in data["static"]),
        in_structure=pytrees.from_json(data["in"]),
        names=tuple(data["names"]),
        static_names=tuple(data["static_names"]),
        arguments=_leaves_from_json(data["arguments"]),
        out_structure=pytrees.from_json(data["out"]),
        results=_leaves_from_json(data["results"]),
        seed=data["seed"],
        assumptions=tuple(data["assumptions"]),
    )


def _leaves_from_json(data: Sequence[Mapping[str, Any]]) -> tuple[LeafType, ...]:
    return tuple(LeafType(leaf["dtype"], tuple(leaf["shape"]), leaf["weak"]) for leaf in data)
