"""What the circuits of a program are made of, counted in its jaxpr: gates, measurements, qubits.

A loop whose number of turns is known counts as often, any other one once; of branches all count.
A register whose size is known only at run time counts as unknown.
"""

from dataclasses import dataclass

from jax.extend.core import ClosedJaxpr, Jaxpr

from diastase.inspection.costs import turns_of
from diastase.primitives.define import Role, has_role
from diastase_mlir.jax_compat import jaxprs_in

_AMPLITUDE, _SINGLE = 16, 8
"""Bytes of a complex128, and of a complex64."""


@dataclass(frozen=True)
class CircuitCosts:
    """Counts over all circuits of a program."""

    circuits: int = 0
    gates: int = 0
    """As the program applies them, before any are fused."""
    measurements: int = 0
    """Those in the midst of circuits, which collapse the state."""
    qubits: int | None = 0
    """Of the largest register; None where one is known only at run time."""
    largest_state: int = 0
    """Its bytes, or those of a smaller register of more precision."""

    @property
    def state_bytes(self) -> int | None:
        """Memory of the largest state, which is alive while its circuit runs."""
        if self.qubits is None:
            return None
        return self.largest_state

    def plus(self, other: "CircuitCosts", turns: int) -> "CircuitCosts":
        """Add what another part of the program has, so many times."""
        known = self.qubits is not None and other.qubits is not None
        return CircuitCosts(
            self.circuits + turns * other.circuits,
            self.gates + turns * other.gates,
            self.measurements + turns * other.measurements,
            max(self.qubits or 0, other.qubits or 0) if known else None,
            max(self.largest_state, other.largest_state),
        )


def circuit_costs_of(jaxpr: ClosedJaxpr | Jaxpr) -> CircuitCosts:
    """Count the circuits of a program."""
    total = CircuitCosts()
    for equation in (jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr).eqns:
        name = equation.primitive.name
        if has_role(equation, Role.GATE):
            total = total.plus(CircuitCosts(gates=1), 1)
        elif has_role(equation, Role.OUTCOME):
            total = total.plus(CircuitCosts(measurements=1), 1)
        elif name == "allocate_qubits":
            # None stands for a number that is the equation's operand.
            qubits = equation.params["num_wires"]
            number = qubits if isinstance(qubits, int) else None
            amplitude = _SINGLE if equation.params.get("single") else _AMPLITUDE
            size = 0 if number is None else amplitude * 2**number
            total = total.plus(CircuitCosts(circuits=1, qubits=number, largest_state=size), 1)
        for inner in jaxprs_in(equation.params):
            total = total.plus(circuit_costs_of(inner), turns_of(equation))
    return total
