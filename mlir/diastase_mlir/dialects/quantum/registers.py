"""Operations on whole registers: their life, their qubits, and what is checked of wires."""

# Annotations are the bindings' own language for constraints here, not types.
# pyright: reportInvalidTypeForm=false, reportInvalidTypeArguments=false

from collections.abc import Sequence

from diastase_mlir.bindings import ext, ir
from diastase_mlir.dialects.quantum.dialect import BitType, Integer, Quantum, Register


class AllocOp(Quantum.Operation, name="alloc"):
    """A new register with all qubits in |0>."""

    num_wires: ext.Operand[Integer]
    site: ir.IntegerAttr
    register: ext.Result[Register]


class ReleaseOp(Quantum.Operation, name="release"):
    """The end of a register."""

    register: ext.Operand[Register]


class ExtractOp(Quantum.Operation, name="extract"):
    """Take a qubit out of a register."""

    register: ext.Operand[Register]
    wire: ext.Operand[Integer]
    bit: ext.Result[BitType]


class InsertOp(Quantum.Operation, name="insert"):
    """Put a qubit back into the register and the wire that it came from."""

    register: ext.Operand[Register]
    wire: ext.Operand[Integer]
    bit: ext.Operand[BitType]
    result: ext.Result[Register]


class CheckWiresOp(Quantum.Operation, name="check_wires"):
    """Check that wires exist and differ, where a gate that would have checked it is gone.

    It only asks how many qubits there are, so any register of the circuit will do, also one that
    another operation takes.
    """

    register: ext.Operand[Register]
    wires: Sequence[ext.Operand[Integer]]
    site: ir.IntegerAttr


class FollowOp(Quantum.Operation, name="follow"):
    """From here on measurements find their outcomes in a script, an address; 0 is none."""

    register: ext.Operand[Register]
    script: ext.Operand[Integer]
    result: ext.Result[Register]
