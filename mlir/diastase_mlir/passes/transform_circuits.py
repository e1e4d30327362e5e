"""Run the passes that circuits are marked with, each on its own circuit.

    %0 = quantum.alloc(%n) {passes = [{name = "cancel_inverses", options = {}}], site = 0}

The mark is an attribute of the circuit's allocation; it is gone afterwards. Equal angles and wires
are made one value first (CSE, which at the end removes what is no longer used), and qubits are
forwarded to their next gates, so that gates meet. A module without marks is left as it is.

After a pass of the user's own the circuit is checked: every bit is used once. What breaks this is
refused here, since nothing later could see it.
"""

from typing import TYPE_CHECKING, Any

from diastase_mlir.bindings import ir, run_passes
from diastase_mlir.lazy_module import LazyModule
from diastase_mlir.stages import PassError

if TYPE_CHECKING:
    from diastase_mlir.passes.circuits import circuit as circuits
    from diastase_mlir.passes.circuits import forwarding, registry, tidying
else:  # few programs have passes on circuits
    circuits = LazyModule("diastase_mlir.passes.circuits.circuit")
    forwarding = LazyModule("diastase_mlir.passes.circuits.forwarding")
    registry = LazyModule("diastase_mlir.passes.circuits.registry")
    tidying = LazyModule("diastase_mlir.passes.circuits.tidying")

MARK = "passes"


def transform_circuits(module: ir.Module) -> None:
    """Transform every circuit that asks for it."""
    if not _marked(module):
        return
    run_passes("cse", module)
    for allocation in _marked(module):
        attributes = allocation.operation.attributes
        passes = [(call["name"].value, call["options"]) for call in attributes[MARK]]
        del attributes[MARK]
        circuit = circuits.Circuit.of(allocation)
        for name, options in passes:
            _run(name, {option.name: option.attr.value for option in options}, circuit)
        tidying.tidy(circuit)
    run_passes("cse", module)


def _marked(module: ir.Module) -> list[Any]:
    found: list[Any] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name == "quantum.alloc" and MARK in operation.attributes:
            found.append(operation.opview)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def _run(name: str, options: dict[str, Any], circuit: "circuits.Circuit") -> None:
    place = circuit.allocation.operation.location
    if name not in registry.PASSES:  # in a reproducer, which knows nothing of the user's own
        raise PassError(f"there is no pass named {name} in this process", place)
    forwarding.forward_qubits(circuit)
    registry.PASSES[name].run(circuit, options)
    if not registry.PASSES[name].built_in:
        circuit.collect()
        _check_that_bits_are_used_once(circuit, name)


def _check_that_bits_are_used_once(circuit: "circuits.Circuit", name: str) -> None:
    for operation in circuit.members:
        for value in operation.results:
            if str(value.type) == circuits.BIT and len(list(value.uses)) != 1:
                reason = f"after the pass {name} a qubit is not used exactly once"
                raise PassError(reason, operation.location)
