"""`async_qnodes`: QNodes that do not depend on each other become one equation, and run at once.

    a = qnode[…] x                a b = concurrent_qnodes[…] x x
    b = qnode[…] x        ->      c = add a b
    c = add a b

`with_concurrent_qnodes` takes a traced program and gives one of the same results. QNodes are taken
together in the order of the program, at each level (loops and branches have levels of their own),
until one needs a result of those before it. Between them may stand arithmetic: what a QNode needs
is computed before all of them, the rest after them. Everything that may be seen or may fail keeps
its place: what has an effect, which a QNode that prints has, too; a check, a loop, a callback, a
batch, a gradient. So the first error in the order of the program is still the first.

The trap: symbols that are defined inside of a QNode are known after it, but not after a function
that it is called in. Such a QNode stays where it is, as does one with results of unknown
sizes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from jax.extend.core import ClosedJaxpr, Literal

from diastase.primitives.batching import concurrent_qnodes_p
from diastase.primitives.define import PRIMITIVES, Role, has_role
from diastase_mlir.jax_compat import (
    equations_of,
    source_context,
    trace_to_jaxpr,
    variables_in,
    with_jaxprs,
)
from diastase_mlir.program import DimensionBindings, Program

Equation = Any
_REGIONS = frozenset({"scan", "while", "cond"})
"""Primitives of JAX's in whose jaxprs QNodes are looked for, too."""
_BARRIERS = frozenset({"pure_callback", "while"})
"""Primitives of JAX's without effects that may fail, or never end."""

_MOST = 16
"""QNodes in one equation. Its code is branches within branches, each with all operands in reach:
with 64 of them, LLVM takes twice as long for a program."""


def with_concurrent_qnodes(program: Program) -> Program:
    """The program with `concurrent_qnodes` in the place of QNodes that may run at once."""
    return replace(program, jaxpr=_region(program.jaxpr, program.dimensions))


def _region(closed: ClosedJaxpr, bindings: DimensionBindings) -> ClosedJaxpr:
    equations = list[Equation]()
    stretch = _Stretch()
    for equation in closed.jaxpr.eqns:
        if _is_movable(equation, bindings):
            if stretch.ends_before(equation):
                equations += stretch.end()
                stretch = _Stretch()
            stretch.add(equation)
        else:
            equations += [*stretch.end(), _with_regions(equation, bindings)]
            stretch = _Stretch()
    equations += stretch.end()
    return closed.replace(jaxpr=closed.jaxpr.replace(eqns=equations))


def _with_regions(equation: Equation, bindings: DimensionBindings) -> Equation:
    ours = has_role(equation, Role.CONTROL_FLOW, Role.INLINED)
    if not ours and equation.primitive.name not in _REGIONS:
        return equation
    return equation.replace(
        params=with_jaxprs(equation.params, lambda region: _region(region, bindings))
    )


@dataclass
class _Stretch:
    """Equations in a row that may be put in another order."""

    before: list[Equation] = field(default_factory=list)
    qnodes: list[Equation] = field(default_factory=list)
    after: list[Equation] = field(default_factory=list)
    """Those that need what the QNodes give."""
    given: set[Any] = field(default_factory=set)
    """What is known after the QNodes only."""

    def ends_before(self, equation: Equation) -> bool:
        """Whether it is a QNode that cannot be run with those that are here."""
        if equation.primitive.name != "qnode":
            return False
        return len(self.qnodes) == _MOST or self._is_after(equation)

    def add(self, equation: Equation) -> None:
        """Put an equation, the next of the program, in its place."""
        is_qnode, is_after = equation.primitive.name == "qnode", self._is_after(equation)
        if is_qnode or is_after:
            self.given.update(equation.outvars)
        place = self.qnodes if is_qnode else self.after if is_after else self.before
        place.append(equation)

    def end(self) -> list[Equation]:
        """All of them, in the order in which they are computed."""
        qnodes = self.qnodes if len(self.qnodes) < 2 else [_concurrent(self.qnodes)]
        return [*self.before, *qnodes, *self.after]

    def _is_after(self, equation: Equation) -> bool:
        return any(atom in self.given for atom in _variables(equation))


def _variables(equation: Equation) -> list[Any]:
    return [atom for atom in equation.invars if not isinstance(atom, Literal)]


def _concurrent(qnodes: Sequence[Equation]) -> Equation:
    """One equation for several."""
    branches = tuple(map(_branch, qnodes))
    return qnodes[0].replace(
        primitive=concurrent_qnodes_p,
        invars=[variable for equation in qnodes for variable in _variables(equation)],
        outvars=[variable for equation in qnodes for variable in equation.outvars],
        params={"branch_jaxprs": branches},
        effects=set[Any]().union(*(equation.effects for equation in qnodes)),
    )


def _branch(equation: Equation) -> ClosedJaxpr:
    """A jaxpr of this equation only; numbers that it is given stay part of it."""
    primitive, params = equation.primitive, equation.params

    def run(*operands: Any) -> Sequence[Any]:
        values = iter(operands)
        known = [
            atom.val if isinstance(atom, Literal) else next(values) for atom in equation.invars
        ]
        return primitive.bind(*known, **params)

    avals = [variable.aval for variable in _variables(equation)]
    with source_context(equation.source_info):
        jaxpr, captured = trace_to_jaxpr(run, avals, params["name"])
    assert not captured, "a QNode's operands are variables and numbers"
    return jaxpr


def _is_movable(equation: Equation, bindings: DimensionBindings) -> bool:
    """Whether an equation may be computed earlier or later, where its operands allow it."""
    if equation.effects or not _has_known_sizes(equation):
        return False
    if equation.primitive.name != "qnode":
        return _is_plain(equation)
    inside = variables_in(equation.params)
    return not any(variable in bindings.values or variable in bindings.axes for variable in inside)


def _is_plain(equation: Equation) -> bool:
    """Whether nobody sees when an equation is computed: it cannot fail, and it ends."""
    return all(
        not (each.effects or each.primitive.name in PRIMITIVES or each.primitive.name in _BARRIERS)
        and _has_known_sizes(each)
        for each in equations_of(equation)
    )


def _has_known_sizes(equation: Equation) -> bool:
    """Whether each size of the results is a number, or that of an operand: no check can fail."""
    operands = set(map(str, _sizes(equation.invars)))
    return all(
        isinstance(size, int) or (equation.primitive.name != "qnode" and str(size) in operands)
        for size in _sizes(equation.outvars)
    )


def _sizes(atoms: Sequence[Any]) -> list[Any]:
    return [size for atom in atoms for size in getattr(atom.aval, "shape", ())]
