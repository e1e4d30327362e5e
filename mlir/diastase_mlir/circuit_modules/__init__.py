"""One circuit as an MLIR module of its own, for the passes that its QNode asks for, and back.

    the jaxpr of a QNode's body
      │  write.py      quantum operations, loops and branches; all else opaque, by number
      ▼
    a module:  func.func @circuit
      │  transform.py  the passes (`passes/circuits`)
      ▼
    the same module, with other gates
      │  read.py
      ▼
    a jaxpr again

It is done as soon as the body has been traced. So whatever is made of the circuit after that
(derivatives, shots, batches, tables of gates) is made of what the passes have left, and nobody else
knows that there were any.
"""

from diastase_mlir.circuit_modules.transform import STAGE, TracedBody, run_again, transform_circuit
from diastase_mlir.circuit_modules.written_values import MOVING

__all__ = ["MOVING", "STAGE", "TracedBody", "run_again", "transform_circuit"]
