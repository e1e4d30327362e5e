"""The circuits of a compiled function at the levels of its pipeline: before passes, after each.

    level 0, "top"                     as traced: operators are gates of the gate table already
    level k                            after k entries of the QNode's pipeline
    the name of a marker               where `qml.marker` has put it
    "user", "gradient", "device"       after all entries: what derivatives are made of, and what
                                       the engine runs, is the same circuit
    slice, "all", a sequence           several levels; "all-mlir" those of passes, without
                                       PennyLane's transforms of tapes

The pipeline is PennyLane's, with the compiler's passes among its transforms
(`quantum.settings.circuit_passes`). For each level the function is traced again, with the pipeline
cut off there; nothing is compiled. Where QNodes have pipelines of several lengths, a level beyond
the end of one is its end.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import pennylane as qml

from diastase.capture.context import changed_settings
from diastase.quantum.qnode.circuits import SeenCircuit, watching_circuits
from diastase_mlir import user_span
from diastase_runtime.errors import DiastaseError

LevelName = int | str | slice | Iterable[int | str]


class UnknownLevelError(DiastaseError, ValueError):
    """A level that the pipeline of a compiled function does not have.

        qml.specs(f, level="after-merging")(0.3)     # no qml.marker of this name

    Levels are numbers of passes, from 0 on, names of markers, and some names that there always are.
    """

    title: ClassVar[str] = "No such level"
    message: ClassVar[str] = "the pipeline of {function} has no level {level}"
    help: ClassVar[str] = "levels are {known}"
    function: str
    level: str
    known: str


class CompiledFunction(Protocol):
    """What is known here of a compiled function."""

    @property
    def __name__(self) -> str:
        """Its name."""
        ...

    @property
    def original_function(self) -> Callable[..., Any]:
        """What it was compiled from."""
        ...

    def like(self, function: Callable[..., Any]) -> Any:
        """Compile another function as this one was."""
        ...


@dataclass(frozen=True)
class Level:
    """What a program's circuits are at one level."""

    number: int
    """How many entries of the pipeline have been applied."""
    name: str
    """The marker that stands there, or the pass that was applied last."""
    circuits: tuple[SeenCircuit, ...]
    """Of all QNodes that the function calls, in order; of transforms that make several of one, all.
    """
    traced: Any
    """The stage `Traced` of the program that calls them."""


def levels_of(
    compiled: CompiledFunction, level: LevelName, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[Level]:
    """The circuits of a compiled function at each of the levels that are asked for.

    `args` and `kwargs` are those of a call, or types (`jax.ShapeDtypeStruct`) of them.
    `UnknownLevelError`, a `ValueError`, for one that there is not.
    """

    def circuits(number: int | None) -> tuple[tuple[SeenCircuit, ...], Any]:
        with changed_settings(level=number), watching_circuits() as seen:
            traced = compiled.like(compiled.original_function).trace(*args, **kwargs)
        return tuple(seen), traced

    whole = circuits(None)
    pipelines = map(_pipeline, whole[0])
    longest = max(pipelines, key=len, default=qml.CompilePipeline())
    levels = _Levels(getattr(compiled, "__name__", "the function"), longest)  # none of a partial
    numbers = levels.numbers(level)
    if not numbers:
        raise levels.unknown(level)
    names = _names(longest)
    return [
        Level(number, names[number], *(whole if number == len(longest) else circuits(number)))
        for number in numbers
    ]


def _pipeline(circuit: SeenCircuit) -> Any:
    return circuit.traced.settings.steps.pipeline


def _names(pipeline: Any) -> list[str]:
    """What each level is called; a marker's name before that of a pass."""
    passes = [entry.pass_name or entry.tape_transform.__name__ for entry in pipeline]
    names = ["Before transforms", *passes]
    for marker in pipeline.markers:
        names[_marked(pipeline, marker)] = marker
    return names


def _marked(pipeline: Any, marker: str) -> int:
    return pipeline.get_marker_level(marker)


@dataclass(frozen=True)
class _Levels:
    """Which numbers the names of levels stand for."""

    function: str
    pipeline: Any

    def numbers(self, level: LevelName) -> list[int]:
        last = len(self.pipeline)
        if isinstance(level, slice):
            return list(range(last + 1)[level])
        if level == "all":
            return list(range(last + 1))
        if level == "all-mlir":
            return [n for n in range(last + 1) if n == 0 or self._is_pass(n - 1)]
        if isinstance(level, int | str | np.integer):
            return [self._number(level)]
        several: list[Any]
        try:
            several = list(level)
        except TypeError as error:
            raise self.unknown(level) from error
        return [self._number(one) for one in several]

    def _number(self, level: Any) -> int:
        last = len(self.pipeline)
        level = level.item() if isinstance(level, np.integer) else level
        if isinstance(level, bool) or not isinstance(level, int | str):
            raise self.unknown(level)
        if isinstance(level, int):
            if not -last - 1 <= level <= last:
                raise self.unknown(level)
            return level % (last + 1)
        if level in self.pipeline.markers:
            return _marked(self.pipeline, level)
        known = {"top": 0, **dict.fromkeys(("user", "gradient", "device"), last)}
        if level not in known:
            raise self.unknown(level)
        return known[level]

    def _is_pass(self, place: int) -> bool:
        return self.pipeline[place].pass_name is not None

    def unknown(self, level: Any) -> UnknownLevelError:
        """The error that says which levels there are."""
        markers = [repr(marker) for marker in self.pipeline.markers]
        names = ["'top'", "'user'", "'gradient'", "'device'", "'all'", "'all-mlir'", *markers]
        return UnknownLevelError(
            function=self.function, level=repr(level), span=user_span(),
            known=f"0 to {len(self.pipeline)}, {', '.join(names)}",
        )  # fmt: skip
