"""What a pipeline is made of, and how it runs; `pipeline.py` says what it consists of.

A stage is a list of passes, each a pass of MLIR in its textual form or a Python function, and
the dialects that may remain after it. A stage that ends with anything else raises, naming the
operation and the user's line, so an operation that no pass converts is found where it should
have gone, not as a crash later on. Other things that later passes count on cannot be seen in what
a pass leaves (no two arrays in one place, a bound on each allocation); so a stage says which passes
are optional, and what lacks another one is no pipeline (`Pipeline.first_missing`).
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from diastase_mlir.bindings import ir, run_passes
from diastase_mlir.diagnostics import span_at
from diastase_runtime.errors import Span
from diastase_toolchain.steps import step as made

PythonPass = Callable[[ir.Module], None]
Pass = str | PythonPass
Observer = Callable[["Stage", int, str, ir.Module], None]
"""Called with the stage, the position in it and the name of what has just run."""


@dataclass(frozen=True)
class Stage:
    """A named step of the pipeline."""

    name: str
    why_here: str
    passes: tuple[Pass, ...]
    remain: frozenset[str] | None
    """Dialects that operations may belong to when the stage has run; None: any."""
    optional: frozenset[Pass] = frozenset()
    """Passes that make programs faster, or compiling them, and are not needed for their results."""

    def __str__(self) -> str:
        """Show the stage as documentation."""
        remain = "anything" if self.remain is None else " ".join(sorted(self.remain))
        passes = "\n".join(map(self._shown, self.passes)) or "    (none)"
        return f"{self.name}: {self.why_here}\n{passes}\n  leaves: {remain}"

    def _shown(self, step: Pass) -> str:
        return f"    {pass_name(step)}{' (optional)' if step in self.optional else ''}"


@dataclass(frozen=True)
class Pipeline:
    """Stages in order."""

    stages: tuple[Stage, ...]

    def __str__(self) -> str:
        """Show the whole pipeline as documentation."""
        return "\n\n".join(str(stage) for stage in self.stages)

    def optional(self) -> list[str]:
        """Name the passes without which programs have the same results."""
        stages = self.stages
        return [pass_name(step) for each in stages for step in each.passes if step in each.optional]

    def first_missing(self, names: Iterable[str]) -> str | None:
        """Which pass in Python is not among these, at least not after those that it comes after.

        A missing conversion of MLIR's is found by what is left, and may be another one's work.
        """
        left = iter(names)
        wanted = (step for each in self.stages for step in each.passes if step not in each.optional)
        ours = (pass_name(step) for step in wanted if not isinstance(step, str))
        return next((name for name in ours if name not in left), None)


@dataclass
class StageFailure(Exception):
    """A pass failed or a stage left something illegal; becomes a `FailedPassError`."""

    stage: Stage
    pass_name: str
    reason: str
    span: Span | None


@dataclass
class PassError(Exception):
    """What a pass in Python raises to refuse an operation."""

    reason: str
    location: ir.Location


def pass_name(step: Pass) -> str:
    """Name a pass: MLIR's textual form, or the function's name."""
    return step if isinstance(step, str) else step.__name__


def run_stage(stage: Stage, module: ir.Module, observe_pass: Observer | None = None) -> None:
    """Run one stage on a module, in place; one pass at a time if somebody observes.

    What the passes leave is verified once, as verifying takes longer than most passes. If it is
    not valid, the reproducer finds the pass: it runs them one by one, each verified.
    """
    if observe_pass is None:
        for step in _grouped(stage):
            run_pass(stage, step, module, verified=False)
        _verify(stage, module)
    else:
        for number, step in enumerate(stage.passes):
            run_pass(stage, step, module)
            observe_pass(stage, number, pass_name(step), module)
    check_legality(stage, module)


def run_pass(stage: Stage, step: Pass, module: ir.Module, *, verified: bool = True) -> None:
    """Run one pass, or several joined by commas, on a module, in place."""
    try:
        if isinstance(step, str):
            run_passes(step, module, verified=verified)
        else:
            step(module)
            if verified:
                module.operation.verify()
    except ir.MLIRError as error:
        raise StageFailure(stage, pass_name(step), *reason_and_span(error)) from None
    except PassError as error:
        span = span_at(str(error.location))
        raise StageFailure(stage, pass_name(step), error.reason, span) from None
    except RecursionError:
        reason = (
            "operations are nested more deeply than the "
            f"{sys.getrecursionlimit()} frames that Python allows"
        )
        raise StageFailure(stage, pass_name(step), reason, None) from None


def run_pipeline(
    pipeline: Pipeline,
    module: ir.Module,
    timings: dict[str, float],
    observe_stage: Observer | None = None,
    observe_pass: Observer | None = None,
) -> None:
    """Run all stages on a module, in place, noting how many seconds each took."""
    for number, stage in enumerate(pipeline.stages):
        with made(stage.name, part_of=timings) as running:
            run_stage(stage, module, observe_pass)
            running.size = lambda: str(module).count("\n")
        if observe_stage is not None:
            observe_stage(stage, number, stage.name, module)


def _verify(stage: Stage, module: ir.Module) -> None:
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        raise StageFailure(stage, "verifier", *reason_and_span(error)) from None


def check_legality(stage: Stage, module: ir.Module) -> None:
    """Refuse operations of dialects that must not remain after the stage."""
    remain = stage.remain
    if remain is None:
        return
    illegal: dict[str, ir.Location] = {}

    def visit(operation: ir.Operation) -> ir.WalkResult:
        name = operation.name
        if name.partition(".")[0] not in remain:
            illegal.setdefault(name, operation.location)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    if illegal:
        # Outer operations come first: what stands in their regions is only left over with them.
        name, location = next(iter(illegal.items()))
        reason = f"no pass converts {name}"
        raise StageFailure(stage, "legality check", reason, span_at(str(location)))


def _grouped(stage: Stage) -> Iterator[Pass]:
    """Join neighbouring MLIR passes into one pass manager."""
    for textual, steps in groupby(stage.passes, key=lambda step: isinstance(step, str)):
        if textual:
            yield ",".join(str(step) for step in steps)
        else:
            yield from steps


def reason_and_span(error: ir.MLIRError) -> tuple[str, Span | None]:
    """Read what MLIR's diagnostics say, and the first that says where: the cause comes first."""
    diagnostics = error.error_diagnostics
    reason = "; ".join(diagnostic.message for diagnostic in diagnostics) or str(error)
    spans = (span_at(str(diagnostic.location)) for diagnostic in diagnostics)
    return reason, next((span for span in spans if span), None)
