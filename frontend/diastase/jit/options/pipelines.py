"""Pipelines as users write them: lists of stages, each a name with a list of names of passes.

    [("capture", ["precheck"]), ("scalars", ["detensorize_scalars", "canonicalize"]), …]

In: such lists, to be edited in place or given to `qjit(pipelines=…)`. Out: for the compiler the
same as tuples, every pass of which is there. Names with underscores are passes of ours, the others
are MLIR's, as MLIR writes them in its pipelines: with options in braces, and with the operation
that they are for, `func.func(cse)`.

The trap: a list replaces the whole pipeline. Our passes must be in it, in their order, but for the
optional ones; what a stage promises to the next is not checked then, only that at the end nothing
is left that is not LLVM's.
"""

from collections.abc import Callable, Sequence
from typing import Any

from diastase.jit.options.ir_errors import NotInPipelineError, PipelineError
from diastase_mlir import CompileOptions, user_span
from diastase_mlir.driver import continuation

PipelineStage = tuple[str, list[str]]
PipelineStages = list[PipelineStage]

_OF_CATALYST = {
    "QuantumCompilation": "capture",
    "HLOLowering": "scalars",
    "GradientLowering": "scalars",  # derivatives are taken before, so it leaves what it finds
    "Bufferization": "deallocate",
    "MLIRToLLVMDialect": "to-llvm",
    "MLIRToLLVMDialectConversion": "to-llvm",
    "LLVMIRTranslation": "translate",
    "O2Opt": "optimise",
    "last": "optimise",
}
"""Without `Stage` or `Pass`, which end most of them."""


def default_pipeline() -> PipelineStages:
    """Return the stages that programs are compiled in, as a list that may be edited.

    What is made of it is given to `qjit(pipelines=…)`, which refuses it (`PipelineError`, a
    `ValueError`) where a pass of ours that is needed is missing.

    Returns:
        A new list of pairs: the name of a stage, and a list of the names of its passes.

    Example:
        >>> from diastase import qjit
        >>> from diastase.pipelines import default_pipeline, insert_stage_after
        >>> stages = default_pipeline()
        >>> insert_stage_after(stages, ("clean", ["canonicalize", "cse"]), ref_stage="scalars")
        >>> qjit(lambda x: x + 1, pipelines=stages)(1)
        Array(2, dtype=int64, weak_type=True)

    """
    return continuation.groups(CompileOptions())


def insert_pass_after(pipeline: list[str], new_pass: str, ref_pass: str) -> None:
    """Insert a pass into a list of passes after another one, where that stands first.

    Args:
        pipeline: the passes of a stage, which is changed.
        new_pass: a name of ours, or of MLIR's, with its options:
            `"canonicalize{max-iterations=1}"`.
        ref_pass: one that is there.

    Raises:
        NotInPipelineError: a `ValueError`, if it is not there.
        PipelineError: a `ValueError`, for what is no list of names.

    Example:
        >>> from diastase.pipelines import insert_pass_after
        >>> passes = ["canonicalize", "cse"]
        >>> insert_pass_after(passes, "symbol-dce", ref_pass="canonicalize")
        >>> passes
        ['canonicalize', 'symbol-dce', 'cse']

    """
    _insert(pipeline, "pass", new_pass, ref_pass, 1)


def insert_pass_before(pipeline: list[str], new_pass: str, ref_pass: str) -> None:
    """Insert a pass into a list of passes before another one, where that stands first.

    Args:
        pipeline: the passes of a stage, which is changed.
        new_pass: a name of ours, or of MLIR's, with its options.
        ref_pass: one that is there.

    Raises:
        NotInPipelineError: a `ValueError`, if it is not there.
        PipelineError: a `ValueError`, for what is no list of names.

    Example:
        >>> from diastase.pipelines import insert_pass_before
        >>> passes = ["canonicalize", "cse"]
        >>> insert_pass_before(passes, "symbol-dce", ref_pass="cse")
        >>> passes
        ['canonicalize', 'symbol-dce', 'cse']

    """
    _insert(pipeline, "pass", new_pass, ref_pass, 0)


def insert_stage_after(stages: PipelineStages, new_stage: PipelineStage, ref_stage: str) -> None:
    """Insert a stage into a list of stages after another one, where that stands first.

    Args:
        stages: a list like `default_pipeline()`, which is changed.
        new_stage: a name with a list of names of passes.
        ref_stage: the name of one that is there, ours or Catalyst's.

    Raises:
        NotInPipelineError: a `ValueError`, if it is not there.
        PipelineError: a `ValueError`, for what is no list of stages.

    Example:
        >>> from diastase.pipelines import default_pipeline, insert_stage_after
        >>> stages = default_pipeline()
        >>> insert_stage_after(stages, ("mine", ["cse"]), ref_stage="capture")
        >>> stages[:2]
        [('capture', ['precheck']), ('mine', ['cse'])]

    """
    _insert(stages, "stage", new_stage, ref_stage, 1)


def insert_stage_before(stages: PipelineStages, new_stage: PipelineStage, ref_stage: str) -> None:
    """Insert a stage into a list of stages before another one, where that stands first.

    Args:
        stages: a list like `default_pipeline()`, which is changed.
        new_stage: a name with a list of names of passes.
        ref_stage: the name of one that is there, ours or Catalyst's.

    Raises:
        NotInPipelineError: a `ValueError`, if it is not there.
        PipelineError: a `ValueError`, for what is no list of stages.

    Example:
        >>> from diastase.pipelines import default_pipeline, insert_stage_before
        >>> stages = default_pipeline()
        >>> insert_stage_before(stages, ("mine", ["cse"]), ref_stage="capture")
        >>> stages[:2]
        [('mine', ['cse']), ('capture', ['precheck'])]

    """
    _insert(stages, "stage", new_stage, ref_stage, 0)


def read_pipelines(given: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Check what `qjit(pipelines=…)` was given."""
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
    problem = continuation.problem_of_passes(name for _, passes in stages for name in passes)
    if problem is not None:
        raise PipelineError(problem=problem)
    return stages


def named_stage(name: str, known: Sequence[str]) -> str | None:
    """Which of the stages that there are is meant by a name of ours, or of Catalyst's."""
    ours = _OF_CATALYST.get(str(name).removesuffix("Stage").removesuffix("Pass"))
    return next((stage for stage in (name, ours) if stage in known), None)


def _is_stage(given: Any) -> bool:
    return (
        isinstance(given, list | tuple)
        and len(given) == 2
        and isinstance(given[0], str)
        and _is_list(given[1], _is_name)
    )


def _is_name(given: Any) -> bool:
    return isinstance(given, str)


def _is_list(given: Any, is_element: Callable[[Any], bool]) -> bool:
    return isinstance(given, list | tuple) and all(map(is_element, given))


def _insert(items: Any, what: str, new: Any, beside: Any, offset: int) -> None:
    """Insert a stage, or a pass, into a list of such, beside one that is there."""
    is_stages = what == "stage"
    is_element = _is_stage if is_stages else _is_name
    if not isinstance(items, list) or not _is_list([*items, new], is_element):
        wanted = "a name with a list of passes" if is_stages else "a name"
        problem = f"a {what} is {wanted}, inserted into a list of such, not {new!r} into {items!r}"
        raise PipelineError(problem=problem, span=user_span())
    names: list[Any] = [name for name, _ in items] if is_stages else items
    name = (named_stage(beside, names) or beside) if is_stages else beside
    if name not in names:
        known = ", ".join(names) or "nothing"
        raise NotInPipelineError(what=what, name=name, known=known, span=user_span())
    items.insert(names.index(name) + offset, new)
