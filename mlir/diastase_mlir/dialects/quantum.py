"""The `quantum` dialect: qubits as values, on top of registers.

A *register* is a state vector; a *bit* is one of its qubits, taken out by `extract` and put back by
`insert`. Gates and measurements consume bits and give new ones, so the data flow between two gates
on a wire is a def-use edge. Every value of these types is used linearly: after an operation has
taken a register or a bit, only its result may be used. Bits never cross a region boundary.

    %register = quantum.alloc(%n) {site = 0}
    %a = quantum.extract(%register, %zero)
    %b = quantum.gate(%angle, %a) {gate_name = "RX", control_values = [], site = 1}
    %next = quantum.insert(%register, %zero, %b)
    %energy = quantum.expval_pauli(%next, %coefficients, %wires) {offsets = [...], paulis = [...]}
    quantum.release(%next)

A `quantum.alloc` may have an attribute `passes`: the passes that its circuit is to be given
(`passes/transform_circuits.py`).

`site` indexes the table of places in the user's program; the call context that fallible runtime
functions need is the first argument of the enclosing function, so operations do not carry it.

IRDL checks operand, result and attribute kinds; `verify_invariants` checks what depends on values:
the number of wires and parameters of a named gate, table lengths, matrix shapes.
"""

# Annotations are the bindings' own language for constraints here, not types.
# pyright: reportInvalidTypeForm=false, reportInvalidTypeArguments=false

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from diastase_mlir.bindings import ext, ir
from diastase_mlir.kernels.gate_table import GATES
from diastase_runtime.abi import MAX_SAMPLED_WIRES

Integer = ir.IntegerType[64]
Boolean = ir.IntegerType[1]
Tensor = ir.RankedTensorType

PAULI_CODES = {"X": 1, "Y": 2, "Z": 3}
"""How Pauli matrices are written in `paulis`, as the engine reads them."""


class Quantum(ext.Dialect, name="quantum"):
    """Qubits, gates and measurements on state vectors."""


class RegisterType(Quantum.Type, name="register"):
    """A state vector."""


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


def check_vector(vector: ir.Value, wires: int) -> str | None:
    """Whether a value has a complex number for each basis state of so many wires."""
    if str(vector.type) == f"tensor<{2**wires}xcomplex<f64>>":
        return None
    return f"{wires} wires need {2**wires} complex<f64>, not {vector.type}"


class AllocOp(Quantum.Operation, name="alloc"):
    """A new register with all qubits in |0>."""

    num_wires: ext.Operand[Integer]
    site: ir.IntegerAttr
    register: ext.Result[RegisterType]


class ReleaseOp(Quantum.Operation, name="release"):
    """The end of a register."""

    register: ext.Operand[RegisterType]


class ExtractOp(Quantum.Operation, name="extract"):
    """Take a qubit out of a register."""

    register: ext.Operand[RegisterType]
    wire: ext.Operand[Integer]
    bit: ext.Result[BitType]


class InsertOp(Quantum.Operation, name="insert"):
    """Put a qubit back into the register and the wire that it came from."""

    register: ext.Operand[RegisterType]
    wire: ext.Operand[Integer]
    bit: ext.Operand[BitType]
    result: ext.Result[RegisterType]


class GateOp(Quantum.Operation, name="gate"):
    """A gate of the gate table, with any number of controls; results: targets, then controls."""

    parameters: Sequence[ext.Operand[ir.F64Type]]
    targets: Sequence[ext.Operand[BitType]]
    controls: Sequence[ext.Operand[BitType]]
    gate_name: ir.StringAttr
    control_values: Any
    site: ir.IntegerAttr
    bits: Sequence[ext.Result[BitType]]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """Compare with the gate table."""
        name = operation.gate_name.value
        gate = GATES.get(name)
        if gate is None:
            return fail(operation, f"there is no gate named {name}")
        if len(operation.parameters) != gate.parameters:
            return fail(operation, f"{name} takes {gate.parameters} parameters")
        if gate.wires and len(operation.targets) != gate.wires:
            return fail(operation, f"{name} acts on {gate.wires} wires")
        reason = check_controls(operation)
        return fail(operation, reason) if reason else True


class UnitaryOp(Quantum.Operation, name="unitary"):
    """A gate given by its matrix, with any number of controls; results: targets, then controls."""

    matrix: ext.Operand[Tensor]
    targets: Sequence[ext.Operand[BitType]]
    controls: Sequence[ext.Operand[BitType]]
    control_values: Any
    site: ir.IntegerAttr
    bits: Sequence[ext.Result[BitType]]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """Compare the matrix with the number of targets."""
        reason = check_square_matrix(operation.matrix, len(operation.targets))
        reason = reason or check_controls(operation)
        return fail(operation, reason) if reason else True


class DiagonalOp(Quantum.Operation, name="diagonal"):
    """A gate given by its diagonal, with controls; results: targets, then controls."""

    elements: ext.Operand[Tensor]
    targets: Sequence[ext.Operand[BitType]]
    controls: Sequence[ext.Operand[BitType]]
    control_values: Any
    site: ir.IntegerAttr
    bits: Sequence[ext.Result[BitType]]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """An element for each basis state of the targets."""
        reason = check_vector(operation.elements, len(operation.targets))
        reason = reason or check_controls(operation)
        return fail(operation, reason) if reason else True


class PrepareOp(Quantum.Operation, name="prepare"):
    """Give qubits that are in |0...0> these amplitudes; the first one is the most significant."""

    amplitudes: ext.Operand[Tensor]
    targets: Sequence[ext.Operand[BitType]]
    site: ir.IntegerAttr
    bits: Sequence[ext.Result[BitType]]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """An amplitude for each basis state."""
        wires = len(operation.targets)
        if len(operation.operation.results) != wires:
            return fail(operation, f"{wires} bits go in, as many must come out")
        reason = check_vector(operation.amplitudes, wires)
        return fail(operation, reason) if reason else True


class GlobalPhaseOp(Quantum.Operation, name="global_phase"):
    """Multiply the state by exp(-i phi)."""

    register: ext.Operand[RegisterType]
    phi: ext.Operand[ir.F64Type]
    site: ir.IntegerAttr
    result: ext.Result[RegisterType]


class CheckWiresOp(Quantum.Operation, name="check_wires"):
    """Check that wires exist and differ, where a gate that would have checked it is gone.

    It only asks how many qubits there are, so any register of the circuit will do, also one that
    another operation takes.
    """

    register: ext.Operand[RegisterType]
    wires: Sequence[ext.Operand[Integer]]
    site: ir.IntegerAttr


class FollowOp(Quantum.Operation, name="follow"):
    """From here on measurements find their outcomes in a script, an address; 0 is none."""

    register: ext.Operand[RegisterType]
    script: ext.Operand[Integer]
    result: ext.Result[RegisterType]


class MeasureOp(Quantum.Operation, name="measure"):
    """Measure a qubit in the computational basis; the state collapses.

    `postselect` is the outcome to force, or -1; `reset` puts the qubit back to |0>.
    """

    bit: ext.Operand[BitType]
    reset: ir.IntegerAttr
    postselect: ir.IntegerAttr
    site: ir.IntegerAttr
    result: ext.Result[BitType]
    outcome: ext.Result[Boolean]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """The outcome asked for is one that a measurement can have."""
        if operation.postselect.value not in (-1, 0, 1):
            return fail(operation, "postselect must be 0, 1 or -1 for none")
        return True


def check_pauli_words(operation: Any) -> bool:
    """Check that the tables of a sum of Pauli words fit together."""
    offsets = list(ir.DenseI64ArrayAttr(operation.offsets))
    paulis = list(ir.DenseI64ArrayAttr(operation.paulis))
    terms = len(offsets) - 1
    if terms < 0 or offsets[0] != 0 or offsets[-1] != len(paulis):
        return fail(operation, "offsets must run from 0 to the number of Pauli factors")
    if any(start > end for start, end in pairwise(offsets)):
        return fail(operation, "offsets must not decrease")
    if not set(paulis) <= set(PAULI_CODES.values()):
        return fail(operation, "a Pauli factor is 1 (X), 2 (Y) or 3 (Z)")
    if str(operation.coefficients.type) != f"tensor<{terms}xf64>":
        return fail(operation, f"{terms} terms need tensor<{terms}xf64> as coefficients")
    if str(operation.wires.type) != f"tensor<{len(paulis)}xi64>":
        return fail(operation, f"{len(paulis)} factors need tensor<{len(paulis)}xi64> as wires")
    return True


class ExpvalPauliOp(Quantum.Operation, name="expval_pauli"):
    """Expectation of a sum of Pauli words; term k has the factors `offsets[k]:offsets[k+1]`."""

    register: ext.Operand[RegisterType]
    coefficients: ext.Operand[Tensor]
    wires: ext.Operand[Tensor]
    offsets: Any
    paulis: Any
    site: ir.IntegerAttr
    value: ext.Result[ir.F64Type]
    verify_invariants = staticmethod(check_pauli_words)


class VarPauliOp(Quantum.Operation, name="var_pauli"):
    """Variance of a sum of Pauli words, given like in `expval_pauli`."""

    register: ext.Operand[RegisterType]
    coefficients: ext.Operand[Tensor]
    wires: ext.Operand[Tensor]
    offsets: Any
    paulis: Any
    site: ir.IntegerAttr
    value: ext.Result[ir.F64Type]
    verify_invariants = staticmethod(check_pauli_words)


def check_observable_matrix(operation: Any) -> bool:
    """Check that the matrix fits the wires."""
    wires = ir.RankedTensorType(operation.wires.type)
    reason = check_square_matrix(operation.matrix, wires.shape[0])
    return fail(operation, reason) if reason else True


class ExpvalMatrixOp(Quantum.Operation, name="expval_matrix"):
    """Expectation of a Hermitian matrix on some wires."""

    register: ext.Operand[RegisterType]
    matrix: ext.Operand[Tensor]
    wires: ext.Operand[Tensor]
    site: ir.IntegerAttr
    value: ext.Result[ir.F64Type]
    verify_invariants = staticmethod(check_observable_matrix)


class VarMatrixOp(Quantum.Operation, name="var_matrix"):
    """Variance of a Hermitian matrix on some wires."""

    register: ext.Operand[RegisterType]
    matrix: ext.Operand[Tensor]
    wires: ext.Operand[Tensor]
    site: ir.IntegerAttr
    value: ext.Result[ir.F64Type]
    verify_invariants = staticmethod(check_observable_matrix)


def check_sizes(operation: Any) -> bool:
    """Check that the sizes of a result that its type does not tell are given."""
    shape = ir.RankedTensorType(operation.result.type)
    unknown = sum(shape.is_dynamic_dim(axis) for axis in range(shape.rank))
    if len(operation.sizes) != unknown:
        return fail(operation, f"{unknown} sizes of the result are not known")
    return True


class ProbabilitiesOp(Quantum.Operation, name="probabilities"):
    """Probabilities of the outcomes on some wires, in their order; no wires: on all.

    `sizes` has the length of the result, where its type does not tell it.
    """

    register: ext.Operand[RegisterType]
    wires: ext.Operand[Tensor]
    sizes: Sequence[ext.Operand[Integer]]
    site: ir.IntegerAttr
    result: ext.Result[Tensor]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """A number for each outcome."""
        wires = ir.RankedTensorType(operation.wires.type).shape[0]
        size = ir.RankedTensorType(operation.result.type).shape[0]
        if wires and size != 2**wires:
            return fail(operation, f"{wires} wires have {2**wires} outcomes, not {size}")
        return check_sizes(operation)


class SampleOp(Quantum.Operation, name="sample"):
    """Outcomes of shots on some wires, one integer each; no wires: all. The state stays."""

    register: ext.Operand[RegisterType]
    wires: ext.Operand[Tensor]
    shots: ext.Operand[Integer]
    site: ir.IntegerAttr
    result: ext.Result[Tensor]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """A vector of integers, each with room for all wires."""
        wires = ir.RankedTensorType(operation.wires.type).shape[0]
        result = ir.RankedTensorType(operation.result.type)
        if wires > MAX_SAMPLED_WIRES:
            return fail(operation, f"outcomes on {wires} wires do not fit into an integer")
        if result.rank != 1 or str(result.element_type) != "i64":
            return fail(operation, f"outcomes are a vector of i64, not {result}")
        return True


class StateOp(Quantum.Operation, name="state"):
    """All amplitudes; wire 0 is the most significant bit of the index."""

    register: ext.Operand[RegisterType]
    sizes: Sequence[ext.Operand[Integer]]
    site: ir.IntegerAttr
    result: ext.Result[Tensor]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """The length is known, or given."""
        return check_sizes(operation)


class DensityMatrixOp(Quantum.Operation, name="density_matrix"):
    """The density matrix of some wires, the others traced out."""

    register: ext.Operand[RegisterType]
    wires: ext.Operand[Tensor]
    site: ir.IntegerAttr
    result: ext.Result[Tensor]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """A row for each outcome."""
        wires = ir.RankedTensorType(operation.wires.type).shape[0]
        reason = check_square_matrix(operation.result, wires)
        return fail(operation, reason) if reason else True


class CopyOp(Quantum.Operation, name="copy"):
    """A second register, with the same amplitudes or, if `blank`, with zeros."""

    register: ext.Operand[RegisterType]
    blank: ir.IntegerAttr
    site: ir.IntegerAttr
    result: ext.Result[RegisterType]


class AddScaledOp(Quantum.Operation, name="add_scaled"):
    """`target + factor source`; the source is only read."""

    target: ext.Operand[RegisterType]
    source: ext.Operand[RegisterType]
    factor: ext.Operand[Tensor]
    site: ir.IntegerAttr
    result: ext.Result[RegisterType]


class AddPauliSumOp(Quantum.Operation, name="add_pauli_sum"):
    """`target + O source` for a sum of Pauli words, given like in `expval_pauli`."""

    target: ext.Operand[RegisterType]
    source: ext.Operand[RegisterType]
    coefficients: ext.Operand[Tensor]
    wires: ext.Operand[Tensor]
    offsets: Any
    paulis: Any
    site: ir.IntegerAttr
    result: ext.Result[RegisterType]
    verify_invariants = staticmethod(check_pauli_words)


class InnerProductOp(Quantum.Operation, name="inner_product"):
    """<bra|ket>; both are only read."""

    bra: ext.Operand[RegisterType]
    ket: ext.Operand[RegisterType]
    site: ir.IntegerAttr
    value: ext.Result[Tensor]


class ApplySparseOp(Quantum.Operation, name="apply_sparse"):
    """A sparse matrix in CSR form, applied to some wires; its columns are in range."""

    register: ext.Operand[RegisterType]
    row_starts: ext.Operand[Tensor]
    columns: ext.Operand[Tensor]
    values: ext.Operand[Tensor]
    wires: ext.Operand[Tensor]
    site: ir.IntegerAttr
    result: ext.Result[RegisterType]

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

    register: ext.Operand[RegisterType]
    vector: ext.Operand[Tensor]
    wires: ext.Operand[Tensor]
    site: ir.IntegerAttr
    result: ext.Result[RegisterType]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """An amplitude for each value of the wires."""
        wires = ir.RankedTensorType(operation.wires.type).shape[0]
        if str(operation.vector.type) != f"tensor<{2**wires}xcomplex<f64>>":
            return fail(operation, f"{wires} wires need tensor<{2**wires}xcomplex<f64>>")
        return True
