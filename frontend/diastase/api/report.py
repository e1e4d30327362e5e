"""What became of a program: what runs natively, what in Python and why, sizes, times.

`f.report()` and the `report()` of each stage give a `Report`, which prints as a short text; to
iterate over it is to go through the equations that run on the host because the compiler has no
code for them. Where the machine code came from the disk cache, all but the times is the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from diastase.tracing.trace import TracedProgram
from diastase_mlir import Compilation, HostEquation, LoweredModule


@dataclass(frozen=True)
class Report:
    """What became of a program; printed as text, iterated as the equations left to the host."""

    title: str
    """Name and types, as the user sees them."""
    equations: int
    """How many the program has; of control flow, those in its bodies."""
    native: int
    """How many of them never call Python."""
    host: tuple[HostEquation, ...]
    """What JAX evaluates while the program runs, because it could not be compiled."""
    callbacks: tuple[HostEquation, ...]
    """What the user asked Python to do: `jax.pure_callback`, `jax.debug.print`, …"""
    sizes: tuple[str, ...]
    """Sizes that are known only when the program runs, as the user calls them where possible."""
    assumptions: tuple[str, ...]
    """What the program takes to be so: `n >= 2`."""
    timings: Mapping[str, float] = field(default_factory=dict[str, float])
    """Seconds by stage of the compilation, in order; empty before it."""
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
        lines += _listed("on the host", self.host, with_reasons=True)
        lines += _listed("callbacks", self.callbacks, with_reasons=False)
        if self.sizes:
            lines.append(f"  sizes known at run time: {', '.join(self.sizes)}")
        if self.assumptions:
            lines.append(f"  assumptions: {', '.join(self.assumptions)}")
        if self.timings:
            total = sum(self.timings.values()) * 1000
            stages = ", ".join(f"{name} {s * 1000:.1f}" for name, s in self.timings.items())
            how = "found in the cache" if self.from_cache else "compiled"
            lines.append(f"  {how} in {total:.1f} ms: {stages}")
        if self.library is not None:
            lines.append(f"  library: {self.library}")
        return "\n".join(lines)


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
    module: LoweredModule,
    compilation: Compilation | None = None,
) -> Report:
    """Gather what the stages know."""
    described = [callback.equation for callback in module.callbacks]
    # A condition that is lowered twice calls Python in two places.
    equations = [one for one in dict.fromkeys(described) if one is not None]
    return Report(
        title=title,
        equations=module.equations,
        native=module.native_equations,
        host=tuple(one for one in equations if not one.users_own),
        callbacks=tuple(one for one in equations if one.users_own),
        sizes=_sizes(traced, argument_names),
        assumptions=tuple(one.text for one in traced.program.assumptions),
        timings={} if compilation is None else dict(compilation.timings),
        from_cache=None if compilation is None else compilation.from_cache,
        library=None if compilation is None else compilation.artifact.library,
    )


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
