"""A gate of a circuit as a pass sees it, and the gate that it wants in its place.

`Gate` is a view of one `quantum.gate` or `quantum.unitary`; it holds nothing of its own, so it is
valid as long as the operation is. Its *bits* are what it acts on, targets first, then controls; its
*results* are the same qubits afterwards, in the same order. `before` is the gate before it on all
of its bits, which is what most patterns ask for.

`New` says what a gate is replaced by: qubits are given as positions among the bits of the (first)
gate that goes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.bindings.operations import create
from diastase_mlir.passes.circuits.values import Number, defining

UNITARY = "QubitUnitary"
"""The name of a gate that is given by its matrix."""


@dataclass(frozen=True)
class Gate:
    """A gate on the bits that it acts on."""

    operation: Any
    """The MLIR operation."""

    @property
    def name(self) -> str:
        """PennyLane's name, as in the gate table."""
        if self.operation.operation.name == "quantum.unitary":
            return UNITARY
        return self.operation.gate_name.value

    @property
    def parameters(self) -> list[ir.Value]:
        """Angles; none where the gate is given by its matrix."""
        return [] if self.name == UNITARY else list(self.operation.parameters)

    @property
    def matrix(self) -> ir.Value:
        """The matrix of a gate that is given by it."""
        return self.operation.matrix

    @property
    def targets(self) -> list[ir.Value]:
        """The bits that it acts on; of `CNOT` and the like both, the control first."""
        return list(self.operation.targets)

    @property
    def controls(self) -> list[ir.Value]:
        """The bits that control it."""
        return list(self.operation.controls)

    @property
    def control_values(self) -> list[bool]:
        """The values of the controls at which it acts."""
        return list(ir.DenseBoolArrayAttr(self.operation.control_values))

    @property
    def bits(self) -> list[ir.Value]:
        """All bits, targets before controls."""
        return [*self.targets, *self.controls]

    @property
    def results(self) -> list[ir.Value]:
        """The same qubits after the gate, in the order of `bits`."""
        return list(self.operation.operation.results)

    @property
    def before(self) -> "Gate | None":
        """The gate before this one, if it acts on exactly the same qubits, in any order."""
        bits = self.bits
        gates = [gate_before(bit) for bit in bits]
        first = gates[0]
        if first is None or len(first.results) != len(bits):
            return None
        return first if all(gate == first for gate in gates) else None


def gate_before(bit: ir.Value) -> Gate | None:
    """The gate that a bit comes from; None where it was just extracted or measured."""
    operation = defining(bit)
    if operation is None or operation.name not in ("quantum.gate", "quantum.unitary"):
        return None
    return Gate(operation.opview)


@dataclass(frozen=True)
class New:
    """A gate to be made: of the gate table, on positions among the bits of the gate that goes."""

    name: str
    wires: Sequence[int]
    parameters: Sequence[Number] = ()
    controls: Sequence[int] = ()
    control_values: Sequence[bool] = ()

    @staticmethod
    def like(gate: Gate, parameters: Sequence[Number]) -> "New":
        """The same gate with other parameters."""
        targets, controls = len(gate.targets), len(gate.controls)
        return New(
            gate.name,
            range(targets),
            parameters,
            range(targets, targets + controls),
            gate.control_values,
        )

    def create(self, bits: Sequence[ir.Value], parameters: Sequence[ir.Value], site: Any) -> Any:
        """Make it on these bits at the current insertion point."""
        values = list(self.control_values) or [True] * len(self.controls)
        attributes: dict[str, ir.Attribute] = {
            "gate_name": ir.StringAttr.get(self.name),
            "site": site,
            "control_values": ir.DenseBoolArrayAttr.get(values),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get(
                [len(parameters), len(self.wires), len(self.controls)]
            ),
        }
        taken = [bits[position] for position in (*self.wires, *self.controls)]
        types = [bit.type for bit in taken]
        return create("quantum.gate", types, [*parameters, *taken], attributes)
