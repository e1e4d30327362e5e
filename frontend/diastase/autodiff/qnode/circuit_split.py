"""The body of a QNode, taken apart, and which of its values depend on what is differentiated by.

A body allocates its register and applies operations (its *head*), then measures; its *tail*
computes results of what was measured. `parts_of` gives None where a body is no such sequence
(outcomes in the middle, registers of an observable's own): then there are other ways.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from jax.extend.core import ClosedJaxpr, Var

from diastase.autodiff.qnode.adjoint_seeds import SEEDS
from diastase.jaxprs.dependence import active_variables
from diastase.primitives.define import Role, has_role
from diastase.primitives.qnode_derivatives import inexact_positions
from diastase.primitives.quantum import allocate_p, is_register, touches_register
from diastase_mlir.jax_compat import equations_of, rebuilt, with_jaxprs

Equation = Any


@dataclass(frozen=True)
class Parts:
    """A body taken apart."""

    head: ClosedJaxpr
    """Of the body's operands; gives the register, all classical operands of the measurements, and
    then what else the tail needs."""
    measurements: tuple[Equation, ...]
    tail: ClosedJaxpr
    """Takes what was measured, then the head's other values; gives the inexact results."""
    allocation: Equation

    @property
    def counts(self) -> list[int]:
        """How many classical operands each measurement has."""
        return [len(equation.invars) - 1 for equation in self.measurements]

    def own(self, classical: Sequence[Any]) -> tuple[list[list[Any]], list[Any]]:
        """The head's classical results: operands of each measurement; the rest."""
        remaining, own = list(classical), list[list[Any]]()
        for count in self.counts:
            own.append(remaining[:count])
            remaining = remaining[count:]
        return own, remaining


def parts_of(closed: ClosedJaxpr) -> Parts | None:
    """Take a body apart."""
    head, measurements, tail = list[Equation](), list[Equation](), list[Equation]()
    measured: set[Any] = set()
    register: Any = None
    for equation in closed.jaxpr.eqns:
        name = equation.primitive.name
        if any(atom in measured for atom in equation.invars if isinstance(atom, Var)):
            if touches_register(equation):
                return None
            tail.append(equation)
            measured.update(equation.outvars)
        elif name in SEEDS:
            measurements.append(equation)
            measured.update(equation.outvars)
        elif name != "release_qubits":
            if touches_register(equation):
                acting = filter(touches_register, equations_of(equation))
                if not all(map(_is_of_a_head, acting)):
                    return None
                if measurements or (name == "allocate_qubits") != (register is None):
                    return None
                register = equation.outvars[0]
            head.append(equation)
    if register is None or any(out is register for out in closed.jaxpr.outvars):
        return None
    return _assembled(closed, head, measurements, tail, register)


def _is_of_a_head(equation: Equation) -> bool:
    """Whether an equation does to registers what a sweep goes back through."""
    return equation.primitive is allocate_p or has_role(equation, Role.RECORDED, Role.CONTROL_FLOW)


def _assembled(
    closed: ClosedJaxpr,
    head: Sequence[Equation],
    measurements: Sequence[Equation],
    tail: Sequence[Equation],
    register: Any,
) -> Parts:
    classical = [
        atom for equation in measurements for atom in equation.invars if not is_register(atom)
    ]
    values = [variable for equation in measurements for variable in equation.outvars]
    results = [closed.jaxpr.outvars[p] for p in inexact_positions(closed.out_avals)]
    made = {*values, *(variable for equation in tail for variable in equation.outvars)}
    used = [atom for equation in tail for atom in equation.invars] + results
    others = dict.fromkeys(atom for atom in used if isinstance(atom, Var) and atom not in made)
    return Parts(
        rebuilt(closed, closed.jaxpr.invars, head, [register, *classical, *others]),
        tuple(measurements),
        rebuilt(closed, [*values, *others], tail, results),
        head[[equation.primitive.name for equation in head].index("allocate_qubits")],
    )


def marked(closed: ClosedJaxpr, positions: Collection[int]) -> ClosedJaxpr:
    """The jaxpr with arrays of operations that may depend on some inputs `differentiated`."""
    found = active_variables(closed, positions)
    equations = [_marked(equation, found) for equation in closed.jaxpr.eqns]
    return rebuilt(closed, closed.jaxpr.invars, equations, closed.jaxpr.outvars)


def _marked(equation: Equation, found: set[Any]) -> Equation:
    if not touches_register(equation):
        return equation
    params = equation.params
    if has_role(equation, Role.OF_ARRAY):
        changed = {"differentiated": equation.invars[1] in found} if _is_variable(equation) else {}
        return equation.replace(params={**params, **changed})
    if not has_role(equation, Role.CONTROL_FLOW):
        return equation
    if not any(atom in found for atom in equation.invars if isinstance(atom, Var)):
        return equation
    return equation.replace(
        params=with_jaxprs(params, lambda part: marked(part, inexact_positions(part.in_avals)))
    )


def _is_variable(equation: Equation) -> bool:
    return isinstance(equation.invars[1], Var)
