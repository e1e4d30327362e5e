"""Join the global phases of one block into one, the last.

    %1 = quantum.global_phase(%0, %a)                  %c = arith.addf %a, %b
    …                                          ->      …
    %3 = quantum.global_phase(%2, %b)                  %3 = quantum.global_phase(%2, %c)

A phase commutes with everything but an operation that reads the whole register in between, so what
such an operation separates is joined apart. Loops and branches are blocks of their own: each keeps
one. A sum known to be zero goes altogether.
"""

from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.passes.circuits.circuit import Block, Circuit
from diastase_mlir.passes.circuits.registry import register_pass
from diastase_mlir.passes.circuits.values import add, as_value, is_zero
from diastase_mlir.passes.operations import REGISTERS, operations_in

_PHASE = "quantum.global_phase"
_COMMUTING = frozenset({
    "quantum.extract", "quantum.insert", "quantum.gate", "quantum.unitary", "quantum.measure",
    "quantum.check_wires", "quantum.kraus", "quantum.superoperator", "quantum.replace",
})  # fmt: skip


@register_pass("combine_global_phases", built_in=True)
def combine_global_phases(circuit: Circuit) -> None:
    """One global phase for each block."""
    circuit.refresh()
    for block in circuit.blocks:
        for phases in _joinable(block):
            _join(phases)
    circuit.stale = True


def _joinable(block: Block) -> list[list[Any]]:
    groups: list[list[Any]] = [[]]
    for operation in block.operations:
        name = operation.operation.name
        if name == _PHASE:
            groups[-1].append(operation)
        elif not _commutes(operation.operation):
            groups.append([])
    return [phases for phases in groups if phases]


def _commutes(operation: Any) -> bool:
    """Whether a phase after the operation, and all inside of it, is as good as one before."""
    return not any(map(_reads, operations_in(operation)))


def _reads(operation: Any) -> bool:
    """Whether an operation, without those inside of it, reads the whole register."""
    if operation.name.startswith("quantum."):
        return operation.name not in _COMMUTING and operation.name != _PHASE
    is_loop = operation.name.startswith("scf.")
    return not is_loop and any(str(value.type) in REGISTERS for value in operation.operands)


def _join(phases: list[Any]) -> None:
    last = phases[-1]
    with ir.InsertionPoint(last), last.operation.location:
        total: Any = phases[0].phi
        for phase in phases[1:]:
            total = add(total, phase.phi)
        if not is_zero(total):
            last.operation.operands[1] = as_value(total)
    for phase in phases if is_zero(total) else phases[:-1]:
        phase.result.replace_all_uses_with(phase.register)
        phase.operation.erase()
