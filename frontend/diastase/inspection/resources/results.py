"""What `qml.specs` gives of compiled functions: PennyLane's results, with symbols and bounds.

`CompiledResources` is a `pennylane.resource.SpecsResources` whose counts are Python's ints, or
expressions of sympy's. Where branches are open, counts are upper bounds; `lower` has the lower
ones, `expected()` averages. All three, and what `subs` gives, are made by a new analysis, so they
are as exact as one of a circuit without symbols.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pennylane.resource import CircuitSpecs, SpecsResources

from diastase.inspection.resources.analysis import CircuitAnalysis, Depth
from diastase.inspection.resources.counts import Counts
from diastase.inspection.resources.errors import SymbolValueError, UnknownSymbolError
from diastase.inspection.resources.interpretation.choices import Unknown
from diastase.inspection.resources.interpretation.exact import Number, shown
from diastase_mlir import user_span

KINDS = ("pi2", "pi4", "pi8", "arbitrary", "ppm")


@dataclass(frozen=True)
class CompiledResources(SpecsResources):
    """Resources of one circuit of a compiled function: `qml.specs(f)(…).resources`.

    `gate_types` (or `gate_counts`), `gate_sizes`, `measurements`, `num_allocs` and `depth` are as
    in PennyLane; each number is an int or an expression of SymPy's.

    Example:
        >>> import pennylane as qml
        >>> from diastase import for_loop, qjit
        >>> @qjit
        ... @qml.qnode(qml.device("lightning.qubit", wires=1))
        ... def circuit(n: int):
        ...     for_loop(0, n, 1)(lambda i: qml.RX(0.1, 0))()
        ...     return qml.probs()
        >>> resources = qml.specs(circuit)(3).resources
        >>> resources.num_gates, resources.subs(n=7).num_gates, resources.lower.num_gates
        (n, 7, n)
        >>> resources.expected().num_gates, "RX: n" in resources.to_pretty_str()
        (n, True)

    """

    total: Number = 0
    """All operations; where branches are open, it may be less than the sum of `gate_types`."""
    depth_is_bound: bool = False
    """Whether the depth may be less: wires may be any, or branches or loops leave it open."""
    pauli_counts: dict[str, Number] = field(default_factory=dict[str, Number])
    """Rotations of Pauli words by kind, `pi2`, `pi4`, `pi8` or `arbitrary`, and `ppm`,
    measurements of words; empty where there are none but measurements of Z on one wire."""
    pauli_depth: Number | None = None
    """Layers of commuting rotations and measurements, each as early as possible."""
    unknown: tuple[str, ...] = ()
    """Loops and branches whose turns, or conditions, only a run of the program knows."""

    _analysis: ClassVar["Analysed | None"] = None

    def __post_init__(self) -> None:
        """Bounds of sums are not sums of bounds: there is nothing to compare."""

    @property
    def num_gates(self) -> Number:
        """All operations of the circuit."""
        return self.total

    def subs(self, given: Mapping[Any, Any] | None = None, /, **values: Any) -> "CompiledResources":
        """The resources for values of symbols and branches.

        Args:
            given: values by symbol or by name, integers; of a branch its number, of one of two the
                truth of its condition.
            **values: the same by name.

        Returns:
            Other resources, exact for these values: the circuit is analysed again.

        Raises:
            UnknownSymbolError: a `ValueError`, for a name that the resources do not depend on.
            SymbolValueError: a `ValueError`, for a value that the symbol cannot have.

        """
        named = {str(name): value for name, value in (given or {}).items()} | values
        return self._analysed.again(named)

    @property
    def lower(self) -> "CompiledResources":
        """The same with lower bounds, where branches are open; the depth is None if it has none."""
        return self._analysed.with_policy("lower")

    def expected(self, **weights: Any) -> "CompiledResources":
        """Average counts over the branches that are open.

        Args:
            **weights: for each branch, by its name, the probability that its condition holds, or
                one for each case. Branches without weights are all taken alike.

        Returns:
            Other resources; the depth, which has no average here, is None.

        Raises:
            UnknownSymbolError: a `ValueError`, for a name that is no open branch's.
            SymbolValueError: a `ValueError`, for what is no probability.

        """
        return self._analysed.with_policy("expected", weights)

    @property
    def _analysed(self) -> "Analysed":
        found = self.__dict__.get("_analysis")
        assert found is not None, "made by `qml.specs`"
        return found

    def to_pretty_str(self, preindent: int = 0) -> str:
        """As PennyLane prints it; both bounds where they differ, and where loops are open.

        Args:
            preindent: how many spaces each line begins with.

        Returns:
            The text that `print` shows.

        """
        prefix = " " * preindent
        lines = [SpecsResources.to_pretty_str(self.shown(), preindent)]
        if self.pauli_depth is not None:
            shown = self.shown()
            kinds = ", ".join(f"{kind}: {count}" for kind, count in shown.pauli_counts.items())
            lines.append(f"{prefix}Pauli products: {kinds}")
            lines.append(f"{prefix}Pauli-product depth: {shown.pauli_depth}")
        if self.unknown:
            lines.append(f"{prefix}Known at run time:")
            lines += [f"{prefix}- {each}" for each in self.unknown]
        return "\n".join(lines)

    def shown(self) -> "CompiledResources":
        """With texts that print as PennyLane's numbers do."""
        lower = self
        if any(text.startswith(("cond_", "switch_")) for text in self.unknown):
            lower = self.lower
        depth: Any = self.depth
        if depth is not None and self.depth_is_bound:
            depth = f"at most {depth}"
        types = {
            name: _text(count, lower.gate_types.get(name, 0))
            for name, count in self.gate_types.items()
        }
        pauli: dict[str, Any] = {
            kind: _text(count, lower.pauli_counts.get(kind, 0))
            for kind, count in self.pauli_counts.items()
        }
        pauli_depth: Any = self.pauli_depth
        if pauli_depth is not None:
            pauli_depth = _text(pauli_depth, lower.pauli_depth or 0)
        return replace(
            self, pauli_counts=pauli, pauli_depth=pauli_depth, gate_types=types,
            num_allocs=_text(self.num_allocs, self.num_allocs),
            total=_text(self.total, lower.total), depth=depth,
        )  # fmt: skip


class _Text(str):
    """A count in words, which PennyLane takes for a small one."""

    __slots__ = ()

    def __lt__(self, other: object) -> bool:
        return True


def _text(count: Number, least: Number) -> Any:
    if count == least:
        return count if isinstance(count, int) else _Text(count)
    return _Text(f"{least} to {count}")


@dataclass(frozen=True)
class Analysed:
    """How resources were made, so that others of the same circuit can be."""

    analysis: CircuitAnalysis
    measurements: Mapping[str, int]
    compute_depth: bool

    def resources(self) -> CompiledResources:
        """Analyse the circuit."""
        analysis = self.analysis
        counts = analysis.counts()
        averaged = analysis.choices.policy == "expected"
        depth, pauli_depth = Depth(None, False), None
        if self.compute_depth and not averaged:
            depth = analysis.depth()
            depth = replace(depth, number=shown(depth.number))
        if depth.is_bound and analysis.choices.policy == "lower":  # nothing bounds it from below
            depth = Depth(None, False)
        pauli: dict[str, Number] = {}
        if any(key[0] == "weight" and key[1:] != ("ppm", 1) for key in counts):
            found = _of(counts, "pauli")
            pauli = {kind: found[kind] for kind in KINDS if kind in found}
        if pauli and self.compute_depth and not averaged:
            pauli_depth = shown(analysis.layers(KINDS).number)
        made = CompiledResources(
            gate_types=_of(counts, "gate"), gate_sizes=_of(counts, "size"),
            measurements=dict(self.measurements), num_allocs=shown(counts.get(("qubits",), 0)),
            depth=depth.number, total=shown(counts.get(("operations",), 0)),
            depth_is_bound=depth.is_bound, pauli_counts=pauli, pauli_depth=pauli_depth,
            unknown=tuple(map(_described, self._open(analysis))),
        )  # fmt: skip
        object.__setattr__(made, "_analysis", self)
        return made

    def _open(self, analysis: CircuitAnalysis) -> list[Unknown]:
        return [one for one in analysis.unknown if one.name not in analysis.choices.given]

    def again(self, values: Mapping[str, Any]) -> CompiledResources:
        """With values for some names."""
        known = dict.fromkeys([*self.analysis.symbols, *(u.name for u in self.analysis.unknown)])
        for name in values:
            if name not in known:
                listed = ", ".join(known) or "nothing"
                raise UnknownSymbolError(name=name, known=listed, span=user_span())
        branches = {one.name: one for one in self.analysis.unknown}
        averaged = self.analysis.choices.policy == "expected"
        for name, value in values.items():
            wanted = _unfit(value, branches.get(name), averaged)
            if wanted is not None:
                raise SymbolValueError(
                    name=name, value=repr(value), wanted=wanted, span=user_span()
                )
        return replace(self, analysis=self.analysis.given(values)).resources()

    def with_policy(self, policy: Any, weights: Mapping[str, Any] | None = None) -> Any:
        """With other bounds, or averages."""
        if weights:
            return replace(self, analysis=self.analysis.given({}, policy)).again(weights)
        return replace(self, analysis=self.analysis.given({}, policy)).resources()


def _unfit(value: Any, unknown: Unknown | None, averaged: bool) -> str | None:
    """What the value of a symbol, a loop or a branch has to be; None where it is."""
    is_whole = isinstance(value, int | np.integer)
    if unknown is None or unknown.kind != "branch":
        is_count = is_whole and (unknown is None or value >= 0)
        wanted = "an integer" if unknown is None else "a number of turns"
        return None if is_count or hasattr(value, "free_symbols") else wanted
    if not averaged:
        fits = is_whole and 0 <= value < unknown.branches
        return None if fits else f"one of 0 to {unknown.branches - 1}"
    weights = [value, 1 - value] if isinstance(value, int | float) else list(value)
    fits = len(weights) == unknown.branches and min(weights) >= 0 and abs(sum(weights) - 1) < 1e-9
    return None if fits else f"{unknown.branches} probabilities, or of two that of the first"


def _of(counts: Counts, head: str) -> dict[Any, Number]:
    return {key[1]: shown(count) for key, count in counts.items() if key[0] == head}


def _described(unknown: Unknown) -> str:
    what = f"turns of a {unknown.kind}"
    if unknown.kind == "branch":
        what = f"which of {unknown.branches} branches"
    span = unknown.span
    place = "" if span is None else f" at {Path(span.file).name}:{span.line}"
    return f"{unknown.name}: {what}{place}"


@dataclass(frozen=True)
class CompiledSpecs(CircuitSpecs):
    """Specifications of a compiled QNode, as PennyLane's, with `CompiledResources`.

    What `qml.specs(f)` gives of a compiled function `f`. Counts are Python's ints, or expressions
    of SymPy's in the names of arguments.

    Example:
        >>> import pennylane as qml
        >>> from diastase import cond, for_loop, qjit
        >>> @qjit
        ... @qml.qnode(qml.device("lightning.qubit", wires=1))
        ... def circuit(n: int, x: float):
        ...     for_loop(0, n, 1)(lambda i: qml.RX(x * i, 0))()
        ...     cond(x > 1)(lambda: qml.X(0))()
        ...     return qml.probs()
        >>> specs = qml.specs(circuit)(3, 0.1)
        >>> specs.resources.gate_types
        {'RX': n, 'PauliX': 1}
        >>> specs.subs(n=3).lower.resources.gate_types
        {'RX': 3, 'PauliX': 0}
        >>> specs.expected(cond_1=0.25).resources.gate_types
        {'RX': n, 'PauliX': 0.25}
        >>> print(specs.to_pretty_str())
        Device: lightning.qubit
        ...
        - PauliX: 0 to 1
        ...

    """

    def subs(self, given: Mapping[Any, Any] | None = None, /, **values: Any) -> "CompiledSpecs":
        """The specifications for values of symbols and branches.

        Args:
            given: values by symbol or by name, integers; of a branch its number, of one of two the
                truth of its condition.
            **values: the same by name.

        Returns:
            Other specifications, exact for these values.

        Raises:
            UnknownSymbolError: a `ValueError`, for a name that the counts do not depend on.
            SymbolValueError: a `ValueError`, for a value that the symbol cannot have.

        """
        return self._with(lambda each: each.subs(given, **values))

    @property
    def lower(self) -> "CompiledSpecs":
        """The same with lower bounds, where it is open which branches run."""
        return self._with(lambda each: each.lower)

    def expected(self, **weights: Any) -> "CompiledSpecs":
        """Average counts over the branches that are open.

        Args:
            **weights: for each branch, by its name, the probability that its condition holds, or
                one for each case. Branches without weights are all taken alike.

        Returns:
            Other specifications; their depths are None.

        Raises:
            UnknownSymbolError: a `ValueError`, for a name that is no open branch's.
            SymbolValueError: a `ValueError`, for what is no probability.

        """
        return self._with(lambda each: each.expected(**weights))

    def to_pretty_str(self, tabular: bool = True) -> str:
        """As PennyLane prints it, with bounds where they differ.

        Args:
            tabular: several levels as a table, or one after the other.

        Returns:
            The text that `print` shows.

        """
        several = tabular and isinstance(self.resources, dict)
        given = self._with(lambda each: each.shown()) if several else self
        return CircuitSpecs.to_pretty_str(given, tabular)

    def _with(self, function: Callable[[Any], Any]) -> "CompiledSpecs":
        def each(value: Any) -> Any:
            if isinstance(value, dict):
                return {name: each(one) for name, one in value.items()}
            return [each(one) for one in value] if isinstance(value, list) else function(value)

        return replace(self, resources=each(self.resources))
