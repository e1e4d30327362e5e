"""The `quantum` dialect: qubits as values, on top of registers.

A *register* is a state vector, of another type where its amplitudes are in single precision
(`!quantum.single_register`), or a density matrix (`!quantum.mixed_register`,
`!quantum.single_mixed_register`); a *bit* is one of its qubits, taken out by `extract` and put back
by `insert`. Gates and measurements consume bits and give new ones, so the data flow between two
gates on a wire is a def-use edge. Every value of these types is used linearly: after an operation
has taken a register or a bit, only its result may be used. Bits never cross a region boundary.
Small state vectors side by side (`!quantum.lane_register`) have operations of their own (`lanes`).

    %register = quantum.alloc(%n) {site = 0}
    %a = quantum.extract(%register, %zero)
    %b = quantum.gate(%angle, %a) {gate_name = "RX", control_values = [], site = 1}
    %next = quantum.insert(%register, %zero, %b)
    %energy = quantum.expval_pauli(%next, %coefficients, %wires) {offsets = [...], paulis = [...]}
    quantum.release(%next)

Many gates on known wires, written out one after the other, are one operation on the register:

    %next = quantum.run(%register, %angle) {gates = ["RX 0 : %0", "CNOT 0 1", ...], sites = [...]}

A run with many parameters that are computed alike takes them as one vector, `tensor<20xf64>`. What
a circuit that is run several times keeps between its runs is an outcome script (`measurements`).

`site` indexes the table of places in the user's program; the call context that fallible runtime
functions need is the first argument of the enclosing function, so operations do not carry it.

IRDL checks operand, result and attribute kinds; `verify_invariants` checks what depends on values:
the number of wires and parameters of a named gate, table lengths, matrix shapes.
"""

from diastase_mlir.dialects.quantum import gates, lanes, measurements, mixed, registers
from diastase_mlir.dialects.quantum.dialect import Quantum
from diastase_mlir.dialects.quantum.measurements import SCRIPT_MODES

__all__ = ["SCRIPT_MODES", "Quantum", "gates", "lanes", "measurements", "mixed", "registers"]
