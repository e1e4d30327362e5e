"""The staged API, after `jax.stages`: `Traced -> Lowered -> Compiled`, one method to the next.

In: what `qjit` knows of one specialisation of a function (types, pytrees; static values are inside
the program already). Each stage is immutable and prints what it holds.

The trap: a `Compiled` takes the traced arguments only (static ones are part of the program), checks
them against the types it was compiled for, and never compiles again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax

import diastase_mlir
from diastase.inspection.costs import MemoryStatistics, bytes_of, cost_of
from diastase.inspection.progress import progress_of
from diastase.inspection.report import Report, notebook_page, report_of
from diastase.jit.options.errors import InvalidOptionError
from diastase.jit.options.options import CountsForm, TargetDevice
from diastase.jit.stages.argument_checks import SizePattern, check_arguments, refuse_trained
from diastase.jit.stages.loading import load_program
from diastase.jit.stages.prepared_call import PreparedCall
from diastase.jit.stages.shared_memory import shared
from diastase.tracing.trace import TracedProgram
from diastase_mlir import (
    LOWERED,
    Compilation,
    CompileOptions,
    LoweredModule,
    compile_program,
    when_whole,
)
from diastase_runtime import EngineWork, exchange_engine
from diastase_runtime.abi import STATE_VECTORS
from diastase_runtime.calls.static_arguments import Static
from diastase_runtime.gpu import name_of_gpu
from diastase_toolchain.forks import without_forks
from diastase_toolchain.gc_pause import fewer_collections
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    from diastase.inspection import explicit_jaxpr
    from diastase.inspection.circuit_texts import openqasm
    from diastase.inspection.circuit_texts.qir import export as qir_export
    from diastase.jit.stages import saving
else:
    explicit_jaxpr = LazyModule("diastase.inspection.explicit_jaxpr")
    openqasm = LazyModule("diastase.inspection.circuit_texts.openqasm")
    qir_export = LazyModule("diastase.inspection.circuit_texts.qir.export")
    saving = LazyModule("diastase.jit.stages.saving")

when_whole(exchange_engine)


@dataclass(frozen=True)
class Interface:
    """How Python calls a program: name, pytrees, and the words for its arguments."""

    fun_name: str
    in_tree: Any
    """Structure of `(args, kwargs)` without the static ones."""
    out_tree: Any
    argument_names: tuple[str, ...]
    """One for each leaf of the arguments: `x`, `params['w']`."""
    options: CompileOptions
    seed: int | None = None
    counts: CountsForm = "dict"
    static: Static = ()
    """Values of static arguments, which are part of the program."""
    target_device: TargetDevice = "cpu"
    no_gpu: str = ""
    """Why state vectors are not on a GPU, where that was asked for if it can be."""
    report: Callable[[str], None] = field(default=lambda line: None, repr=False)
    """Where a line about each step of the compilation goes (`verbose`)."""


@dataclass(frozen=True, repr=False, eq=False)
class Stage:
    """What every stage knows: the types of the arguments and of the results."""

    interface: Interface
    traced: TracedProgram
    tracing_seconds: float = field(default=0.0, kw_only=True)
    """How long it took to run the function on tracers."""

    @property
    def fun_name(self) -> str:
        """Name of the user's function."""
        return self.interface.fun_name

    @property
    def jaxpr(self) -> Any:
        """The program, with every dynamic dimension explicit."""
        return explicit_jaxpr.derive_explicit(self.traced)

    @property
    def qasm(self) -> str:
        """The one circuit that the program runs, in OpenQASM 3; see `QJIT.qasm`."""
        names = self.interface.argument_names
        return openqasm.openqasm_of(self.traced.program.jaxpr, names, self.fun_name)

    @property
    def qir(self) -> str:
        """The one circuit that the program runs, in QIR 2.0; see `QJIT.qir`."""
        names = self.interface.argument_names
        return qir_export.qir_of(self.traced.program.jaxpr, names, self.fun_name)

    @property
    def in_tree(self) -> Any:
        """Structure of `(args, kwargs)`, a `PyTreeDef`, without static arguments."""
        return self.interface.in_tree

    @property
    def out_tree(self) -> Any:
        """Structure of the results, a `PyTreeDef`."""
        return self.interface.out_tree

    @property
    def in_avals(self) -> Any:
        """Types of the arguments, abstract values of JAX's, as `(args, kwargs)`."""
        return self.in_tree.unflatten(self.traced.in_avals)

    @property
    def out_info(self) -> Any:
        """Types of the results, `jax.ShapeDtypeStruct`s; a size may be symbolic."""
        return self.out_tree.unflatten(
            jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)
            for aval in self.traced.out_avals
        )

    def cost_analysis(self) -> dict[str, Any]:
        """Estimate what one run costs, before any fusion.

        Returns:
            A dictionary with `flops`, `transcendentals` (operations) and `bytes accessed`: numbers,
            or expressions where sizes are symbolic.

        """
        return cost_of(self.traced.program.jaxpr)

    def _compiled(self, compilation: Compilation, module: LoweredModule | None) -> "Compiled":
        """Load what was compiled; a program found without its module calls no Python."""
        self._tell(compilation)
        callbacks = () if module is None else module.callbacks
        executable, no_gpu = load_program(compilation, callbacks, self.interface.target_device)
        interface = replace(self.interface, no_gpu=no_gpu or self.interface.no_gpu)
        call = PreparedCall(
            executable,
            self.traced.in_avals,
            self.traced.out_avals,
            self.out_tree,
            self.interface.seed,
            self.interface.counts,
        )
        seconds = self.tracing_seconds
        return Compiled(
            interface, self.traced, module, compilation, call, call, tracing_seconds=seconds
        )

    def _report_of(
        self,
        module: LoweredModule,
        compilation: Compilation | None = None,
        work: EngineWork | None = None,
    ) -> Report:
        return report_of(
            self._title(),
            self.traced,
            self.interface.argument_names,
            self.cost_analysis(),
            self.tracing_seconds,
            module,
            compilation,
            work,
            *self._gpu(compilation),
        )

    def _gpu(self, compilation: Compilation | None) -> tuple[str | None, str | None]:
        """The GPU on which the program has state vectors, or why they are on none."""
        artifact = None if compilation is None else compilation.artifact
        if not any(getattr(artifact, name, None) for name in STATE_VECTORS):
            return None, None
        no_gpu = self.interface.no_gpu
        is_there = self.interface.options.on_gpu and not no_gpu
        return name_of_gpu() if is_there else None, no_gpu or None

    def _tell(self, compilation: Compilation) -> None:
        report = self.interface.report
        if compilation.from_cache:
            report(f"{self.fun_name}: found in the cache")
        for name, seconds in compilation.timings.items():
            report(f"{self.fun_name}: {name}: {seconds * 1000:.2f} ms")
        report(f"{self.fun_name}: {compilation.artifact.library}")

    def _title(self) -> str:
        return f"{type(self).__name__} {self.fun_name}{types_text(self)}"

    def __repr__(self) -> str:
        return f"<{self._title()}>"

    def _repr_html_(self) -> str:
        return notebook_page(self._title(), self._rows(), self._texts())

    def _rows(self) -> list[tuple[str, str]]:
        """What a notebook shows as a table."""
        return []

    def _texts(self) -> dict[str, str]:
        """What a notebook shows folded."""
        return {}


@dataclass(frozen=True, repr=False, eq=False)
class Traced(Stage):
    """A function traced for certain types: a jaxpr. What `f.trace(…)` gives.

    Example:
        >>> from diastase import qjit
        >>> traced = qjit(lambda x: 2 * x).trace(1.0)
        >>> traced
        <Traced <lambda>(x: float64[]) -> float64[]>
        >>> traced.jaxpr
        { lambda ; a:f64[]. let b:f64[] = mul 2.0:f64[] a in (b,) }
        >>> traced.fun_name, traced.out_info.dtype, traced.cost_analysis()["flops"]
        ('<lambda>', dtype('float64'), 1)
        >>> traced.in_tree, traced.out_tree, traced.in_avals[1], traced.assumptions
        (PyTreeDef(((*,), {})), PyTreeDef(*), {}, ())
        >>> traced.report().native
        1
        >>> traced.lower().compile()(3.0)
        Array(6., dtype=float64, weak_type=True)
        >>> import pennylane as qml
        >>> circuit = qml.QNode(lambda: qml.probs(), qml.device("lightning.qubit", wires=1))
        >>> traced = qjit(circuit).trace()
        >>> traced.qasm.splitlines()[0], "__quantum__" in traced.qir
        ('OPENQASM 3.0;', True)

    """

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the program takes to be so: `n >= 2`; where it is not, another one is compiled."""
        return tuple(assumption.text for assumption in self.traced.program.assumptions)

    def report(self) -> Report:
        """Tell what becomes of the program in lowering: what is native, what runs on the host.

        Returns:
            A `Report`.

        Raises:
            CompileError: if something in the program cannot be compiled.

        """
        return self.lower().report()

    def lower(self) -> "Lowered":
        """Translate the jaxpr to MLIR: StableHLO, control flow, the quantum dialect.

        Returns:
            A `Lowered`.

        Raises:
            CompileError: if something in the program cannot be compiled.

        """
        with without_forks(), fewer_collections():
            module = diastase_mlir.lower(self.traced.program)
        return Lowered(self.interface, self.traced, module, tracing_seconds=self.tracing_seconds)

    def compile(self) -> "Compiled":
        """Lower and compile, or find in the cache what that has given before, and load it.

        Returns:
            A `Compiled`.

        Raises:
            CompileError: if something in the program cannot be compiled.

        """
        with progress_of(self.fun_name), without_forks(), fewer_collections():
            made = compile_program(self.traced.program, self.interface.options)
        return self._compiled(made.compilation, made.module)

    def _texts(self) -> dict[str, str]:
        return {"jaxpr": str(self.jaxpr)}

    def __str__(self) -> str:
        return f"{self._title()}\n{self.jaxpr}"


@dataclass(frozen=True, repr=False, eq=False)
class Lowered(Stage):
    """A program in MLIR, before any pass of the pipeline. What `traced.lower()` gives.

    Example:
        >>> from diastase import qjit
        >>> lowered = qjit(lambda x: 2 * x).lower(1.0)
        >>> print(lowered.as_text())
        module {
          func.func @diastase_entry(%arg0: tensor<f64>) -> tensor<f64> {
            %cst = stablehlo.constant dense<2.000000e+00> : tensor<f64>
            %0 = stablehlo.multiply %cst, %arg0 : tensor<f64>
            return %0 : tensor<f64>
          }
        }
        >>> lowered.compiler_ir().body.operations[0].name
        StringAttr("diastase_entry")
        >>> lowered.report().native, lowered.compile()(3.0)
        (1, Array(6., dtype=float64, weak_type=True))

    """

    module: LoweredModule

    def as_text(
        self, dialect: str | None = None, *, debug_info: bool = False, generic: bool = False
    ) -> str:
        """Print the program: as lowered, or as a stage of the pipeline leaves it.

        Args:
            dialect: "stablehlo" (the default), "circuits" (the same: the passes that QNodes ask for
                have been applied), "llvm_dialect", "llvm_ir", or the name of a stage
                (`debug.get_compilation_stages_groups`).
            debug_info: adds the user's line to every operation.
            generic: prints every operation in MLIR's generic form, for tools that do not know its
                dialect.

        Returns:
            The text, MLIR or LLVM IR.

        Raises:
            InvalidOptionError: a `ValueError`, for a dialect that there is not.

        """
        options, stage = self._stage(dialect)
        if stage == LOWERED and not (debug_info or generic or options.use_nameloc):
            return self.module.text
        return diastase_mlir.stage_text(
            self.module, options, stage, debug_info=debug_info, generic=generic
        )

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The program as a module of jaxlib's MLIR: as lowered, or as a stage leaves it.

        Args:
            dialect: as for `as_text`, but for LLVM IR, which is no MLIR.

        Returns:
            The module, in a context of its own, in which dialects that jaxlib does not have are
            unregistered.

        Raises:
            InvalidOptionError: a `ValueError`, for a dialect that there is not.

        """
        options, stage = self._stage(dialect, mlir_only=True)
        return diastase_mlir.stage_module(self.module, options, stage)

    def _stage(self, dialect: str | None, *, mlir_only: bool = False) -> tuple[CompileOptions, str]:
        """The stage that a name stands for, and the options that have it."""
        options = self.interface.options
        stages = diastase_mlir.continuation.stage_names(options)
        *of_mlir, translated, optimised = stages
        named = dict.fromkeys(("circuits", "stablehlo"), LOWERED)
        named |= {"llvm_dialect": of_mlir[-1], "llvm_ir": optimised}
        asked = dialect or "stablehlo"
        stage = named.get(asked, asked)
        if stage not in (of_mlir if mlir_only else stages):
            left_out = {"llvm_ir", translated, optimised} if mlir_only else set[str]()
            allowed = [name for name in (*named, *stages[1:]) if name not in left_out]
            raise InvalidOptionError(
                option="dialect", value=repr(dialect), allowed=", ".join(map(repr, allowed))
            )
        return options, stage

    def report(self) -> Report:
        """Tell what became of the program: what is native, what runs on the host, and why.

        Returns:
            A `Report`.

        """
        return self._report_of(self.module)

    def compile(self) -> "Compiled":
        """Compile to a shared library for this machine, and load it.

        Returns:
            A `Compiled`.

        Raises:
            CompileError: if something in the program cannot be compiled.

        """
        with progress_of(self.fun_name), without_forks(), fewer_collections():
            compilation = diastase_mlir.compile_module(self.module, self.interface.options)
        return self._compiled(compilation, self.module)

    def _texts(self) -> dict[str, str]:
        return {"MLIR": self.as_text()}

    def __str__(self) -> str:
        return f"{self._title()}\n{self.as_text()}"


@dataclass(frozen=True, repr=False, eq=False)
class Compiled(Stage):
    """A loaded shared library; call it with the arguments that it was compiled for.

    Static arguments are left out, and nothing is ever compiled again: `ArgumentMismatchError` and
    `StructureMismatchError`, which are `TypeError`s, for others, `CompiledTransformError` under
    transformations of JAX.

    Example:
        >>> from diastase import qjit
        >>> compiled = qjit(lambda x: 2 * x).trace(1.0).compile()
        >>> compiled(3.0)
        Array(6., dtype=float64, weak_type=True)
        >>> compiled.memory_analysis().output_size_in_bytes
        8
        >>> "fmul" in compiled.as_text(), compiled.library.suffix, len(compiled.timings) > 0
        (True, '.so', True)
        >>> compiled.origin in ("compiled", "found in the cache"), compiled.report().native
        (True, 1)
        >>> type(compiled.runtime_executable()).__name__
        'PreparedCall'

    """

    found_module: LoweredModule | None
    """None where the program was found in the cache as it was traced."""
    compilation: Compilation
    prepared: Any
    """A `PreparedCall`, or what chooses among several."""
    direct_call: PreparedCall
    """The call of this program alone."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program on traced arguments, without the static ones."""
        leaves, tree = jax.tree_util.tree_flatten((args, kwargs))
        refuse_trained(leaves, self.fun_name)
        leaves = list(map(shared, leaves))
        check_arguments(self.interface, self._sizes, self.traced.in_avals, leaves, tree)
        return self.prepared(leaves)

    @cached_property
    def module(self) -> LoweredModule:
        """The program in MLIR; lowered now if it was found in the cache before that."""
        return self.found_module or diastase_mlir.lower(self.traced.program)

    @cached_property
    def _sizes(self) -> SizePattern:
        return SizePattern(self.traced.in_avals)

    def save(
        self,
        path: str | PathLike[str],
        *,
        target_cpu: str | Sequence[str] | None = None,
        sources: bool = False,
    ) -> Path:
        """Write the program to a file, which `diastase_runtime.load` makes a function of.

        Args:
            path: of the file, which is written anew.
            target_cpu: as for `QJIT.save`.
            sources: as for `QJIT.save`.

        Returns:
            The path. The loaded function takes the arguments that this one takes.

        Raises:
            TargetProcessorError: a `ValueError`, for a processor that there is not.
            NeedsPythonError: a `NotImplementedError`, for programs that call Python.
            UnsavableError: a `TypeError`, for pytrees of classes of one's own, say.
            SaveError: an `OSError`, if the file cannot be written.

        Example:
            >>> import diastase_runtime
            >>> from diastase import qjit
            >>> path = qjit(lambda x: 2 * x).trace(1.0).compile().save("double.diastase")
            >>> float(diastase_runtime.load(path)(3.0))
            6.0

        """
        called = saving.Called(self.fun_name)
        return saving.save_programs(
            Path(path), called, self.alternatives, target_cpu, sources=sources
        )

    @property
    def alternatives(self) -> Sequence["Compiled"]:
        """The programs of which a call chooses one by sizes: this one, if there are no others."""
        return getattr(self.prepared, "programs", (self,))

    def as_text(self) -> str:
        """Print the optimised program.

        Returns:
            LLVM IR as text.

        """
        return diastase_mlir.llvm_ir_text(self.module, self.interface.options)

    @property
    def library(self) -> Path:
        """Where the shared library lies."""
        return self.compilation.artifact.library

    @property
    def timings(self) -> Mapping[str, float]:
        """Seconds that each stage of the compilation took, in order; few where the cache helped."""
        return self.compilation.timings

    def report(self) -> Report:
        """Tell what became of the program: what runs on the host and why, sizes, times, costs.

        Returns:
            A `Report`.

        """
        return self._report_of(self.module, self.compilation, self.prepared.executable.work)

    def memory_analysis(self) -> MemoryStatistics:
        """Sizes of arguments, results and machine code.

        Returns:
            A `MemoryStatistics`, in bytes.

        """
        return MemoryStatistics(
            argument_size_in_bytes=sum(bytes_of(aval) for aval in self.traced.in_avals),
            output_size_in_bytes=sum(bytes_of(aval) for aval in self.traced.out_avals),
            generated_code_size_in_bytes=self.library.stat().st_size,
        )

    def runtime_executable(self) -> PreparedCall:
        """The loaded program itself, as JAX's users ask for it.

        Returns:
            An object that is called with a list of the arguments' leaves.

        """
        return self.prepared

    def _rows(self) -> list[tuple[str, str]]:
        times = [(name, f"{seconds * 1000:.2f} ms") for name, seconds in self.timings.items()]
        return [("made", self.origin), *times, ("library", str(self.library))]

    @property
    def origin(self) -> str:
        """Where the machine code comes from: compiled in so many seconds, or the cache."""
        if self.compilation.from_cache:
            return "found in the cache"
        return f"compiled in {sum(self.timings.values()) + self.tracing_seconds:.2f} s"

    def __str__(self) -> str:
        return f"{self._title()}\n{self.library}"


def types_text(stage: Stage) -> str:
    """`(x: float64[3]) -> float64[]`, with names as the user wrote them."""
    arguments = zip(stage.interface.argument_names, stage.traced.in_avals, strict=True)
    listed = ", ".join(f"{name}: {aval.str_short()}" for name, aval in arguments)
    results = [aval.str_short() for aval in stage.traced.out_avals]
    returned = results[0] if len(results) == 1 else f"({', '.join(results)})"
    return f"({listed}) -> {returned}"
