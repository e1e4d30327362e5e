"""What a compiled function shows: of itself, and of its latest program: `f.jaxpr`, `f.mlir`, …."""

from typing import Any

from diastase.inspection.report import Report, notebook_page
from diastase.jit.dispatch.program_cache import Specialisations
from diastase.jit.options.errors import NotCompiledError
from diastase.jit.stages.stages import Compiled, Lowered, Traced, types_text
from diastase.tracing.signatures import Signature

_LONGEST_SIGNATURE = 120


class ProgramTexts:
    """The title of a compiled function, and the properties that print its latest program."""

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
    def qasm(self) -> str:
        """The one circuit of the program compiled last, in OpenQASM 3."""
        return self._latest("qasm").qasm

    @property
    def qir(self) -> str:
        """The one circuit of the program compiled last, in QIR 2.0: LLVM IR for quantum devices."""
        return self._latest("qir").qir

    @property
    def mlir_opt(self) -> str:
        """The program compiled last in MLIR's LLVM dialect, after all passes."""
        return self._lowered("mlir_opt").as_text("llvm_dialect")

    @property
    def llvm_ir(self) -> str:
        """The LLVM IR of the program compiled last."""
        return self._lowered("llvm_ir").as_text("llvm_ir")

    llvmir = llvm_ir

    def report(self) -> Report:
        """Tell what became of the program compiled last: what runs on the host and why, times.

        It prints as a short text; to iterate over it is to go through the equations on the host.
        """
        return self._latest("report").report()

    def __repr__(self) -> str:
        return f"<{self._title()}>"

    def _repr_html_(self) -> str:
        programs = self._specialisations.compiled()
        rows = [(types_text(program), program.origin) for program in programs]
        return notebook_page(self._title(), rows)

    def _title(self) -> str:
        """`qjit circuit(x, y=2), 3 programs`."""
        name = getattr(self, "__qualname__", self._signature.name)
        number = len(self._specialisations.compiled())
        programs = {0: "not compiled yet", 1: "1 program"}.get(number, f"{number} programs")
        signature = self._signature.parameters
        parameters = "(...)" if signature is None else str(signature)
        if signature and len(parameters) > _LONGEST_SIGNATURE:  # a default may be a large array
            parameters = f"({', '.join(signature.parameters)})"
        return f"qjit {name}{parameters}, {programs}"

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
