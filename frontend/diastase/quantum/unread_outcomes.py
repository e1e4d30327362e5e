"""Measurements of a density matrix whose outcomes nobody reads become channels.

    r1 m = measure[word=Z] r0   (m is unused)   ->   r1 = superoperator r0 [1 0 0 0, 0 0 0 0, …]

A density matrix holds the average over outcomes, so there is nothing to draw: a measurement takes
away what does not commute with its word, and a reset puts |0> there. A circuit without other
measurements needs one run, not one for each string of outcomes.

Outcomes are followed backwards through loops and branches: one that is carried, but read by
nothing in the end, is unread. The trap: what reads an outcome only for a value that is not needed
stays there, so the outcome becomes a constant.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Var

from diastase.capture.dynamic_carry import dimension_table
from diastase.primitives.mixed import superoperator_p
from diastase.primitives.quantum import gate_p, is_register, measure_p, touches_register
from diastase.quantum.classical_slice import Equation
from diastase.quantum.wires import bind_on
from diastase_mlir import into_z
from diastase_mlir.jax_compat import (
    constant_equation,
    rebuilt,
    source_context,
    trace_to_jaxpr,
    with_jaxprs,
)


def without_unread_outcomes(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The body of a circuit, whose unread measurements are channels."""
    liveness = _Liveness()
    liveness.needed(closed, range(len(closed.jaxpr.outvars)))
    if all(liveness.reads.values()):
        return closed
    return _replaced(closed, liveness.reads)


# --- what is read --------------------------------------------------------------------------------


@dataclass
class _Liveness:
    """Which measurements are read, as far as it is known: flags only ever become true."""

    reads: dict[int, bool] = field(default_factory=dict)
    """By the identity of the equation."""

    def needed(self, closed: ClosedJaxpr, wanted: Sequence[int]) -> set[int]:
        """The inputs of a region that are needed for these results, and for the register."""
        jaxpr = closed.jaxpr
        live = {jaxpr.outvars[k] for k in wanted if isinstance(jaxpr.outvars[k], Var)}
        for equation in reversed(jaxpr.eqns):
            if _is_kept(equation) or any(v in live for v in equation.outvars):
                live.update(atom for atom in self._read(equation, live) if isinstance(atom, Var))
        return {k for k, v in enumerate(jaxpr.invars) if v in live or is_register(v)}

    def _read(self, equation: Equation, live: set[Any]) -> Sequence[Any]:
        """The operands that a live equation needs."""
        wanted = {k for k, v in enumerate(equation.outvars) if v in live or is_register(v)}
        if equation.primitive is measure_p:
            forced = equation.params["postselect"] is not None
            self.reads[id(equation)] = (
                self.reads.get(id(equation), False) or forced or equation.outvars[1] in live
            )
            return equation.invars
        rule = _RULES.get(equation.primitive.name)
        if rule is not None:
            return rule(self, equation, wanted)
        for inner in _jaxprs(equation):
            self.needed(inner, range(len(inner.jaxpr.outvars)))
        return equation.invars

    def _carried(
        self, body: ClosedJaxpr, first: int, wanted: set[int]
    ) -> tuple[set[int], set[int]]:
        """Carried values that are needed in the end, and inputs of the body that these need."""
        while True:
            inner = self.needed(body, sorted(wanted))
            more = {k - first for k in inner if k >= first} | wanted
            if more == wanted:
                return wanted, inner
            wanted = more

    def for_loop(self, equation: Equation, wanted: set[int]) -> Sequence[Any]:
        """Constants, bounds, carried values."""
        count, operands = equation.params["body_nconsts"], equation.invars
        carry, inner = self._carried(equation.params["body_jaxpr"], count + 1, wanted)
        constants = [operands[k] for k in inner if k < count]
        return [*constants, *operands[count : count + 3], *(operands[count + 3 + k] for k in carry)]

    def while_loop(self, equation: Equation, wanted: set[int]) -> Sequence[Any]:
        """Constants of the condition, of the body, carried values."""
        params, operands = equation.params, equation.invars
        tested, count = params["cond_nconsts"], params["body_nconsts"]
        test = self.needed(params["cond_jaxpr"], [0])
        wanted = wanted | {k - tested for k in test if k >= tested}
        carry, inner = self._carried(params["body_jaxpr"], count, wanted)
        constants = [operands[k] for k in test if k < tested]
        constants += [operands[tested + k] for k in inner if k < count]
        return [*constants, *(operands[tested + count + k] for k in carry)]

    def switch(self, equation: Equation, wanted: set[int]) -> Sequence[Any]:
        """The index, and what branches need."""
        branches = equation.params["branch_jaxprs"]
        needed = set[int]().union(*(self.needed(branch, sorted(wanted)) for branch in branches))
        return [equation.invars[0], *(equation.invars[1 + k] for k in needed)]


_RULES: Mapping[str, Any] = {
    "for_loop": _Liveness.for_loop,
    "while_loop": _Liveness.while_loop,
    "switch": _Liveness.switch,
}


def _is_kept(equation: Equation) -> bool:
    """Whether an equation does something that nobody need read, or says how large things are."""
    table = dimension_table()
    sizes = any(table.symbols_of(variable) for variable in equation.outvars)
    return bool(equation.effects) or touches_register(equation) or sizes


def _jaxprs(equation: Equation) -> list[ClosedJaxpr]:
    found: list[ClosedJaxpr] = []

    def note(inner: ClosedJaxpr) -> ClosedJaxpr:
        found.append(inner)
        return inner

    with_jaxprs(equation.params, note)
    return found


# --- channels instead ----------------------------------------------------------------------------


def _replaced(closed: ClosedJaxpr, reads: Mapping[int, bool]) -> ClosedJaxpr:
    equations: list[Equation] = []
    for equation in closed.jaxpr.eqns:
        if reads.get(id(equation), True):
            params = with_jaxprs(equation.params, lambda inner: _replaced(inner, reads))
            same = params is equation.params
            equations.append(equation if same else equation.replace(params=params))
            continue
        equations += _channel(equation)
    return rebuilt(closed, closed.jaxpr.invars, equations, closed.jaxpr.outvars)


def _channel(equation: Equation) -> list[Equation]:
    """What gives the same register, and some outcome."""
    word, resets = equation.params["word"], equation.params["reset"]
    wires, operands = equation.params["wires"], equation.invars

    def channel(register: Any, *traced: Any) -> list[Any]:
        remaining = iter(traced)
        positions = [next(remaining) if wire is None else wire for wire in wires]
        forth, back = into_z(word, positions, resets)
        matrix = _transfer_matrix(resets)
        for name, on in forth:
            register = _gate(register, name, on)
        params = {"construct": "measure", "checked": False}
        register = bind_on(superoperator_p, register, positions[-1:], matrix, **params)
        for name, on in back:
            register = _gate(register, name, on)
        return [register]

    with source_context(equation.source_info):
        jaxpr, captured = trace_to_jaxpr(channel, [atom.aval for atom in operands], "measure")
    assert not captured, "an equation in a loop cannot close over arrays"
    after, outcome = equation.outvars
    given = dict(zip(jaxpr.jaxpr.invars, operands, strict=True))
    (result,) = jaxpr.jaxpr.outvars
    made = [
        inner.replace(
            invars=[given.get(a, a) if isinstance(a, Var) else a for a in inner.invars],
            outvars=[after if v is result else v for v in inner.outvars],
        )
        for inner in jaxpr.jaxpr.eqns
    ]
    return [*made, constant_equation(outcome, np.bool_(False))]


def _transfer_matrix(resets: bool) -> Any:
    """Of a measurement in the computational basis, or of a reset; computed, no constant.

    I and Z stay, or Z becomes what I is.
    """
    row, column = (jax.lax.broadcasted_iota(np.int32, (4, 4), axis) for axis in (0, 1))
    kept = (row == 0) | (row == 3)
    return (kept & (column == (0 if resets else row))).astype(np.float64)


def _gate(register: Any, name: str, wires: Sequence[Any]) -> Any:
    return bind_on(gate_p, register, wires, name=name, num_parameters=0, control_values=())
