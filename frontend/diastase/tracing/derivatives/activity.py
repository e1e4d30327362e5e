"""Which parameters of operations depend on what is differentiated by, and which results do.

One pass forwards over a circuit's body, into loops (to a fixed point) and branches. A register is
never active: what a result owes to the state comes by the parameters of operations. A measurement
is active if its own operands are (coefficients, matrices), and what is computed of it then.

Operations are known by the identity of their equations; the body must be kept alive beside this.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jax.extend.core import ClosedJaxpr, Literal

from diastase.primitives.derivatives import is_inexact
from diastase.primitives.quantum import touches_register

Equation = Any
Flags = tuple[bool, ...]


@dataclass
class Activity:
    """What is active in a body."""

    operands: dict[int, Flags] = field(default_factory=dict)
    """For each equation on a register, by its identity: which operands are active."""

    def of(self, equation: Equation) -> Flags:
        """Which operands of an equation are active."""
        return self.operands.get(id(equation), (False,) * len(equation.invars))

    def within(self, closed: ClosedJaxpr, active: Sequence[bool]) -> Flags:
        """Note all in a region whose active inputs are known; which results are active."""
        flags: dict[Any, bool] = dict(zip(closed.jaxpr.invars, active, strict=True))

        def flag(atom: Any) -> bool:
            return not isinstance(atom, Literal) and flags.get(atom, False)

        for equation in closed.jaxpr.eqns:
            given = tuple(map(flag, equation.invars))
            results = self._results(equation, given)
            for variable, result in zip(equation.outvars, results, strict=True):
                flags[variable] = result and is_inexact(variable.aval)
        return tuple(map(flag, closed.jaxpr.outvars))

    def _results(self, equation: Equation, given: Flags) -> Iterable[bool]:
        if touches_register(equation):
            old = self.of(equation)
            self.operands[id(equation)] = tuple(map(any, zip(old, given, strict=True)))
            rule = _CONTROL_FLOW.get(equation.primitive.name)
            if rule is not None:
                return rule(self, equation, given)
        return [any(given)] * len(equation.outvars)


def _settled(step: Callable[[Flags], Flags], carry: Flags) -> Flags:
    """The carry after any number of turns."""
    while True:
        more = tuple(map(any, zip(carry, step(carry), strict=True)))
        if more == carry:
            return carry
        carry = more


def _for_loop(activity: Activity, equation: Equation, given: Flags) -> Flags:
    body, count = equation.params["body_jaxpr"], equation.params["body_nconsts"]
    constants, carry = given[:count], given[count + 3 :]
    return _settled(lambda flags: activity.within(body, (*constants, False, *flags)), carry)


def _while_loop(activity: Activity, equation: Equation, given: Flags) -> Flags:
    params = equation.params
    tested, count = params["cond_nconsts"], params["body_nconsts"]
    constants, carry = given[tested : tested + count], given[tested + count :]
    body = params["body_jaxpr"]
    return _settled(lambda flags: activity.within(body, (*constants, *flags)), carry)


def _switch(activity: Activity, equation: Equation, given: Flags) -> Flags:
    branches = equation.params["branch_jaxprs"]
    found = [activity.within(branch, given[1:]) for branch in branches]
    return tuple(map(any, zip(*found, strict=True)))


_CONTROL_FLOW: Mapping[str, Callable[[Activity, Equation, Flags], Flags]] = {
    "for_loop": _for_loop,
    "while_loop": _while_loop,
    "switch": _switch,
}
