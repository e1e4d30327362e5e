"""Operators that PennyLane takes back after they were recorded.

An operator that becomes part of another one (`qml.adjoint(op)`, `qml.expval(op)`) leaves the
circuit, which PennyLane can do at any time, as it runs nothing before the quantum function has
returned. We record everything pending before a measurement or control flow, and so delete the
equations of such an operator from the finished jaxpr:

    r1 = gate[PauliZ] r0     (taken back: r0 -> r1)
    r2 m = measure r1                                ->    r2 m = measure r0

In: a circuit's jaxpr and, for each operator, the register before and after it. The trap: deleted
operators may follow each other, so the register before one may itself be deleted.
"""

from collections.abc import Sequence
from typing import Any

from jax.extend.core import ClosedJaxpr, Var

Extent = tuple[Var, Var]
"""The register before and after an operator."""


def without_taken_back(jaxpr: ClosedJaxpr, extents: Sequence[Extent]) -> ClosedJaxpr:
    """Delete the equations of these operators."""
    if not extents:
        return jaxpr
    replacements: dict[Var, Var] = {}
    deleted: set[int] = set()
    for before, after in extents:
        deleted |= _chain(jaxpr, before, after)
        replacements[after] = before
    equations = [
        equation.replace(invars=[_resolved(atom, replacements) for atom in equation.invars])
        for position, equation in enumerate(jaxpr.jaxpr.eqns)
        if position not in deleted
    ]
    return jaxpr.replace(jaxpr=jaxpr.jaxpr.replace(eqns=equations))


def _chain(jaxpr: ClosedJaxpr, before: Var, after: Var) -> set[int]:
    """Positions of the equations that lead from one register to another, linearly."""
    positions: set[int] = set()
    register = before
    for position, equation in enumerate(jaxpr.jaxpr.eqns):
        if register is after:
            break
        if equation.invars and equation.invars[0] is register:
            positions.add(position)
            (register,) = equation.outvars
    assert register is after, "an operator's registers are not linked by its equations"
    return positions


def _resolved(atom: Any, replacements: dict[Var, Var]) -> Any:
    """What to use instead of a value, after all deletions."""
    while isinstance(atom, Var) and atom in replacements:
        atom = replacements[atom]
    return atom
