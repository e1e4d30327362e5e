"""What derivatives leave in a program that need not be computed: done before it is lowered.

Rules are written for any operands, and often the operands are known: cotangents of 1, bounds of
loops, positions in arrays. `simplified` follows numbers through the equations, at any depth, drops
equations that do nothing, and those whose results nobody reads (the value of which only a gradient
is wanted). It is one walk forwards and one back; a pass on MLIR would have to build all of it.

Nothing changes by a bit: of floats only what is exact is left out (`x * 1`, but not `x + 0`, which
is 0 for -0).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from jax.extend.core import ClosedJaxpr

from diastase.tracing.derivatives.known_values import Known, Range
from diastase.tracing.derivatives.lengths import known_range
from diastase.tracing.resizing import dimension_table
from diastase_mlir.jax_internals import rebuilt
from diastase_mlir.rerolling import needed

Equation = Any
_OURS = frozenset({"for_loop", "while_loop", "switch", "qnode", "inlined", "parallel_map"})


def simplified(closed: ClosedJaxpr, ranges: Mapping[int, Range] | None = None) -> ClosedJaxpr:
    """The program without needless equations; `ranges`: what integers among its inputs lie in."""
    return _Simplifier().region(closed, ranges or {})


class _Simplifier:
    """Simplifies regions, each once: what was the same jaxpr stays the same."""

    def __init__(self) -> None:
        self._done: dict[Any, tuple[ClosedJaxpr, ClosedJaxpr]] = {}

    def region(self, closed: ClosedJaxpr, ranges: Mapping[int, Range]) -> ClosedJaxpr:
        """A region; `ranges`: of its inputs that are integers known to lie in one."""
        key = (id(closed), tuple(ranges.items()))
        if key not in self._done:
            self._done[key] = closed, self._simplified(closed, ranges)
        return self._done[key][1]

    def _simplified(self, closed: ClosedJaxpr, ranges: Mapping[int, Range]) -> ClosedJaxpr:
        if closed.consts:
            return closed
        inputs = closed.jaxpr.invars
        known = Known({inputs[position]: limits for position, limits in ranges.items()})
        equations = list[Equation]()
        for equation in closed.jaxpr.eqns:
            equation = known.with_operands(equation)
            if known.learn(equation):
                continue
            if equation.primitive.name in _OURS:
                equation = self._inside(equation)
            equations.append(equation)
        results = [known.atom(atom) for atom in closed.jaxpr.outvars]
        return rebuilt(closed, inputs, _needed(equations, results), results)

    def _inside(self, equation: Equation) -> Equation:
        params, changed = equation.params, dict[str, Any]()
        ranges: Mapping[int, Range] = {}
        if equation.primitive.name == "for_loop":
            limits = known_range(equation)
            ranges = {} if limits is None else {params["body_nconsts"]: limits}
        for name, value in params.items():
            if isinstance(value, ClosedJaxpr):
                changed[name] = self.region(value, ranges)
            elif name == "branch_jaxprs":
                changed[name] = tuple(self.region(branch, {}) for branch in value)
        return equation.replace(params={**params, **changed})


def _needed(equations: Sequence[Equation], results: Sequence[Any]) -> list[Equation]:
    """The equations that have effects, or whose results are read."""
    defines_symbols = dimension_table().defines_symbols
    return needed(equations, results, lambda equation: any(map(defines_symbols, equation.outvars)))
