"""Operations that only density matrices have: channels, parts of them, seeds of a sweep back.

A channel is a real matrix in the basis of Pauli words (`primitives.mixed` of the frontend says
which). Qubits of all registers have one type, so whether they belong to a density matrix shows in
the register that they were taken from; lowering makes sure.
"""

# Annotations are the bindings' own language for constraints here, not types.
# pyright: reportInvalidTypeForm=false, reportInvalidTypeArguments=false

from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import ext, ir
from diastase_mlir.dialects.quantum.dialect import (
    BitType,
    Mixed,
    Quantum,
    Real,
    Tensor,
    check_observable_matrix,
    check_pauli_words,
    check_square_matrix,
    check_transfer_matrix,
    fail,
)


class SuperoperatorOp(Quantum.Operation, name="superoperator"):
    """A transfer matrix; where `checked`, an error unless it preserves the trace."""

    matrix: ext.Operand[Tensor]
    targets: Sequence[ext.Operand[BitType]]
    checked: ir.IntegerAttr
    site: ir.IntegerAttr
    bits: Sequence[ext.Result[BitType]]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """Compare the matrix with the number of targets."""
        wires = len(operation.targets)
        if len(operation.operation.results) != wires:
            return fail(operation, f"{wires} bits go in, as many must come out")
        reason = check_transfer_matrix(operation.matrix, wires)
        return fail(operation, reason) if reason else True


class ReplaceOp(Quantum.Operation, name="replace"):
    """Trace qubits out, and put a density matrix there; the first one is the most significant."""

    matrix: ext.Operand[Tensor]
    targets: Sequence[ext.Operand[BitType]]
    site: ir.IntegerAttr
    bits: Sequence[ext.Result[BitType]]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """A row for each basis state."""
        wires = len(operation.targets)
        if len(operation.operation.results) != wires:
            return fail(operation, f"{wires} bits go in, as many must come out")
        reason = check_square_matrix(operation.matrix, wires)
        return fail(operation, reason) if reason else True


class HalfOp(Quantum.Operation, name="half"):
    """A new register, with one derivative wire less: that part where the first one is `which`."""

    register: ext.Operand[Mixed]
    which: ir.IntegerAttr
    site: ir.IntegerAttr
    result: ext.Result[Mixed]


class SquarePauliOp(Quantum.Operation, name="square_pauli"):
    """Expectation of the square of a sum of Pauli words, given like in `expval_pauli`."""

    register: ext.Operand[Mixed]
    coefficients: ext.Operand[Tensor]
    wires: ext.Operand[Tensor]
    offsets: Any
    paulis: Any
    site: ir.IntegerAttr
    value: ext.Result[Real]
    verify_invariants = staticmethod(check_pauli_words)


class AddPauliWordsOp(Quantum.Operation, name="add_pauli_words"):
    """Add the vector of which the product with a state is the expectation of a sum of words."""

    register: ext.Operand[Mixed]
    coefficients: ext.Operand[Tensor]
    wires: ext.Operand[Tensor]
    offsets: Any
    paulis: Any
    site: ir.IntegerAttr
    result: ext.Result[Mixed]
    verify_invariants = staticmethod(check_pauli_words)


class AddOperatorOp(Quantum.Operation, name="add_operator"):
    """The same for a Hermitian matrix on some wires."""

    register: ext.Operand[Mixed]
    matrix: ext.Operand[Tensor]
    wires: ext.Operand[Tensor]
    site: ir.IntegerAttr
    result: ext.Result[Mixed]
    verify_invariants = staticmethod(check_observable_matrix)


class AddDiagonalOp(Quantum.Operation, name="add_diagonal"):
    """The same for a diagonal matrix, a number for each outcome; no wires: on all."""

    register: ext.Operand[Mixed]
    elements: ext.Operand[Tensor]
    wires: ext.Operand[Tensor]
    site: ir.IntegerAttr
    result: ext.Result[Mixed]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """A number for each outcome."""
        wires = ir.RankedTensorType(operation.wires.type).shape[0]
        kind = ir.RankedTensorType(operation.elements.type)
        if str(kind.element_type) != "f64" or kind.rank != 1:
            return fail(operation, f"the elements are a vector of f64, not {kind}")
        if wires and list(kind.shape) != [2**wires]:
            return fail(operation, f"{wires} wires have {2**wires} outcomes")
        return True
