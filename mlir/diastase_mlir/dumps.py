"""Intermediate IR on disk, for `keep_intermediate`.

After each stage `03_bufferize.mlir`, after each pass `03_bufferize/02_cse.mlir`, if asked for only
where the pass has changed something; the numbers and names are those of the printed pipeline.
"""

from pathlib import Path

from diastase_mlir.bindings import ir
from diastase_mlir.dialects import printed
from diastase_mlir.options import CompileOptions
from diastase_mlir.stages import Observer, Stage
from diastase_mlir.workspace import file_name, workspace

_EACH_PASS = ("changed", "pass")


class Dumps:
    """Observers of one run of the pipeline; None where nothing is to be written."""

    def __init__(self, name: str, options: CompileOptions):
        kept = options.keep_intermediate
        self._directory = workspace(name, options) if kept != "none" else Path()
        self._numbers: dict[str, int] = {}
        self.after_stage: Observer | None = self._write_stage if kept != "none" else None
        self.after_pass: Observer | None = self._write_pass if kept in _EACH_PASS else None
        self._all = kept == "pass"
        self._last = ""

    def _write_stage(self, stage: Stage, number: int, name: str, module: ir.Module) -> None:
        (self._directory / f"{self._number(stage)}_{file_name(name)}.mlir").write_text(
            printed(module)
        )

    def _write_pass(self, stage: Stage, number: int, name: str, module: ir.Module) -> None:
        text = printed(module)
        if text == self._last and not self._all:
            return
        self._last = text
        folder = self._directory / f"{self._number(stage)}_{file_name(stage.name)}"
        folder.mkdir(exist_ok=True)
        (folder / f"{number:02}_{file_name(name)}.mlir").write_text(text)

    def _number(self, stage: Stage) -> str:
        """Give stages numbers as they come."""
        return f"{self._numbers.setdefault(stage.name, len(self._numbers)):02}"
