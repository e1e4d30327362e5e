"""Pipelines as users write them: lists of stages, each a name with a list of names of passes.

    [("capture", ["refuse_what_aborts"]), ("scalars", ["detensorize_scalars", "canonicalize"]), …]

In: such lists, to be edited in place or given to `qjit(pipelines=…)`. Out: for the compiler the
same as tuples, every pass of which is there. Names with underscores are passes of ours, the others
are MLIR's, as MLIR writes them in its pipelines: with options in braces, and with the operation
that they are for, `func.func(cse)`.

The trap: a list replaces the whole pipeline. What a stage of ours promises to the next is not
checked then; only at the end nothing may be left that is not LLVM's.
"""

from collections.abc import Callable
from typing import Any

from diastase.api.debugging.errors import NotInPipelineError, PipelineError
from diastase.api.debugging.stages import named_stage
from diastase_mlir import CompileOptions, continuation

PipelineStage = tuple[str, list[str]]
PipelineStages = list[PipelineStage]


def default_pipeline() -> PipelineStages:
    """Return the stages that programs are compiled in, as a new list for `qjit(pipelines=…)`.

    >>> stages = default_pipeline()
    >>> insert_stage_after(stages, ("clean", ["canonicalize", "cse"]), ref_stage="scalars")
    >>> @qjit(pipelines=stages)
    ... def f(x):
    ...     return x + 1
    """
    return continuation.groups(CompileOptions())


def insert_pass_after(pipeline: list[str], new_pass: str, ref_pass: str) -> None:
    """Insert a pass into a list of passes after another one, where that stands first.

    >>> passes = ["canonicalize", "cse"]
    >>> insert_pass_after(passes, "symbol-dce", ref_pass="canonicalize")
    >>> passes
    ['canonicalize', 'symbol-dce', 'cse']

    Raises `NotInPipelineError` (a `ValueError`).
    """
    pipeline.insert(_place(pipeline, "pass", ref_pass) + 1, new_pass)


def insert_pass_before(pipeline: list[str], new_pass: str, ref_pass: str) -> None:
    """Insert a pass into a list of passes before another one, where that stands first."""
    pipeline.insert(_place(pipeline, "pass", ref_pass), new_pass)


def insert_stage_after(stages: PipelineStages, new_stage: PipelineStage, ref_stage: str) -> None:
    """Insert a stage into a list of stages after another one, where that stands first."""
    stages.insert(_place_of_stage(stages, ref_stage) + 1, new_stage)


def insert_stage_before(stages: PipelineStages, new_stage: PipelineStage, ref_stage: str) -> None:
    """Insert a stage into a list of stages before another one, where that stands first."""
    stages.insert(_place_of_stage(stages, ref_stage), new_stage)


def read_pipelines(given: Any) -> tuple[tuple[str, tuple[str, ...]], ...] | None:
    """Check what `qjit(pipelines=…)` was given; None if it is nothing."""
    if given is None or given == []:
        return None
    if not _is_list(given, _is_stage):
        raise PipelineError(
            problem=f"pipelines is {given!r}, not a list of stages, each a name with a list"
        )
    stages = tuple((name, tuple(passes)) for name, passes in given)
    for stage, passes in stages:
        for name in passes:
            problem = continuation.problem_of_pass(name)
            if problem is not None:
                raise PipelineError(problem=f"stage {stage}, pass {name}: {problem}")
    return stages


def _is_stage(given: Any) -> bool:
    return (
        isinstance(given, list | tuple)
        and len(given) == 2
        and isinstance(given[0], str)
        and _is_list(given[1], lambda name: isinstance(name, str))
    )


def _is_list(given: Any, is_element: Callable[[Any], bool]) -> bool:
    return isinstance(given, list | tuple) and all(map(is_element, given))


def _place_of_stage(stages: PipelineStages, name: str) -> int:
    names = [name for name, _ in stages]
    return _place(names, "stage", named_stage(name, names) or name)


def _place(names: list[str], what: str, name: str) -> int:
    if name not in names:
        raise NotInPipelineError(what=what, name=name, known=", ".join(names) or "nothing")
    return names.index(name)
