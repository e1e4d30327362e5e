"""A failed pass leaves a file that runs it again: the IR before it, and the pass.

    python -m diastase_mlir.driver.reproducer /tmp/diastase-circuit-f3q7/reproducer.mlir

To find the pass, the program is compiled once more, one pass at a time. The file names stage and
pass in its first lines; passes in Python are found by their name in the pipeline.
"""

import re
import sys
import textwrap
from pathlib import Path

from diastase_mlir import circuit_modules
from diastase_mlir.bindings import ir, session
from diastase_mlir.bindings.pass_pipeline import (
    Pass,
    Stage,
    StageFailure,
    check_legality,
    reason_and_span,
    run_pass,
)
from diastase_mlir.dialects import parse
from diastase_mlir.driver.continuation import begin
from diastase_mlir.driver.pipeline import PIPELINE, PYTHON_PASSES, TRANSLATABLE, pipeline_of
from diastase_mlir.errors import FailedPassError
from diastase_mlir.lowering.core.lowered_module import LoweredModule
from diastase_mlir.options import CompileOptions, write_failure

CHECKS = ("verifier", "legality check")
"""What fails besides passes."""


def write_reproducer(
    lowered: LoweredModule, options: CompileOptions, failure: StageFailure
) -> FailedPassError:
    """Find the failing pass, write the file, and make the error to raise."""
    before, failure = _isolate(lowered, options, failure)

    def text(path: Path) -> bytes:
        return (
            f"// A pass of diastase failed: {' '.join(failure.reason.split())}\n"
            f"// rerun: {sys.executable} -m diastase_mlir.driver.reproducer {path}\n"
            f"// stage: {failure.stage.name}\n"
            f"// pass: {failure.pass_name}\n"
            f"{before}\n"
        ).encode()

    return FailedPassError(
        stage=failure.stage.name,
        pass_name=failure.pass_name,
        reason=failure.reason,
        reproducer=write_failure(lowered.name, options, "reproducer.mlir", text),
        span=failure.span,
    )


def write_input(
    lowered: LoweredModule, options: CompileOptions, error: ir.MLIRError
) -> FailedPassError:
    """Keep a module that MLIR's parser or verifier refused, and make the error to raise."""
    path = write_failure(lowered.name, options, "reproducer.mlirbc", lambda _: lowered.bytecode)
    reason, span = reason_and_span(error)
    return FailedPassError(
        stage="parse", pass_name="verifier", reason=reason, reproducer=path, span=span
    )


def write_llvm_reproducer(
    text: str, reason: str, lowered: LoweredModule, options: CompileOptions
) -> FailedPassError:
    """Keep LLVM IR that llvmlite refused, and make the error to raise."""
    kept = f"; llvmlite cannot read this: {' '.join(reason.split())}\n{text}".encode()
    path = write_failure(lowered.name, options, "reproducer.ll", lambda _: kept)
    shown = textwrap.shorten(reason, 300)  # it quotes the whole line, which may be an array
    return FailedPassError(stage="optimise", pass_name="parse", reason=shown, reproducer=path)


def _isolate(
    lowered: LoweredModule, options: CompileOptions, failure: StageFailure
) -> tuple[str, StageFailure]:
    """Compile pass by pass until one fails; return the IR before it and its failure."""
    module, pipeline = begin(lowered, options)
    for stage in pipeline.stages:
        for step in (*stage.passes, None):
            before = str(module.operation.get_asm(enable_debug_info=True))
            try:
                _run(stage, step, module)
            except StageFailure as isolated:
                return before, isolated
    return lowered.text, failure  # it fails only in company: the whole program reproduces it


def _run(stage: Stage, step: Pass | None, module: ir.Module) -> None:
    """Run one pass, or check what is left after the last."""
    if step is None:
        check_legality(stage, module)
    else:
        run_pass(stage, step, module)


def main(file: str) -> None:
    """Run the pass that a reproducer file names, and print what comes out."""
    text = Path(file).read_text()
    header: dict[str, str] = dict(re.findall(r"^// (stage|pass): (.*)$", text, re.M))
    if header["stage"] == circuit_modules.STAGE:
        print(circuit_modules.run_again(text, header["pass"]))
        return
    own = pipeline_of([(header["stage"], ())])  # where the pipeline is the user's
    stage = next(
        s for s in (*PIPELINE.stages, TRANSLATABLE, *own.stages) if s.name == header["stage"]
    )
    name = header["pass"]
    with session():
        module = parse(text)
        if name not in CHECKS:
            run_pass(stage, PYTHON_PASSES.get(name, name), module)
        check_legality(stage, module)
        print(module)


if __name__ == "__main__":
    main(sys.argv[1])
