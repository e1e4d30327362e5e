"""What a compiled function shows: of itself, and of its latest program: `f.jaxpr`, `f.mlir`, …."""

from typing import TYPE_CHECKING, Any, cast

from diastase.inspection.report import Report, notebook_page
from diastase.jit.dispatch.program_cache import Specialisations
from diastase.jit.options.errors import NotCompiledError
from diastase.jit.stages.stages import Compiled, Lowered, Traced, types_text
from diastase.tracing.signatures import Call, Signature
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    from diastase.inspection.explorer import drawings
    from diastase.inspection.explorer import page as explorer
    from diastase.inspection.explorer.page import Page
    from diastase.inspection.levels import CompiledFunction
else:
    drawings = LazyModule("diastase.inspection.explorer.drawings")
    explorer = LazyModule("diastase.inspection.explorer.page")

_LONGEST_SIGNATURE = 120


class ProgramTexts:
    """The title of a compiled function, and the properties that print its latest program."""

    _signature: Signature

    @property
    def _specialisations(self) -> Specialisations:
        raise NotImplementedError

    def trace(self, /, *args: Any, **kwargs: Any) -> Traced:
        """Trace the function for these arguments, or for types of them."""
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

    def explore(self, /, *args: Any, **kwargs: Any) -> "Page":
        """Write a page in HTML that shows what becomes of each of your lines, stage by stage.

        Your source, the jaxpr, MLIR after each stage, LLVM IR and assembly stand side by side;
        point at a line of any of them, and those that come from the same of your lines light up.
        Times and sizes of all stages, and the circuits before and after passes are there, too.
        The page needs no network.

        Args:
            *args: none for the program compiled last; else as for `trace`, for the one for these.
            **kwargs: as for `trace`.

        Returns:
            The `Page`: a notebook shows it, `path` says where the file is, `save` writes another.

        Raises:
            NotCompiledError: an `AttributeError`, without arguments before the first program.
            UnsupportedArgumentError: a `TypeError`; this and all others as `trace`, with arguments.

        Example:
            >>> from diastase import qjit
            >>> double = qjit(lambda x: x * 2)
            >>> page = double.explore(1.5)
            >>> "stablehlo.multiply" in page.path.read_text()
            True

        """
        is_given = bool(args or kwargs)
        program = self.trace(*args, **kwargs) if is_given else self._latest("explore()", "explore")
        lowered = self._lowered_of(program)
        is_replaced = not is_given and self._specialisations.is_replaced
        explored = explorer.Explored(
            function=cast("CompiledFunction", self).original_function,
            name=program.fun_name,
            title=f"{program.fun_name}{types_text(program)}",
            note=self._note(program, is_replaced=is_replaced),
            jaxpr=program.jaxpr,
            tracing_seconds=program.tracing_seconds,
            module=lowered.module,
            options=lowered.interface.options,
            report=str((program if isinstance(program, Compiled) else lowered).report()),
            drawings=() if is_replaced else self._drawings(program),
        )
        return explorer.page_of(explored)

    def _drawings(self, program: Traced | Lowered | Compiled) -> list[str]:
        """The circuits, traced again for the types of the program."""
        args, kwargs = program.in_avals
        call = Call(args, kwargs, program.interface.static)
        positional, named = call.merge(args, kwargs)
        return drawings.drawings_of(cast("CompiledFunction", self), positional, named)

    def _note(self, program: Traced | Lowered | Compiled, *, is_replaced: bool) -> str:
        """What of the function the page does not show."""
        if is_replaced:
            return "The IR was edited by debug.replace_ir: where it comes from is not known."
        others = sum(each is not program for each in self._specialisations.compiled())
        if not others:
            return ""
        programs = "one other program" if others == 1 else f"{others} other programs"
        return f"The function has {programs}: explore(...) with arguments shows the one for these."

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

    def _latest(self, attribute: str, instead: str = "trace") -> Traced | Lowered | Compiled:
        latest = self._specialisations.latest
        if latest is None:
            name = self._signature.name
            raise NotCompiledError(function=name, attribute=attribute, instead=instead)
        return latest

    def _lowered(self, attribute: str) -> Lowered:
        return self._lowered_of(self._latest(attribute))

    def _lowered_of(self, program: Traced | Lowered | Compiled) -> Lowered:
        if isinstance(program, Compiled):
            return Lowered(program.interface, program.traced, program.module)
        return program if isinstance(program, Lowered) else program.lower()
