"""A body taken apart, for adjoint differentiation.

It allocates its register and applies operations (its *head*), then measures; its *tail* computes
results of what was measured. Halves of a register with derivative wires (`half_p`) belong to the
measurements that read them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jax.extend.core import ClosedJaxpr, Var

from diastase.autodiff.adjoint import mixed_seeds, seeds
from diastase.primitives.define import Role, has_role
from diastase.primitives.mixed import half_p
from diastase.primitives.qnode_derivatives import inexact_positions
from diastase.primitives.quantum import allocate_p, is_register, release_p, touches_register
from diastase_mlir.jax_compat import equations_of, rebuilt

Equation = Any
Half = tuple[int, ...]
"""For each derivative wire, the oldest first, in which half of a register something is read; of
the register itself `()`."""


@dataclass(frozen=True)
class Measurement:
    """A measurement of a body."""

    equation: Equation
    half: Half

    @property
    def is_mixed(self) -> bool:
        """Whether it is of a density matrix."""
        return self.equation.invars[0].aval.mixed

    @property
    def name(self) -> str:
        """That of its primitive."""
        return self.equation.primitive.name

    @property
    def rules(self) -> Any:
        """What finds adjoints, and cotangents of operands."""
        return mixed_seeds if self.is_mixed else seeds

    @property
    def has_seed(self) -> bool:
        """Whether there is an adjoint for it."""
        if self.is_mixed:
            return self.name in mixed_seeds.SEEDS and mixed_seeds.has_seed(self.equation)
        return self.name in seeds.SEEDS


@dataclass(frozen=True)
class Parts:
    """A body taken apart."""

    head: ClosedJaxpr
    """Of the body's operands; gives the register, all classical operands of the measurements, and
    then what else the tail needs."""
    measurements: tuple[Measurement, ...]
    tail: ClosedJaxpr
    """Takes what was measured, then the head's other values; gives the inexact results."""

    def own(self, classical: Sequence[Any]) -> tuple[list[list[Any]], list[Any]]:
        """The head's classical results: operands of each measurement; the rest."""
        remaining, own = list(classical), list[list[Any]]()
        for measurement in self.measurements:
            count = len(measurement.equation.invars) - 1
            own.append(remaining[:count])
            remaining = remaining[count:]
        return own, remaining


def parts_of(closed: ClosedJaxpr) -> Parts | None:
    """Take a body apart; None where it is no such sequence."""
    reader = _Reader()
    if not all(map(reader.read, closed.jaxpr.eqns)):
        return None
    register = reader.register
    if register is None or any(out is register for out in closed.jaxpr.outvars):
        return None
    return _assembled(closed, reader)


class _Reader:
    """What has been read of a body so far."""

    def __init__(self) -> None:
        self.head = list[Equation]()
        self.measurements = list[Measurement]()
        self.tail = list[Equation]()
        self.register: Any = None
        self._measured = set[Any]()
        """What is measured, or computed of that."""
        self._halves = dict[Any, Half]()

    def read(self, equation: Equation) -> bool:
        """Put an equation where it belongs; False if it belongs nowhere."""
        if any(atom in self._measured for atom in equation.invars if isinstance(atom, Var)):
            self.tail.append(equation)
            self._measured.update(equation.outvars)
            return not touches_register(equation)
        if equation.primitive is half_p:
            source = equation.invars[0]
            which = (*self._halves.get(source, ()), equation.params["which"])
            self._halves[equation.outvars[0]] = which
        elif equation.primitive.name in _MEASURED:
            return self._measure(equation)
        elif equation.primitive is not release_p:
            self.head.append(equation)
            return not touches_register(equation) or self._act(equation)
        return True

    def _measure(self, equation: Equation) -> bool:
        measurement = Measurement(equation, self._halves.get(equation.invars[0], ()))
        self.measurements.append(measurement)
        self._measured.update(equation.outvars)
        return measurement.has_seed

    def _act(self, equation: Equation) -> bool:
        """An equation that gives the next register, or the first one."""
        if self.measurements or self._halves:
            return False
        if (equation.primitive is allocate_p) != (self.register is None):
            return False
        self.register = equation.outvars[0]
        return all(map(_is_of_a_head, filter(touches_register, equations_of(equation))))


_MEASURED = frozenset([*seeds.SEEDS, *mixed_seeds.SEEDS])


def _is_of_a_head(equation: Equation) -> bool:
    """Whether an equation does to registers what a sweep goes back through."""
    return equation.primitive is allocate_p or has_role(equation, Role.RECORDED, Role.CONTROL_FLOW)


def _assembled(closed: ClosedJaxpr, reader: _Reader) -> Parts:
    head, tail = reader.head, reader.tail
    readings = [measurement.equation for measurement in reader.measurements]
    classical = [atom for equation in readings for atom in equation.invars if not is_register(atom)]
    values = [variable for equation in readings for variable in equation.outvars]
    results = [closed.jaxpr.outvars[p] for p in inexact_positions(closed.out_avals)]
    made = {*values, *(variable for equation in tail for variable in equation.outvars)}
    used = [atom for equation in tail for atom in equation.invars] + results
    others = dict.fromkeys(atom for atom in used if isinstance(atom, Var) and atom not in made)
    return Parts(
        rebuilt(closed, closed.jaxpr.invars, head, [reader.register, *classical, *others]),
        tuple(reader.measurements),
        rebuilt(closed, [*values, *others], tail, results),
    )
