"""`qml.specs` of compiled functions: the resources of their circuits, at levels of the pipeline.

    qml.specs(f, level="device", compute_depth=True)(*args) -> CircuitSpecs

Levels are those of `inspection.levels`; `"gradient"` and `"device"` are `"user"`, since the engine
is given what the passes have left. What integer arguments are does not matter: they stay symbols
(`CompiledResources.subs`). One level gives its resources, several a dictionary by the level's name;
where transforms make several circuits of one QNode, or the function calls it several times, a list
of them. A function that calls several QNodes gives a dictionary of specifications by QNode.

Operators are counted as they are recorded: templates are decomposed into gates of the gate table,
at every level; identities, barriers and snapshots are none. QNodes on devices that run in Python
(`host_devices`) have no circuit here: PennyLane counts what it would run.
"""

from collections.abc import Callable, Sequence
from typing import Any

from diastase.capture.pennylane_compat.private import PENNYLANE
from diastase.inspection.levels import CompiledFunction, Level, LevelName, levels_of
from diastase.inspection.resources.analysis import CircuitAnalysis, Program
from diastase.inspection.resources.results import Analysed, CompiledResources, CompiledSpecs
from diastase.quantum.qnode.circuits import SeenCircuit

_resource = PENNYLANE.module("pennylane.resource.resource")


def specs_of(
    original: Callable[..., Any],
    compiled: CompiledFunction,
    level: LevelName | None = None,
    compute_depth: bool | None = None,
) -> Callable[..., Any]:
    """What `qml.specs` gives of a compiled function; `original` is PennyLane's own."""

    def specs(*args: Any, **kwargs: Any) -> Any:
        asked = "device" if level is None else level
        levels = levels_of(compiled, asked, args, kwargs)
        names = dict.fromkeys(_qnode(seen) for each in levels for seen in each.circuits)
        if not names:
            return original(compiled.original_function, level, compute_depth)(*args, **kwargs)
        depths = compute_depth is not False
        found = {name: _specs(name, asked, levels, depths) for name in names}
        return found if len(found) > 1 else found.popitem()[1]

    return specs


def _qnode(seen: SeenCircuit) -> str:
    return seen.traced.settings.qnode


def _specs(name: str, asked: Any, levels: Sequence[Level], depths: bool) -> CompiledSpecs:
    circuits = [[seen for seen in each.circuits if _qnode(seen) == name] for each in levels]
    resources = [
        [_resources(seen, level.traced, depths) for seen in own]
        for level, own in zip(levels, circuits, strict=True)
    ]
    found: list[Any] = [each[0] if len(each) == 1 else each for each in resources]
    settings = circuits[-1][0].traced.settings
    is_one = isinstance(asked, int | str) and asked not in ("all", "all-mlir")
    titles = _unique([each.name for each in levels])
    wires = settings.device.wires
    return CompiledSpecs(
        device_name=settings.device.name,
        num_device_wires=None if wires is None else len(wires),
        shots=settings.shots,
        level=asked if is_one else dict(zip((e.number for e in levels), titles, strict=True)),
        resources=found[0] if is_one else dict(zip(titles, found, strict=True)),
    )


def _resources(seen: SeenCircuit, traced: Any, depths: bool) -> CompiledResources:
    return Analysed(analysis_of(seen, traced), measurements_of(seen), depths).resources()


def analysis_of(seen: SeenCircuit, traced: Any) -> CircuitAnalysis:
    """The analysis of a circuit; `traced` is the stage of the program that calls it."""
    made = traced.traced.program
    program = Program(made.jaxpr, traced.interface.argument_names, made.dimensions.values)
    return CircuitAnalysis(program, seen.traced.jaxpr)


def measurements_of(seen: SeenCircuit) -> dict[str, int]:
    """How often each measurement is made in the end, as PennyLane calls it."""
    found: dict[str, int] = {}
    for process in seen.processes:
        name = _resource._mp_to_str(process, seen.traced.num_wires or 0)
        found[name] = found.get(name, 0) + 1
    return found


def _unique(names: Sequence[str]) -> list[str]:
    """Names of which equal ones are numbered, as PennyLane does it."""
    found: list[str] = []
    for name in names:
        number = sum(one == name or one.startswith(f"{name}-") for one in found)
        found.append(name if name not in found else f"{name}-{number + 1}")
    return found
