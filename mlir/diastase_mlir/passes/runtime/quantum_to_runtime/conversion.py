"""The state of the conversion, and the arguments that several calls of the engine share.

A bit is a `Qubit`: the register that it came from, and the number of its wire. A rule takes the
qubits of its operands from the `Conversion` and says which qubits its results are.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.passes.runtime.engine_calls import RuntimeCalls


@dataclass(frozen=True)
class Qubit:
    """What a bit has become."""

    register: ir.Value
    wire: ir.Value


@dataclass
class Conversion:
    """The state of converting one module."""

    calls: RuntimeCalls
    qubits: dict[ir.Value, Qubit]

    def qubits_of(self, operation: Any) -> tuple[list[Qubit], list[Qubit]]:
        """Targets and controls of a gate; its results become the same qubits."""
        targets = [self.qubits[bit] for bit in operation.targets]
        controls = [self.qubits[bit] for bit in operation.controls]
        for result, qubit in zip(operation.results, [*targets, *controls], strict=True):
            self.qubits[result] = qubit
        return targets, controls


Rule = Callable[[Any, Conversion], None]
"""Converts one operation, at the current insertion point."""


def pauli_tables(operation: Any, calls: RuntimeCalls) -> list[ir.Value]:
    """The site, the number of words, coefficients, offsets, letters and wires."""
    offsets = list(ir.DenseI64ArrayAttr(operation.offsets))
    paulis = list(ir.DenseI64ArrayAttr(operation.paulis))
    return [
        calls.site(operation),
        calls.integer(len(offsets) - 1),
        calls.array(operation.coefficients),
        calls.constant_integers(offsets),
        calls.constant_integers(paulis),
        calls.array(operation.wires),
    ]


def on_wires(operation: Any, calls: RuntimeCalls) -> list[ir.Value]:
    """The register, the site, the number of wires and their table."""
    number = ir.RankedTensorType(operation.wires.type).shape[0]
    head = [operation.register, calls.site(operation), calls.integer(number)]
    return [*head, calls.array(operation.wires)]
