"""Registers side by side in the lanes of vectors: one operation acts on all of them.

A *lane register* holds K registers of as many qubits each, K a multiple of eight. What differs from
lane to lane is an array of K numbers: the parameters of a gate, a stack of matrices, the outcomes
of a measurement. Some lanes may be inactive: gates and measurements leave these alone.

    %r = quantum.lanes_alloc {num_wires = 2, lanes = 8, site = 0}
    %a = quantum.lanes_activate(%r, %mask)
    %b = quantum.lanes_gate(%a, %angles, %wire) {gate_name = "RX", control_values = [], site = 1}
    %b = quantum.lanes_run(%b, %rows) {gates = ["RX 0 : %0", "CNOT 0 1"], sites = [1, 2]}
    %c, %outcomes = quantum.lanes_measure(%b, %wire) {reset = false, site = 2}
    %values = quantum.lanes_pauli_values(%c, %wires) {offsets = [0, 1], paulis = [3], site = 3}
    quantum.release(%c)

Operations take the register itself, not bits, so passes on circuits, which begin with an `alloc`,
do not see them. Wires are targets, then controls; as a table (`tensor<…xi64>`) where the other
measurements have one. How many lanes a register has is said where it is made, and nowhere else: its
arrays must fit, which lowering compares.
"""

# Annotations are the bindings' own language for constraints here, not types.
# pyright: reportInvalidTypeForm=false, reportInvalidTypeArguments=false

from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import ext, ir
from diastase_mlir.dialects.quantum.dialect import (
    Integer,
    LaneRegisterType,
    Quantum,
    Tensor,
    check_words,
    fail,
)
from diastase_mlir.dialects.quantum.gates import check_run
from diastase_mlir.gate_runs import read_gate
from diastase_runtime.abi import MAX_SAMPLED_WIRES
from diastase_runtime.gate_table import gate_of

LEAST_LANES = 8
"""Numbers in double precision of the largest vectors that processors have."""


class LanesAllocOp(Quantum.Operation, name="lanes_alloc"):
    """A new register: all qubits of all lanes in |0>, all lanes active.

    The lanes are elements of a batch, `first` and those after it.
    """

    first: ext.Operand[Integer]
    num_wires: ir.IntegerAttr
    lanes: ir.IntegerAttr
    site: ir.IntegerAttr
    register: ext.Result[LaneRegisterType]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """Numbers that there can be."""
        if operation.num_wires.value < 0:
            return fail(operation, f"there are no registers of {operation.num_wires.value} wires")
        return _check_lanes(operation, operation.lanes.value)


class LanesActivateOp(Quantum.Operation, name="lanes_activate"):
    """From here on the lanes are active whose number is not 0."""

    register: ext.Operand[LaneRegisterType]
    mask: ext.Operand[Tensor]
    result: ext.Result[LaneRegisterType]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """A number for each lane."""
        return _check_array(operation, operation.mask, "the mask", "i64")


class LanesGateOp(Quantum.Operation, name="lanes_gate"):
    """A gate of the gate table on one or two targets, with any number of controls."""

    register: ext.Operand[LaneRegisterType]
    parameters: Sequence[ext.Operand[Tensor]]
    wires: Sequence[ext.Operand[Integer]]
    gate_name: ir.StringAttr
    control_values: Any
    site: ir.IntegerAttr
    result: ext.Result[LaneRegisterType]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """Compare with the gate table."""
        name = operation.gate_name.value
        gate = gate_of(name)
        if gate is None:
            return fail(operation, f"there is no gate named {name}")
        if gate.entry == "array":
            return fail(operation, _of_any_wires(name))
        if len(operation.parameters) != gate.parameters:
            return fail(operation, f"{name} takes {gate.parameters} parameters")
        if _targets(operation) != gate.wires:
            return fail(operation, f"{name} acts on {gate.wires} wires")
        if len({str(parameter.type) for parameter in operation.parameters}) > 1:
            return fail(operation, "all parameters are of as many lanes")
        return all(
            _check_array(operation, parameter, "a parameter", "f64")
            for parameter in operation.parameters
        )


class LanesRunOp(Quantum.Operation, name="lanes_run"):
    """Gates on known wires, in order, each a line of text (`gate_runs`), with a site of its own.

    Parameter `%4` of a line is row 4 of the operand, a number for each lane.
    """

    register: ext.Operand[LaneRegisterType]
    parameters: Sequence[ext.Operand[Tensor]]
    gates: ir.ArrayAttr
    sites: Any
    result: ext.Result[LaneRegisterType]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """Compare with the gate table, and with the parameters that there are."""
        rows, given = 0, list(operation.operation.operands)[1:]
        if len(given) > 1:
            return fail(operation, "all parameters are rows of one array")
        for parameters in given:
            kind = ir.RankedTensorType(parameters.type)
            if kind.rank != 2 or not kind.has_static_shape or str(kind.element_type) != "f64":
                return fail(operation, f"parameters are rows of f64 of known sizes, not {kind}")
            rows, lanes = kind.shape
            if not _check_lanes(operation, lanes):
                return False
        reason = check_run(operation, rows) or _check_targets(operation)
        return fail(operation, reason) if reason else True


def _check_targets(run: Any) -> str | None:
    """Say which gate of a run is none of lanes."""
    for text in run.gates:
        name = read_gate(text.value).name
        gate = gate_of(name)
        if gate is None or gate.entry == "array":
            return _of_any_wires(name)
    return None


def _of_any_wires(name: str) -> str:
    return f"{name} is no gate of lanes: it acts on any number of wires"


class LanesUnitaryOp(Quantum.Operation, name="lanes_unitary"):
    """A matrix on some wires, with any number of controls: one for all lanes, or one for each.

    It need not be unitary.
    """

    register: ext.Operand[LaneRegisterType]
    matrix: ext.Operand[Tensor]
    wires: Sequence[ext.Operand[Integer]]
    control_values: Any
    site: ir.IntegerAttr
    result: ext.Result[LaneRegisterType]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """Compare the matrix with the number of targets."""
        targets = _targets(operation)
        if targets < 1:
            return fail(operation, "there are no wires but the controls")
        kind = ir.RankedTensorType(operation.matrix.type)
        if str(kind.element_type) != "complex<f64>" or not kind.has_static_shape:
            return fail(operation, f"a matrix is complex<f64> of known sizes, not {kind}")
        if kind.rank not in (2, 3) or list(kind.shape[-2:]) != [2**targets] * 2:
            return fail(operation, f"{kind} is neither a matrix on {targets} wires nor a stack")
        return kind.rank == 2 or _check_lanes(operation, kind.shape[0])


class LanesMeasureOp(Quantum.Operation, name="lanes_measure"):
    """Measure a qubit in each lane that is active; the outcomes of others are 0.

    `reset` puts the qubit into |0>.
    """

    register: ext.Operand[LaneRegisterType]
    wire: ext.Operand[Integer]
    reset: ir.IntegerAttr
    site: ir.IntegerAttr
    result: ext.Result[LaneRegisterType]
    outcomes: ext.Result[Tensor]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """A number for each lane."""
        return _check_array(operation, operation.outcomes, "the outcomes", "i64")


class LanesSampleOp(Quantum.Operation, name="lanes_sample"):
    """Outcomes of shots in each lane, one integer each; no wires: all. The states stay."""

    register: ext.Operand[LaneRegisterType]
    wires: ext.Operand[Tensor]
    shots: ext.Operand[Integer]
    site: ir.IntegerAttr
    samples: ext.Result[Tensor]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """A row of integers for each lane, each with room for all wires."""
        wires = _size_of_table(operation)
        if wires is None:
            return False
        if wires > MAX_SAMPLED_WIRES:
            return fail(operation, f"outcomes on {wires} wires do not fit into an integer")
        return _check_rows(operation, operation.samples, "i64")


class LanesProbsOp(Quantum.Operation, name="lanes_probs"):
    """Probabilities of the outcomes on some wires, in each lane; no wires: on all."""

    register: ext.Operand[LaneRegisterType]
    wires: ext.Operand[Tensor]
    site: ir.IntegerAttr
    probabilities: ext.Result[Tensor]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """A number for each outcome."""
        wires = _size_of_table(operation)
        if wires is None or not _check_rows(operation, operation.probabilities, "f64", known=True):
            return False
        size = ir.RankedTensorType(operation.probabilities.type).shape[1]
        if wires and size != 2**wires:
            return fail(operation, f"{wires} wires have {2**wires} outcomes, not {size}")
        return True


class LanesStateOp(Quantum.Operation, name="lanes_state"):
    """All amplitudes of each lane; wire 0 is the most significant bit of the index."""

    register: ext.Operand[LaneRegisterType]
    amplitudes: ext.Result[Tensor]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """A row for each lane."""
        return _check_rows(operation, operation.amplitudes, "complex<f64>", known=True)


class LanesPauliValuesOp(Quantum.Operation, name="lanes_pauli_values"):
    """Expectations of Pauli words in each lane; word k has the factors `offsets[k]:offsets[k+1]`.

    A row for each word, a column for each lane.
    """

    register: ext.Operand[LaneRegisterType]
    wires: ext.Operand[Tensor]
    offsets: Any
    paulis: Any
    site: ir.IntegerAttr
    values: ext.Result[Tensor]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """The tables fit together, and the result."""
        if not check_words(operation):
            return False
        words = len(ir.DenseI64ArrayAttr(operation.offsets)) - 1
        kind = ir.RankedTensorType(operation.values.type)
        if str(kind.element_type) != "f64" or kind.rank != 2 or kind.shape[0] != words:
            return fail(operation, f"{words} words have so many rows of f64, not {kind}")
        return _check_lanes(operation, kind.shape[1])


def _targets(operation: Any) -> int:
    """How many of the wires are no controls; negative where there are too few."""
    return len(operation.wires) - len(ir.DenseBoolArrayAttr(operation.control_values))


def _check_lanes(operation: Any, lanes: int) -> bool:
    """Whether registers have so many lanes."""
    if lanes >= LEAST_LANES and lanes % LEAST_LANES == 0:
        return True
    given = "a number of lanes that is not known" if lanes < 0 else f"{lanes} lanes"
    return fail(operation, f"lanes are a multiple of {LEAST_LANES}, not {given}")


def _check_array(operation: Any, array: ir.Value, what: str, element: str) -> bool:
    """Whether a value is a number for each lane."""
    kind = ir.RankedTensorType(array.type)
    if kind.rank != 1 or str(kind.element_type) != element:
        return fail(operation, f"{what} must be a vector of {element}, not {kind}")
    return _check_lanes(operation, kind.shape[0])


def _check_rows(operation: Any, array: ir.Value, element: str, known: bool = False) -> bool:
    """Whether a value is a row for each lane, of `known` length."""
    kind = ir.RankedTensorType(array.type)
    if kind.rank != 2 or str(kind.element_type) != element:
        return fail(operation, f"the result must be a row of {element} for each lane, not {kind}")
    if known and kind.is_dynamic_dim(1):
        return fail(operation, f"the length of a row must be known, not {kind}")
    return _check_lanes(operation, kind.shape[0])


def _size_of_table(operation: Any) -> int | None:
    """How many wires a table has; None, reported, where it is none."""
    kind = ir.RankedTensorType(operation.wires.type)
    if kind.rank == 1 and kind.has_static_shape and str(kind.element_type) == "i64":
        return kind.shape[0]
    fail(operation, f"wires are a vector of i64 of known size, not {kind}")
    return None
