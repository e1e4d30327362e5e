"""What derivatives leave in a program that need not be computed: done before it is lowered.

Rules are written for any operands, and often the operands are known: cotangents of 1, bounds of
loops, positions in arrays. `simplified` follows numbers through the equations, at any depth, drops
equations that do nothing, and those whose results nobody reads (the value of which only a gradient
is wanted). It is one walk forwards and one back; a pass on MLIR would have to build all of it.

Nothing changes by a bit: of floats only what is exact is left out (`x * 1`, but not `x + 0`, which
is 0 for -0).
"""

from collections.abc import Mapping
from typing import Any

from jax.extend.core import ClosedJaxpr

from diastase.autodiff.qnode.constant_folding import Known, Range
from diastase.autodiff.qnode.parameter_counts import known_range
from diastase.jaxprs.dependence import lasting
from diastase.primitives.define import Role, has_role
from diastase_mlir.jax_compat import needed_equations, rebuilt, with_jaxprs

Equation = Any


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
            if has_role(equation, Role.CONTROL_FLOW, Role.INLINED, Role.BATCH):
                equation = self._inside(equation)
            equations.append(equation)
        results = [known.atom(atom) for atom in closed.jaxpr.outvars]
        return rebuilt(closed, inputs, needed_equations(equations, results, lasting)[0], results)

    def _inside(self, equation: Equation) -> Equation:
        ranges: Mapping[int, Range] = {}
        if equation.primitive.name == "for_loop":
            limits = known_range(equation)
            ranges = {} if limits is None else {equation.params["body_nconsts"]: limits}
        params = with_jaxprs(equation.params, lambda region: self.region(region, ranges))
        return equation.replace(params=params)
