"""Turn the `quantum` dialect into calls of the state-vector engine.

    %1 = quantum.extract(%0, %wire)
    %2 = quantum.gate(%x, %1) {gate_name = "RX", site = 3}
    %3 = quantum.insert(%0, %wire, %2)
    ->
    func.call @diastase_import__engine__gate(%context, %0, %site, %code, %wire, %none, %x, …)

A register becomes the engine's pointer, a bit the number of its wire; the engine changes the state
in place, so the order of the calls, which is that of the operations, now carries the meaning.

Tables (wires, controls, coefficients, matrices) are passed as pointers: constant ones are globals,
integers found at run time go through one stack array per function (made in its entry block, never
in a loop), other arrays are copied into a buffer of their own. The copy is not idle: a read-only
view of a tensor may be merged by CSE with an earlier one, and bufferization, which sees only the
first, may write between the two; `materialize_in_destination` is a read here and now.

The rules are modules by topic, as in the dialect: each has a table `RULES`.
"""

from diastase_mlir.passes.runtime.quantum_to_runtime.convert import quantum_to_runtime

__all__ = ["quantum_to_runtime"]
