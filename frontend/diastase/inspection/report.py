"""What became of a program: what runs natively, what in Python and why, sizes, costs, times.

`f.report()` and the `report()` of each stage give a `Report`, which prints as a short text; to
iterate over it is to go through the equations that run on the host because the compiler has no code
for them. Where the machine code came from the disk cache, all but the times is the same.

`notebook_page` is how functions and stages look in a notebook: a title, a table, and texts that
fold open.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from diastase.inspection.costs import CircuitCosts, bytes_of, circuit_costs_of
from diastase.quantum.settings.methods import QNodeMethod
from diastase.tracing.trace import TracedProgram
from diastase_mlir import Compilation, HostEquation, LoweredModule
from diastase_runtime import EngineWork, blas_core

_OF_BLAS = ("blas", "lapack")
_SHOWN_LIBRARIES = (*_OF_BLAS, "elementary", "fourier")


@dataclass(frozen=True)
class Report:
    """What became of a program; printed as text, iterated as the equations left to the host.

    `f.report()` gives one. Its length is the number of equations on the host.

    Example:
        >>> import jax.numpy as jnp
        >>> from diastase import qjit
        >>> f = qjit(lambda x: jnp.sin(x) + 1)
        >>> _ = f(1.0)
        >>> report = f.report()
        >>> report.equations, report.native, len(report), report.costs["transcendentals"]
        (2, 2, 0, 1)
        >>> print(report)
        Compiled <lambda>(x: float64[]) -> float64[]
          equations: 2, 2 of them native
        ...

    """

    title: str
    """Name and types, as the user sees them."""
    equations: int
    """How many the program has; of control flow, those in its bodies."""
    native: int
    """How many of them never call Python."""
    kinds: Mapping[str, int]
    """How many are computed by compiled code, by BLAS, by LAPACK, and by a callback of Python."""
    host: tuple[HostEquation, ...]
    """What JAX evaluates while the program runs, because it could not be compiled."""
    callbacks: tuple[HostEquation, ...]
    """What the user asked Python to do: `jax.pure_callback`, `jax.debug.print`, …"""
    sizes: tuple[str, ...]
    """Sizes that are known only when the program runs, as the user calls them where possible."""
    assumptions: tuple[str, ...]
    """What the program takes to be so: `n >= 2`."""
    circuits: CircuitCosts = field(default_factory=CircuitCosts)
    """Gates, measurements and qubits, as the program says, and as `qml.specs` counts them."""
    methods: tuple[QNodeMethod, ...] = ()
    """By which method each QNode is simulated, and why."""
    work: EngineWork | None = None
    """What the engine did in the last call: gates before and after fusion; None before a call."""
    gpu: str | None = None
    """The GPU on which state vectors are; None where they are on the processor."""
    no_gpu: str | None = None
    """Why they are on none, with `target_device="auto"`."""
    costs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Estimates for classical code, before fusion: `flops`, `transcendentals`, `bytes accessed`."""
    memory: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Bytes of `arguments`, `results`, the largest quantum `state`, and machine `code`."""
    libraries: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Functions that the program calls in `blas`, `lapack` and libraries of our own."""
    blas_core: str | None = None
    """The processor for which the kernels of OpenBLAS are that run here: `Zen`, `SkylakeX`, …; None
    where nothing of BLAS or LAPACK is called, or SciPy has another BLAS."""
    timings: Mapping[str, float] = field(default_factory=dict[str, float])
    """Seconds by stage, in order: the trace, and then those of the compilation."""
    from_cache: bool | None = None
    """Whether the machine code was found in the disk cache; None before compilation."""
    library: Path | None = None
    """The shared library; None before compilation."""

    def __iter__(self) -> Iterator[HostEquation]:
        return iter(self.host)

    def __len__(self) -> int:
        return len(self.host)

    def __bool__(self) -> bool:
        return True

    def __str__(self) -> str:
        lines = [self.title, f"  equations: {self.equations}, {self.native} of them native"]
        if kinds := [f"{count} {kind}" for kind, count in self.kinds.items() if count]:
            lines.append(f"  computed by: {', '.join(kinds)}")
        lines += _listed("on the host", self.host, with_reasons=True)
        lines += _listed("callbacks", self.callbacks, with_reasons=False)
        if self.sizes:
            lines.append(f"  sizes known at run time: {', '.join(self.sizes)}")
        if self.assumptions:
            lines.append(f"  assumptions: {', '.join(self.assumptions)}")
        lines += [f"  {library}: {', '.join(names)}" for library, names in self.libraries.items()]
        if self.blas_core is not None:
            lines.append(f"  kernels of BLAS: {self.blas_core}")
        lines += [f"  simulated: {each}" for each in self.methods]
        lines += _circuit_lines(self.circuits, self.work)
        lines += _gpu_lines(self.gpu, self.no_gpu, self.work)
        lines += _cost_lines(self.costs, self.memory)
        if self.timings:
            total = sum(self.timings.values()) * 1000
            stages = ", ".join(f"{name} {s * 1000:.1f}" for name, s in self.timings.items())
            made = {None: "traced", True: "found in the cache", False: "compiled"}
            lines.append(f"  {made[self.from_cache]} in {total:.1f} ms: {stages}")
        if self.library is not None:
            lines.append(f"  library: {self.library}")
        return "\n".join(lines)


def _circuit_lines(circuits: CircuitCosts, work: EngineWork | None) -> list[str]:
    """What the circuits are, and what the engine made of them in the last call."""
    if circuits.circuits == 0:
        return []
    qubits = "a number of qubits known at run time"
    if circuits.qubits is not None:
        qubits = f"up to {circuits.qubits} qubits"
    count = f"{circuits.circuits} circuit{'' if circuits.circuits == 1 else 's'}"
    measured = f", {circuits.measurements} measured within" if circuits.measurements != 0 else ""
    lines = [f"  {count} on {qubits}: {circuits.gates} gates{measured}"]
    if work is not None:
        lines.append(
            f"  in the last call: {work.gates} gates, {work.operations} operations after fusion, "
            f"{work.stages} walks over the state"
        )
    return lines


def _gpu_lines(gpu: str | None, no_gpu: str | None, work: EngineWork | None) -> list[str]:
    """Where state vectors are, and what the last call did there."""
    if no_gpu is not None:
        return [f"  state vectors on the processor: {no_gpu}"]
    if gpu is None:
        return []
    lines = [f"  state vectors on a GPU: {gpu}"]
    if work is not None:
        lines.append(
            f"  in the last call: {work.launches} launches, {_bytes(work.to_device)} copied to the "
            f"GPU, {_bytes(work.to_host)} back"
        )
    return lines


def _cost_lines(costs: Mapping[str, Any], memory: Mapping[str, Any]) -> list[str]:
    """Estimates, without what is zero."""
    lines: list[str] = []
    if any(costs.values()):
        listed = ", ".join(f"{value} {name}" for name, value in costs.items())
        lines.append(f"  estimated, before fusion: {listed}")
    sizes = [f"{name} {_bytes(size)}" for name, size in memory.items() if size is None or size]
    return [*lines, f"  memory: {', '.join(sizes)}"] if sizes else lines


def _bytes(size: Any) -> str:
    """A size in a unit that suits; it may depend on sizes known only at run time."""
    if not isinstance(size, int):
        return "known at run time" if size is None else f"{size} B"
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size} B"


def _listed(title: str, equations: Sequence[HostEquation], with_reasons: bool) -> list[str]:
    if not equations:
        return []
    return [f"  {title}: {len(equations)}", *(_line(one, with_reasons) for one in equations)]


def _line(equation: HostEquation, with_reason: bool) -> str:
    """One equation: what, where, on which types, and why."""
    types = f"{', '.join(equation.inputs)} -> {', '.join(equation.outputs) or 'nothing'}"
    span = equation.span
    place = f" at {span.file}:{span.line}" if span is not None else ""
    reason = f"; {equation.reason}" if with_reason else ""
    return f"    {equation.primitive}{place}: {types.strip()}{reason}"


def report_of(
    title: str,
    traced: TracedProgram,
    argument_names: Sequence[str],
    costs: Mapping[str, Any],
    tracing_seconds: float,
    module: LoweredModule,
    compilation: Compilation | None = None,
    work: EngineWork | None = None,
    gpu: str | None = None,
    no_gpu: str | None = None,
) -> Report:
    """Gather what the stages know: the last four once there is machine code, and a call of it."""
    program = traced.program
    circuits = circuit_costs_of(program.jaxpr, argument_names, program.dimensions.values)
    described = [callback.equation for callback in module.callbacks]
    # A condition that is lowered twice calls Python in two places.
    equations = [one for one in dict.fromkeys(described) if one is not None]
    libraries = {} if compilation is None else _libraries(compilation)
    return Report(
        title=title,
        equations=module.equations,
        native=module.native_equations,
        kinds=dict(module.equation_kinds),
        host=tuple(one for one in equations if not one.users_own),
        callbacks=tuple(one for one in equations if one.users_own),
        sizes=_sizes(traced, argument_names),
        assumptions=tuple(one.text for one in traced.program.assumptions),
        circuits=circuits,
        methods=traced.methods,
        work=work,
        gpu=gpu,
        no_gpu=no_gpu,
        costs=costs,
        memory=_memory(traced, circuits, compilation),
        libraries=libraries,
        blas_core=blas_core() if any(map(libraries.get, _OF_BLAS)) else None,
        timings={"trace": tracing_seconds}
        | ({} if compilation is None else dict(compilation.timings)),
        from_cache=None if compilation is None else compilation.from_cache,
        library=None if compilation is None else compilation.artifact.library,
    )


def _memory(
    traced: TracedProgram, circuits: CircuitCosts, compilation: Compilation | None
) -> dict[str, Any]:
    """Bytes by what they are for."""
    memory: dict[str, Any] = {
        "arguments": sum(bytes_of(aval) for aval in traced.in_avals),
        "results": sum(bytes_of(aval) for aval in traced.out_avals),
        "state": circuits.state_bytes,
    }
    if compilation is not None:
        memory["code"] = compilation.artifact.library.stat().st_size
    return memory


def _libraries(compilation: Compilation) -> dict[str, tuple[str, ...]]:
    """The import table, without the engine's own functions and Python's."""
    found: dict[str, tuple[str, ...]] = {}
    for imported in compilation.artifact.imports:
        if imported.library in _SHOWN_LIBRARIES:
            found[imported.library] = (*found.get(imported.library, ()), imported.name)
    return found


def _sizes(traced: TracedProgram, argument_names: Sequence[str]) -> tuple[str, ...]:
    """Every dimension symbol: an argument, a size of one, or a size that the program computes."""
    bindings = traced.program.dimensions
    inputs: list[Any] = list(traced.program.jaxpr.jaxpr.invars)
    names = dict(zip(inputs, argument_names, strict=False))
    words: list[str] = []
    for variable, symbols in bindings.values.items():
        words += [names.get(variable, symbol) for symbol in symbols]
    for variable, pairs in bindings.axes.items():
        name = names.get(variable)
        words += [symbol if name is None else f"{name}.shape[{axis}]" for symbol, axis in pairs]
    return tuple(dict.fromkeys(words))


_LONGEST_TEXT = 40_000
"""Characters of a text that are shown."""


def notebook_page(
    title: str,
    rows: Iterable[Sequence[str]] = (),
    texts: Mapping[str, str] | None = None,
) -> str:
    """HTML with a title in bold, a table of these rows, and folded texts by what they are.

    A text is cut where a notebook would become slow to scroll.
    """
    parts = [f"<b>{escape(title)}</b>"]
    lines = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    if lines:
        parts.append(f"<table>{lines}</table>")
    for name, text in (texts or {}).items():
        parts.append(
            f"<details><summary>{escape(name)}</summary><pre>{escape(_cut(text))}</pre></details>"
        )
    return f"<div>{''.join(parts)}</div>"


def _cell(text: str) -> str:
    return f'<td style="text-align:left">{escape(text)}</td>'


def _cut(text: str) -> str:
    if len(text) <= _LONGEST_TEXT:
        return text
    rest = text.count("\n", _LONGEST_TEXT)
    return f"{text[:_LONGEST_TEXT]}\n… {rest} more lines: print(...) shows all"
