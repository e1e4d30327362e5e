"""Adjoint differentiation: a register that remembers its operations, and the sweep back."""

# Annotations are the bindings' own language for constraints here, not types.
# pyright: reportInvalidTypeForm=false, reportInvalidTypeArguments=false

from diastase_mlir.bindings import ext, ir
from diastase_mlir.dialects.quantum.dialect import Integer, Quantum, Register, Tensor


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
