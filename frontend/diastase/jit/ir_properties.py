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
        """The jaxpr of the program compiled last; an `ExplicitJaxpr` where sizes are dynamic.

        Raises:
            NotCompiledError: an `AttributeError`, before the first program; so do all below.

        """
        return self._latest("jaxpr").jaxpr

    @property
    def mlir(self) -> str:
        """The MLIR of the program compiled last, as circuits' own passes leave it, as text."""
        return self._lowered("mlir").as_text("circuits")

    @property
    def qasm(self) -> str:
        """The one circuit of the program compiled last, in OpenQASM 3.

        Raises:
            NotCompiledError: an `AttributeError`, before the first program.
            NoOneCircuitError: a `ValueError`, for a program with none, or with several.
            NotInOpenqasmError: a `NotImplementedError`, for what the language does not have.

        Example:
            >>> import pennylane as qml
            >>> from diastase import qjit
            >>> @qjit
            ... @qml.qnode(qml.device("lightning.qubit", wires=1))
            ... def circuit(x: float):
            ...     qml.RX(x, 0)
            ...     return qml.probs()
            >>> print(circuit.qasm)
            OPENQASM 3.0;
            include "stdgates.inc";
            input float[64] x_;
            qubit[1] q;
            bit[1] c;
            rx(x_) q[0];
            c[0] = measure q[0];
            // probs of c[0]

        """
        return self._latest("qasm").qasm

    @property
    def qir(self) -> str:
        """The one circuit of the program compiled last, in QIR 2.0: LLVM IR for quantum devices.

        Raises:
            NotCompiledError: an `AttributeError`, before the first program.
            NoOneCircuitError: a `ValueError`, for a program with none, or with several.
            NotInQirError: a `NotImplementedError`, for what QIR does not have: arguments, say.

        Example:
            >>> import pennylane as qml
            >>> from diastase import qjit
            >>> @qjit
            ... @qml.qnode(qml.device("lightning.qubit", wires=1))
            ... def circuit():
            ...     qml.Hadamard(0)
            ...     return qml.probs()
            >>> _ = circuit()
            >>> "call void @__quantum__qis__h__body(ptr null)" in circuit.qir
            True

        """
        return self._latest("qir").qir

    @property
    def mlir_opt(self) -> str:
        """The program compiled last in MLIR's LLVM dialect, after all passes, as text."""
        return self._lowered("mlir_opt").as_text("llvm_dialect")

    @property
    def llvm_ir(self) -> str:
        """The LLVM IR of the program compiled last, as text; `llvmir` is the same."""
        return self._lowered("llvm_ir").as_text("llvm_ir")

    llvmir = llvm_ir

    def report(self) -> Report:
        """Tell what became of the program compiled last: what runs on the host and why, times.

        Returns:
            A `Report`, which prints as a short text; to iterate over it is to go through the
            equations on the host.

        Raises:
            NotCompiledError: an `AttributeError`, before the first program.

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
