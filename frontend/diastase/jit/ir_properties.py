"""What a compiled function shows of the program that was made last: `f.jaxpr`, `f.mlir`, …."""

from typing import Any

from diastase.inspection.report import Report
from diastase.jit.dispatch.program_cache import Specialisations
from diastase.jit.options.errors import NotCompiledError
from diastase.jit.stages.stages import Compiled, Lowered, Traced
from diastase.tracing.signatures import Signature


class ProgramTexts:
    """Properties of a function that print its latest program."""

    _signature: Signature

    @property
    def _specialisations(self) -> Specialisations:
        raise NotImplementedError

    @property
    def jaxpr(self) -> Any:
        """The jaxpr of the program compiled last."""
        return self._latest("jaxpr").jaxpr

    @property
    def mlir(self) -> str:
        """The MLIR of the program compiled last, as circuits' own passes leave it."""
        return self._lowered("mlir").as_text("circuits")

    @property
    def mlir_opt(self) -> str:
        """The program compiled last in MLIR's LLVM dialect, after all passes."""
        return self._lowered("mlir_opt").as_text("llvm_dialect")

    @property
    def llvm_ir(self) -> str:
        """The LLVM IR of the program compiled last."""
        return self._lowered("llvm_ir").as_text("llvm_ir")

    llvmir = llvm_ir
    qir = llvm_ir

    def report(self) -> Report:
        """Tell what became of the program compiled last: what runs on the host and why, times.

        It prints as a short text; to iterate over it is to go through the equations on the host.
        """
        return self._latest("report").report()

    def _latest(self, attribute: str) -> Traced | Lowered | Compiled:
        latest = self._specialisations.latest
        if latest is None:
            raise NotCompiledError(function=self._signature.name, attribute=attribute)
        return latest

    def _lowered(self, attribute: str) -> Lowered:
        latest = self._latest(attribute)
        if isinstance(latest, Compiled):
            return Lowered(latest.interface, latest.traced, latest.module)
        return latest if isinstance(latest, Lowered) else latest.lower()
