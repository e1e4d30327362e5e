"""Operations on whole registers: their life, their qubits, and registers as vectors.

Copies, sums, inner products, and operators that are no gates, whose results need not be states of
norm 1. For adjoint differentiation a register records its operations, and a sweep goes back over
them.
"""

# Annotations are the bindings' own language for constraints here, not types.
# pyright: reportInvalidTypeForm=false, reportInvalidTypeArguments=false

from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import ext, ir
from diastase_mlir.dialects.quantum.dialect import (
    BitType,
    Integer,
    LaneRegisterType,
    Quantum,
    Register,
    Tensor,
    check_pauli_words,
    fail,
)


class AllocOp(Quantum.Operation, name="alloc"):
    """A new register with all qubits in |0>."""

    num_wires: ext.Operand[Integer]
    site: ir.IntegerAttr
    register: ext.Result[Register]


class ReleaseOp(Quantum.Operation, name="release"):
    """The end of a register."""

    register: ext.Operand[Register | LaneRegisterType]


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


class CopyOp(Quantum.Operation, name="copy"):
    """A second register, with the same amplitudes or, if `blank`, with zeros."""

    register: ext.Operand[Register]
    blank: ir.IntegerAttr
    site: ir.IntegerAttr
    result: ext.Result[Register]


class AddScaledOp(Quantum.Operation, name="add_scaled"):
    """`target + factor source`; the source is only read."""

    target: ext.Operand[Register]
    source: ext.Operand[Register]
    factor: ext.Operand[Tensor]
    site: ir.IntegerAttr
    result: ext.Result[Register]


class AddPauliSumOp(Quantum.Operation, name="add_pauli_sum"):
    """`target + O source` for a sum of Pauli words, given like in `expval_pauli`."""

    target: ext.Operand[Register]
    source: ext.Operand[Register]
    coefficients: ext.Operand[Tensor]
    wires: ext.Operand[Tensor]
    offsets: Any
    paulis: Any
    site: ir.IntegerAttr
    result: ext.Result[Register]
    verify_invariants = staticmethod(check_pauli_words)


class InnerProductOp(Quantum.Operation, name="inner_product"):
    """<bra|ket>; both are only read."""

    bra: ext.Operand[Register]
    ket: ext.Operand[Register]
    site: ir.IntegerAttr
    value: ext.Result[Tensor]


class ApplySparseOp(Quantum.Operation, name="apply_sparse"):
    """A sparse matrix in CSR form, applied to some wires; its columns are in range."""

    register: ext.Operand[Register]
    row_starts: ext.Operand[Tensor]
    columns: ext.Operand[Tensor]
    values: ext.Operand[Tensor]
    wires: ext.Operand[Tensor]
    site: ir.IntegerAttr
    result: ext.Result[Register]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """A start for each row and one more, as many values as columns."""
        wires = ir.RankedTensorType(operation.wires.type).shape[0]
        entries = ir.RankedTensorType(operation.columns.type).shape[0]
        if str(operation.row_starts.type) != f"tensor<{2**wires + 1}xi64>":
            return fail(operation, f"{wires} wires need tensor<{2**wires + 1}xi64> as row starts")
        if str(operation.columns.type) != f"tensor<{entries}xi64>":
            return fail(operation, "columns are 64-bit integers")
        if str(operation.values.type) != f"tensor<{entries}xcomplex<f64>>":
            return fail(operation, f"{entries} columns need tensor<{entries}xcomplex<f64>>")
        return True


class ProjectOnOp(Quantum.Operation, name="project_on"):
    """|v><v| for a vector of some wires."""

    register: ext.Operand[Register]
    vector: ext.Operand[Tensor]
    wires: ext.Operand[Tensor]
    site: ir.IntegerAttr
    result: ext.Result[Register]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """An amplitude for each value of the wires."""
        wires = ir.RankedTensorType(operation.wires.type).shape[0]
        if str(operation.vector.type) != f"tensor<{2**wires}xcomplex<f64>>":
            return fail(operation, f"{wires} wires need tensor<{2**wires}xcomplex<f64>>")
        return True


class RecordOp(Quantum.Operation, name="record"):
    """From here on all operations are kept."""

    register: ext.Operand[Register]
    site: ir.IntegerAttr
    result: ext.Result[Register]


class DifferentiatedOp(Quantum.Operation, name="differentiated"):
    """The array of the next operation has derivatives."""

    register: ext.Operand[Register]
    result: ext.Result[Register]


class TapeLengthOp(Quantum.Operation, name="tape_length"):
    """How many derivatives a sweep gives."""

    register: ext.Operand[Register]
    length: ext.Result[Integer]


class SweepOp(Quantum.Operation, name="sweep"):
    """Derivatives by the parameters of all operations that were kept, and zeros up to a size."""

    register: ext.Operand[Register]
    adjoint: ext.Operand[Register]
    size: ext.Operand[Integer]
    site: ir.IntegerAttr
    result: ext.Result[Tensor]


class SetAmplitudesOp(Quantum.Operation, name="set_amplitudes"):
    """All amplitudes written, wire 0 most significant."""

    register: ext.Operand[Register]
    amplitudes: ext.Operand[Tensor]
    result: ext.Result[Register]
