"""What passes leave behind and nobody needs: qubits taken out for nothing, checks made before."""

from typing import Any

from diastase_mlir.passes.circuits.circuit import Circuit
from diastase_mlir.passes.circuits.forwarding import Wire, wire_key
from diastase_mlir.passes.circuits.gates import Gate
from diastase_mlir.passes.circuits.values import defining


def tidy(circuit: Circuit) -> None:
    """Remove extractions that are put back unchanged, and checks of what is known to be so."""
    circuit.refresh()
    for block in circuit.blocks:
        checked: set[frozenset[Wire]] = set()
        for operation in block.operations:
            name = operation.operation.name
            if name == "quantum.insert":
                _remove_if_idle(operation)
                circuit.stale = True
            elif name == "quantum.check_wires":
                wires = frozenset(map(wire_key, list(operation.operation.operands)[1:]))
                if any(wires <= others for others in checked):
                    operation.operation.erase()
                    circuit.stale = True
                checked.add(wires)
            elif name in ("quantum.gate", "quantum.unitary"):
                bits = Gate(operation).bits
                checked.add(frozenset(wire_key(circuit.wires[bit][1]) for bit in bits))


def _remove_if_idle(insert: Any) -> None:
    extract = defining(insert.bit)
    if extract is None or extract.name != "quantum.extract":
        return
    if wire_key(extract.operands[1]) != wire_key(insert.wire):
        return
    insert.result.replace_all_uses_with(insert.register)
    insert.operation.erase()
    extract.erase()
