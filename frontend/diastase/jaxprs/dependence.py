"""What in a jaxpr depends on what: forwards, as derivatives see it, and backwards.

Forwards (`Activity`): which parameters of operations and which results may depend on some inputs;
through equations of any kind, and into our loops (to a fixed point) and branches. A register is
never active: what a result owes to the state comes by the parameters of operations. A measurement
is active if its own operands are (coefficients, matrices), and what is computed of it then.

Backwards (`without_unread`): which equations and inputs some results need. What defines a symbol
stays: types depend on it, though no equation reads it.

Neither finds too few. Operations are known by the identity of their equations; the body must be
kept alive beside an `Activity`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from jax.extend.core import ClosedJaxpr, Literal

from diastase.capture.dynamic_carry import dimension_table
from diastase.jaxprs.control_flow import LoopOperands
from diastase.primitives.qnode_derivatives import is_inexact
from diastase_mlir.jax_compat import needed_equations, rebuilt, settled

Equation = Any
Flags = tuple[bool, ...]


# --- forwards -------------------------------------------------------------------------------------


@dataclass
class Activity:
    """What is active in a body, as far as it has been gone through."""

    carries: Callable[[Any], bool] = lambda variable: is_inexact(variable.aval)
    """Which variables can be active at all."""
    starts: Callable[[Equation], bool] | None = None
    """Equations whose results are active, whatever their operands are."""
    operands: dict[int, Flags] | None = field(default_factory=dict)
    """For each equation with an active operand, by its identity: which operands are. None
    where nobody asks for them."""

    def of(self, equation: Equation) -> Flags:
        """Which operands of an equation are active."""
        found = (self.operands or {}).get(id(equation))
        return (False,) * len(equation.invars) if found is None else found

    def variables(self, closed: ClosedJaxpr, active: Sequence[bool]) -> set[Any]:
        """The active variables of a region some of whose inputs are active."""
        inputs = zip(closed.jaxpr.invars, active, strict=True)
        found = {variable for variable, flag in inputs if flag}
        for equation in closed.jaxpr.eqns:
            given = _flags(equation.invars, found)
            if self.starts is not None or any(given):
                results = zip(equation.outvars, self._results(equation, given), strict=True)
                found.update(atom for atom, flag in results if flag and self.carries(atom))
        return found

    def within(self, closed: ClosedJaxpr, active: Sequence[bool]) -> Flags:
        """Which results of a region are active if these inputs are."""
        return _flags(closed.jaxpr.outvars, self.variables(closed, active))

    def carried(self, body: ClosedJaxpr, constants: Flags, carry: Flags) -> Flags:
        """Which carried values are, after any number of turns of a body of these leading inputs."""

        def turn(flags: Flags) -> tuple[Flags, None]:
            after = self.within(body, (*constants, *flags))
            return tuple(map(any, zip(flags, after, strict=True))), None

        return settled(carry, turn)[0]

    def _results(self, equation: Equation, given: Flags) -> Iterable[bool]:
        if self.operands is not None:
            old = self.operands.get(id(equation), given)  # of a turn before
            self.operands[id(equation)] = tuple(map(any, zip(old, given, strict=True)))
        if self.starts is not None and self.starts(equation):
            return [True] * len(equation.outvars)
        rule = _CONTROL_FLOW.get(equation.primitive.name)
        return [any(given)] * len(equation.outvars) if rule is None else rule(self, equation, given)


def _flags(atoms: Iterable[Any], found: Set[Any]) -> Flags:
    return tuple([not isinstance(atom, Literal) and atom in found for atom in atoms])


def _loop(activity: Activity, equation: Equation, given: Flags) -> Flags:
    at = LoopOperands.read(given, equation.params)
    index = (False,) if at.bounds else ()
    return activity.carried(equation.params["body_jaxpr"], (*at.constants, *index), (*at.carry,))


def _switch(activity: Activity, equation: Equation, given: Flags) -> Flags:
    branches = equation.params["branch_jaxprs"]
    found = [activity.within(branch, given[1:]) for branch in branches]
    return tuple(map(any, zip(*found, strict=True)))


_CONTROL_FLOW: Mapping[str, Callable[[Activity, Equation, Flags], Flags]] = {
    "for_loop": _loop,
    "while_loop": _loop,
    "switch": _switch,
}


def active_variables(closed: ClosedJaxpr, active: Iterable[int]) -> set[Any]:
    """The variables that have derivatives, if the inputs at these positions have."""
    return Activity(operands=None).variables(closed, _at(active, len(closed.in_avals)))


def active_results(closed: ClosedJaxpr, active: Iterable[int]) -> set[int]:
    """The results that have derivatives, if the inputs at these positions have."""
    return _positions(Activity(operands=None).within(closed, _at(active, len(closed.in_avals))))


def active_carry(body: ClosedJaxpr, constants: Iterable[int], carry: Iterable[int]) -> set[int]:
    """Which carried values have derivatives, if these constants and these initial values have."""
    count = len(body.out_avals)
    leading = _at(constants, len(body.in_avals) - count)
    return _positions(Activity(operands=None).carried(body, leading, _at(carry, count)))


def _at(positions: Iterable[int], count: int) -> Flags:
    chosen = set(positions)
    return tuple(position in chosen for position in range(count))


def _positions(flags: Flags) -> set[int]:
    return {position for position, flag in enumerate(flags) if flag}


# --- backwards ------------------------------------------------------------------------------------


def lasting(equation: Equation) -> bool:
    """Whether an equation is kept though nobody reads what it gives."""
    defines = dimension_table().defines_symbols
    return bool(equation.effects) or not equation.outvars or any(map(defines, equation.outvars))


def without_unread(closed: ClosedJaxpr, results: Sequence[int]) -> tuple[ClosedJaxpr, list[int]]:
    """The jaxpr that computes these results only, and which inputs it has left."""
    jaxpr, defines = closed.jaxpr, dimension_table().defines_symbols
    outputs = [jaxpr.outvars[position] for position in results]
    kept, live = needed_equations(jaxpr.eqns, outputs, lasting)
    inputs = [k for k, variable in enumerate(jaxpr.invars) if variable in live or defines(variable)]
    return rebuilt(closed, [jaxpr.invars[k] for k in inputs], kept, outputs), inputs


def carry_read(body: ClosedJaxpr, carry: Set[int]) -> tuple[ClosedJaxpr, list[int], list[int]]:
    """What a loop's body needs to compute these of its carried values.

    The body without the rest, the inputs that it has left, and all carried values that it needs.
    """
    first = len(body.in_avals) - len(body.out_avals)

    def turn(needed: set[int]) -> tuple[set[int], tuple[ClosedJaxpr, list[int]]]:
        pruned, inputs = without_unread(body, sorted(needed))
        return needed | {k - first for k in inputs if k >= first}, (pruned, inputs)

    needed, (pruned, inputs) = settled(set(carry), turn)
    return pruned, inputs, sorted(needed)
