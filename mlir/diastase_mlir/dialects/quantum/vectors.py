"""Registers as vectors: copies, sums, inner products, and operators that are no gates.

The results need not be states of norm 1.
"""

# Annotations are the bindings' own language for constraints here, not types.
# pyright: reportInvalidTypeForm=false, reportInvalidTypeArguments=false

from typing import Any

from diastase_mlir.bindings import ext, ir
from diastase_mlir.dialects.quantum.checks import check_pauli_words
from diastase_mlir.dialects.quantum.dialect import Quantum, Register, Tensor, fail


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
