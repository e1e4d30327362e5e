"""From a module back to a circuit's jaxpr: what `write` has written, and what passes made of it.

A block is read from its first operation to its last, and the register goes through the equations in
that order. So gates on different qubits may stand in any order, as in the module.

Equations that passes leave alone are the same ones, with the same variables: sizes are known by
them. A gate that a pass has made comes from the line of the one in whose place it stands. Numbers
that only gates needed which are gone are left out.

The trap: what a region closes over is an operand of its equation, and passes may let it close over
more; and over less, so that an angle which no gate takes any more has no derivative, either.
"""

from collections.abc import Mapping

from jax.extend.core import ClosedJaxpr, Primitive

from diastase_mlir.bindings import ir
from diastase_mlir.circuit_modules.blocks import Block, needed
from diastase_mlir.circuit_modules.origin import Origin
from diastase_mlir.circuit_modules.read_control_flow import for_loop, switch, while_loop
from diastase_mlir.circuit_modules.reader import OF_QUBITS, Reader

_RULES = {**OF_QUBITS, "scf.for": for_loop, "scf.while": while_loop, "scf.index_switch": switch}


def read_circuit(
    module: ir.Module, closed: ClosedJaxpr, origin: Origin, primitives: Mapping[str, Primitive]
) -> ClosedJaxpr:
    """Read the module that `closed` was written to."""
    (function,) = module.body.operations
    body = function.operation.regions[0].blocks[0]
    block = Block(atoms=dict(zip(body.arguments, origin.inputs, strict=True)))
    results = Reader(origin, primitives, _RULES).block(body, block)
    jaxpr = closed.jaxpr
    equations = needed(block.equations, results, primitives)
    return closed.replace(jaxpr=jaxpr.replace(eqns=equations, outvars=results))
