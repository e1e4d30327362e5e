"""`ppm_specs`: rotations and measurements of Pauli words in a compiled function's circuits."""

from typing import Any

from diastase.inspection.levels import Level, levels_of
from diastase.inspection.resources.analysis import CircuitAnalysis
from diastase.inspection.resources.errors import NotCompiledFunctionError
from diastase.inspection.resources.interpretation.exact import Number, shown
from diastase.inspection.resources.specs import analysis_of
from diastase_mlir import user_span

_ROTATIONS = ("pi2", "pi4", "pi8", "arbitrary")


def ppm_specs_of(compiled: Any, *args: Any, **kwargs: Any) -> dict[str, dict[str, Number]]:
    """By circuit, what there is; see `diastase.passes.ppm_specs`."""
    if not hasattr(compiled, "compiled_function"):
        kind = type(compiled).__name__
        raise NotCompiledFunctionError(function="ppm_specs", type=f"a {kind}", span=user_span())
    if not args and not kwargs and compiled.compiled_function is not None:
        args, kwargs = compiled.compiled_function.in_avals
    (level,) = levels_of(compiled, "user", args, kwargs)
    found: dict[str, dict[str, Number]] = {}
    for name, analysis in _named(level):
        found[name] = dict(sorted(_specs(analysis).items()))
    return found


def _named(level: Level) -> list[tuple[str, CircuitAnalysis]]:
    """The circuits, numbered for each QNode."""
    named: list[tuple[str, CircuitAnalysis]] = []
    for seen in level.circuits:
        qnode = seen.traced.settings.qnode
        number = sum(name.rpartition("_")[0] == qnode for name, _ in named)
        named.append((f"{qnode}_{number}", analysis_of(seen, level.traced)))
    return named


def _specs(analysis: CircuitAnalysis) -> dict[str, Number]:
    counts = analysis.counts()
    specs: dict[str, Number] = {"logical_qubits": shown(counts.get(("qubits",), 0))}
    for kind in _ROTATIONS:
        if ("pauli", kind) in counts:
            specs[f"{kind}_ppr"] = shown(counts[("pauli", kind)])
            specs[f"max_weight_{kind}"] = max(_weights(counts, kind))
            specs[f"depth_{kind}_ppr"] = shown(analysis.layers([kind]).number)
    if ("pauli", "ppm") in counts:
        specs["num_of_ppm"] = shown(counts[("pauli", "ppm")])
        specs["depth_ppm"] = shown(analysis.layers(["ppm"]).number)
    return specs


def _weights(counts: Any, kind: str) -> list[int]:
    return [key[2] for key in counts if key[:2] == ("weight", kind)]
