"""Gates, and what else changes qubits: prepared states, a global phase, measured qubits.

Results are the qubits that went in, in the same order: targets, then controls.
"""

# Annotations are the bindings' own language for constraints here, not types.
# pyright: reportInvalidTypeForm=false, reportInvalidTypeArguments=false

from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import ext, ir
from diastase_mlir.dialects.quantum.dialect import (
    BitType,
    Boolean,
    Quantum,
    Real,
    Register,
    Tensor,
    check_controls,
    check_square_matrix,
    check_vector,
    fail,
)
from diastase_mlir.gate_runs import read_gate
from diastase_runtime.gate_table import gate_of


class GateOp(Quantum.Operation, name="gate"):
    """A gate of the gate table, with any number of controls; results: targets, then controls."""

    parameters: Sequence[ext.Operand[Real]]
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
        gate = gate_of(name)
        if gate is None:
            return fail(operation, f"there is no gate named {name}")
        if len(operation.parameters) != gate.parameters:
            return fail(operation, f"{name} takes {gate.parameters} parameters")
        if gate.wires and len(operation.targets) != gate.wires:
            return fail(operation, f"{name} acts on {gate.wires} wires")
        reason = check_controls(operation)
        return fail(operation, reason) if reason else True


class RunOp(Quantum.Operation, name="run"):
    """Gates on known wires, in order, each a line of text (`gate_runs`), with a site of its own.

    A line may refer to a parameter by its number, `%4`: the operand of that number, or, where the
    only operand is a vector, the element of that number.
    """

    register: ext.Operand[Register]
    parameters: Sequence[ext.Operand[Any]]
    gates: ir.ArrayAttr
    sites: Any
    result: ext.Result[Register]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """Compare each gate with the gate table, and its operands with those that there are."""
        types = [operand.type for operand in operation.operation.operands]
        count = _count_parameters(types[1:])
        if count is None:
            return fail(operation, "parameters are f64, or one vector of them of known size")
        reason = check_run(operation, count)
        return fail(operation, reason) if reason else True


def check_run(operation: Any, count: int) -> str | None:
    """Say what is wrong with the gates of a run that has so many parameters."""
    gates, sites = operation.gates, ir.DenseI64ArrayAttr(operation.sites)
    if len(gates) != len(sites):
        return f"{len(gates)} gates need {len(gates)} sites"
    references = {f"%{number}" for number in range(count)}
    try:
        for text in gates:
            for number in read_gate(text.value).parameters:
                if isinstance(number, str) and number not in references:
                    return f"there is no operand {number}"
    except ValueError as error:
        return str(error)
    return None


def _count_parameters(types: Sequence[ir.Type]) -> int | None:
    """How many numbers the operands of a run are; None where they are something else."""
    if len(types) == 1 and isinstance(types[0], ir.RankedTensorType) and types[0].rank:
        shape = types[0].shape
        is_vector = len(shape) == 1 and types[0].has_static_shape
        return shape[0] if is_vector and types[0].element_type == ir.F64Type.get() else None
    return len(types) if all(map(_is_real, types)) else None


def _is_real(kind: Any) -> bool:
    is_number = isinstance(kind, ir.RankedTensorType) and kind.rank == 0
    return isinstance(kind.element_type if is_number else kind, ir.F64Type)


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


class KrausOp(Quantum.Operation, name="kraus"):
    """One of the Kraus operators of a channel, drawn; the state is normalised."""

    matrices: ext.Operand[Tensor]
    targets: Sequence[ext.Operand[BitType]]
    site: ir.IntegerAttr
    bits: Sequence[ext.Result[BitType]]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """A matrix on the targets for each operator, one at least."""
        wires = len(operation.targets)
        if len(operation.operation.results) != wires:
            return fail(operation, f"{wires} bits go in, as many must come out")
        kind = ir.RankedTensorType(operation.matrices.type)
        if str(kind.element_type) != "complex<f64>" or not kind.has_static_shape:
            return fail(operation, f"Kraus matrices are complex<f64> of known sizes, not {kind}")
        if kind.rank != 3 or kind.shape[0] < 1 or list(kind.shape[1:]) != [2**wires] * 2:
            return fail(operation, f"{kind} is no stack of matrices on {wires} wires")
        return True


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

    register: ext.Operand[Register]
    phi: ext.Operand[Real]
    site: ir.IntegerAttr
    result: ext.Result[Register]


class MeasureOp(Quantum.Operation, name="measure"):
    """Measure a Pauli word, a letter for each qubit; the state collapses onto its eigenspace.

    The word `Z` is a measurement in the computational basis. The outcome is 1 where the eigenvalue
    is -1. `postselect` is the outcome to force, or -1; `reset`, of a word of one letter,
    puts the qubit into |0>.
    """

    targets: Sequence[ext.Operand[BitType]]
    word: ir.StringAttr
    reset: ir.IntegerAttr
    postselect: ir.IntegerAttr
    site: ir.IntegerAttr
    bits: Sequence[ext.Result[BitType]]
    outcome: ext.Result[Boolean]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """The word fits the qubits, and the outcome asked for is one that there is."""
        word, count = operation.word.value, len(operation.operation.operands)
        if not word or set(word) - set("XYZ") or len(word) != count:
            return fail(operation, f"{word!r} is no Pauli word on {count} bits")
        if len(operation.operation.results) != count + 1:
            return fail(operation, f"{count} bits go in, as many must come out")
        if ir.BoolAttr(operation.reset).value and count > 1:
            return fail(operation, "reset goes with words of one letter only")
        if operation.postselect.value not in (-1, 0, 1):
            return fail(operation, "postselect must be 0, 1 or -1 for none")
        return True
