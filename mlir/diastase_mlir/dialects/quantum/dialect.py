"""The dialect itself, its types, and what verifiers of several operations check.

The operations are defined on top of this, in modules that the package imports: an operation is
registered when its class is made. A check gives what is wrong, if anything, or reports it and gives
the verifier's answer; it looks at types and attributes only.
"""

# Annotations are the bindings' own language for constraints here, not types.
# pyright: reportInvalidTypeForm=false, reportInvalidTypeArguments=false

from itertools import pairwise
from typing import Any

from diastase_mlir.bindings import ext, ir
from diastase_runtime.gate_table import PAULI_CODES

Tensor = ir.RankedTensorType
Integer = ir.IntegerType[64] | Tensor
Boolean = ir.IntegerType[1] | Tensor
Real = ir.F64Type | Tensor
"""Numbers: arrays of rank 0 as lowering emits them, scalars after the pass `scalarize`."""


class Quantum(ext.Dialect, name="quantum"):
    """Qubits, gates and measurements on state vectors."""


class RegisterType(Quantum.Type, name="register"):
    """A state vector, of amplitudes in double precision."""


class SingleRegisterType(Quantum.Type, name="single_register"):
    """A state vector, of amplitudes in single precision."""


class MixedRegisterType(Quantum.Type, name="mixed_register"):
    """A density matrix, in double precision."""


class SingleMixedRegisterType(Quantum.Type, name="single_mixed_register"):
    """A density matrix, in single precision."""


class LaneRegisterType(Quantum.Type, name="lane_register"):
    """State vectors side by side in the lanes of vectors, in double precision (`lanes`)."""


Mixed = MixedRegisterType | SingleMixedRegisterType
Register = RegisterType | SingleRegisterType | Mixed


class BitType(Quantum.Type, name="bit"):
    """One qubit of a register, taken out of it."""


def fail(operation: ir.Operation, reason: str) -> bool:
    """Report why an operation is not valid; the verifier's answer."""
    operation.location.emit_error(f"'{operation.name}': {reason}")
    return False


def check_controls(operation: Any) -> str | None:
    """What is wrong with the controls and results of a gate, if anything."""
    controls = len(operation.controls)
    if len(ir.DenseBoolArrayAttr(operation.control_values)) != controls:
        return f"{controls} controls need {controls} control values"
    bits = len(operation.targets) + controls
    if len(operation.operation.results) != bits:
        return f"{bits} bits go in, {len(operation.operation.results)} come out"
    return None


def check_square_matrix(matrix: ir.Value, wires: int) -> str | None:
    """Whether a value is a matrix on so many wires."""
    matrix_type = ir.RankedTensorType(matrix.type)
    if str(matrix_type.element_type) != "complex<f64>":
        return f"the matrix must be complex<f64>, not {matrix_type.element_type}"
    if matrix_type.rank != 2 or matrix_type.has_static_shape is False:
        return "the matrix must have two static dimensions"
    if list(matrix_type.shape) != [2**wires] * 2:
        return f"a matrix on {wires} wires cannot have the shape {list(matrix_type.shape)}"
    return None


def check_transfer_matrix(matrix: ir.Value, wires: int) -> str | None:
    """Whether a value is a transfer matrix on so many wires, of which some may have one bit."""
    kind = ir.RankedTensorType(matrix.type)
    if str(kind.element_type) != "f64" or kind.rank != 2 or not kind.has_static_shape:
        return f"a transfer matrix is a static tensor of f64, not {kind}"
    rows, columns = kind.shape
    if rows != columns or rows not in {2**bits for bits in range(wires, 2 * wires + 1)}:
        return f"a transfer matrix on {wires} wires cannot have the shape {list(kind.shape)}"
    return None


def check_vector(vector: ir.Value, wires: int) -> str | None:
    """Whether a value has a complex number for each basis state of so many wires."""
    if str(vector.type) == f"tensor<{2**wires}xcomplex<f64>>":
        return None
    return f"{wires} wires need {2**wires} complex<f64>, not {vector.type}"


def check_pauli_words(operation: Any) -> bool:
    """Check that the tables of a sum of Pauli words fit together."""
    if not check_words(operation):
        return False
    terms = len(ir.DenseI64ArrayAttr(operation.offsets)) - 1
    if str(operation.coefficients.type) != f"tensor<{terms}xf64>":
        return fail(operation, f"{terms} terms need tensor<{terms}xf64> as coefficients")
    return True


def check_words(operation: Any) -> bool:
    """Check that the tables of Pauli words fit together."""
    offsets = list(ir.DenseI64ArrayAttr(operation.offsets))
    paulis = list(ir.DenseI64ArrayAttr(operation.paulis))
    if not offsets or offsets[0] != 0 or offsets[-1] != len(paulis):
        return fail(operation, "offsets must run from 0 to the number of Pauli factors")
    if any(start > end for start, end in pairwise(offsets)):
        return fail(operation, "offsets must not decrease")
    if not set(paulis) <= set(PAULI_CODES.values()):
        return fail(operation, "a Pauli factor is 1 (X), 2 (Y) or 3 (Z)")
    if str(operation.wires.type) != f"tensor<{len(paulis)}xi64>":
        return fail(operation, f"{len(paulis)} factors need tensor<{len(paulis)}xi64> as wires")
    return True


def check_observable_matrix(operation: Any) -> bool:
    """Check that the matrix fits the wires."""
    wires = ir.RankedTensorType(operation.wires.type)
    reason = check_square_matrix(operation.matrix, wires.shape[0])
    return fail(operation, reason) if reason else True


def check_sizes(operation: Any) -> bool:
    """Check that the sizes of a result that its type does not tell are given."""
    shape = ir.RankedTensorType(operation.result.type)
    unknown = sum(shape.is_dynamic_dim(axis) for axis in range(shape.rank))
    if len(operation.sizes) != unknown:
        return fail(operation, f"{unknown} sizes of the result are not known")
    return True
