"""Measurements of a state, which stays as it is, and outcome scripts.

`wires` is a tensor; where it is empty, all wires are meant in `probabilities` and `sample`. Which
outcomes the runs of a circuit have that is run several times is said by a script:

    %script = quantum.outcome_script {mode = "tree"}
    scf.while …  %more = quantum.next_run(%script)
                 %state = quantum.follow(%register, %script)
                 %weight = quantum.run_weight(%script)
    quantum.require_weight(%script, %sum)
    quantum.end_script(%script)

A script is a number of the program, the address of what the engine knows; 0 is none. Every
operation on one has effects on it, so these stay in their order.
"""

# Annotations are the bindings' own language for constraints here, not types.
# pyright: reportInvalidTypeForm=false, reportInvalidTypeArguments=false

from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import ext, ir
from diastase_mlir.dialects.quantum.dialect import (
    Boolean,
    Integer,
    Quantum,
    Real,
    Register,
    Tensor,
    check_observable_matrix,
    check_pauli_words,
    check_sizes,
    check_square_matrix,
    fail,
)
from diastase_runtime.abi import MAX_SAMPLED_WIRES


class ExpvalPauliOp(Quantum.Operation, name="expval_pauli"):
    """Expectation of a sum of Pauli words; term k has the factors `offsets[k]:offsets[k+1]`."""

    register: ext.Operand[Register]
    coefficients: ext.Operand[Tensor]
    wires: ext.Operand[Tensor]
    offsets: Any
    paulis: Any
    site: ir.IntegerAttr
    value: ext.Result[Real]
    verify_invariants = staticmethod(check_pauli_words)


class VarPauliOp(Quantum.Operation, name="var_pauli"):
    """Variance of a sum of Pauli words, given like in `expval_pauli`."""

    register: ext.Operand[Register]
    coefficients: ext.Operand[Tensor]
    wires: ext.Operand[Tensor]
    offsets: Any
    paulis: Any
    site: ir.IntegerAttr
    value: ext.Result[Real]
    verify_invariants = staticmethod(check_pauli_words)


class ExpvalMatrixOp(Quantum.Operation, name="expval_matrix"):
    """Expectation of a Hermitian matrix on some wires."""

    register: ext.Operand[Register]
    matrix: ext.Operand[Tensor]
    wires: ext.Operand[Tensor]
    site: ir.IntegerAttr
    value: ext.Result[Real]
    verify_invariants = staticmethod(check_observable_matrix)


class VarMatrixOp(Quantum.Operation, name="var_matrix"):
    """Variance of a Hermitian matrix on some wires."""

    register: ext.Operand[Register]
    matrix: ext.Operand[Tensor]
    wires: ext.Operand[Tensor]
    site: ir.IntegerAttr
    value: ext.Result[Real]
    verify_invariants = staticmethod(check_observable_matrix)


class ProbabilitiesOp(Quantum.Operation, name="probabilities"):
    """Probabilities of the outcomes on some wires, in their order; no wires: on all.

    `sizes` has the length of the result, where its type does not tell it.
    """

    register: ext.Operand[Register]
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

    register: ext.Operand[Register]
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

    register: ext.Operand[Register]
    sizes: Sequence[ext.Operand[Integer]]
    site: ir.IntegerAttr
    result: ext.Result[Tensor]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """The length is known, or given."""
        return check_sizes(operation)


class DensityMatrixOp(Quantum.Operation, name="density_matrix"):
    """The density matrix of some wires, the others traced out."""

    register: ext.Operand[Register]
    wires: ext.Operand[Tensor]
    site: ir.IntegerAttr
    result: ext.Result[Tensor]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """A row for each outcome."""
        wires = ir.RankedTensorType(operation.wires.type).shape[0]
        reason = check_square_matrix(operation.result, wires)
        return fail(operation, reason) if reason else True


SCRIPT_MODES = {"shots": 0, "tree": 1}
"""As the engine numbers them, in `outcome_scripts`."""


class UniformOp(Quantum.Operation, name="uniform"):
    """The next of the call's random numbers, from 0 to below 1."""

    number: ext.Result[Real]


class OutcomeScriptOp(Quantum.Operation, name="outcome_script"):
    """A new script; `mode` says what its runs are: `shots`, or all branches of a `tree`."""

    mode: ir.StringAttr
    script: ext.Result[Integer]

    @staticmethod
    def verify_invariants(operation: Any) -> bool:
        """A mode that the engine has."""
        if operation.mode.value in SCRIPT_MODES:
            return True
        return fail(operation, f"no mode of outcome scripts: {operation.mode.value}")


class TrajectoriesOp(Quantum.Operation, name="trajectories"):
    """A new script for so many trajectories, which are `shots` or averaged."""

    count: ext.Operand[Integer]
    shots: Any
    script: ext.Result[Integer]


class RunMembersOp(Quantum.Operation, name="run_members"):
    """For each of the trajectories, 1 if the last run was its own, else 0."""

    script: ext.Operand[Integer]
    size: ext.Operand[Integer]
    result: ext.Result[Tensor]


class NextRunOp(Quantum.Operation, name="next_run"):
    """Prepare the next run, if there is one; there may be too many, which is an error."""

    script: ext.Operand[Integer]
    exists: ext.Result[Boolean]


class RunWeightOp(Quantum.Operation, name="run_weight"):
    """The probability of the outcomes of the last run."""

    script: ext.Operand[Integer]
    weight: ext.Result[Real]


class RunIsValidOp(Quantum.Operation, name="run_is_valid"):
    """Whether the last run found all outcomes that were postselected."""

    script: ext.Operand[Integer]
    holds: ext.Result[Boolean]


class RequireWeightOp(Quantum.Operation, name="require_weight"):
    """An error where the weights of all runs add up to nothing: no outcome can be postselected."""

    script: ext.Operand[Integer]
    total: ext.Operand[Real]


class EndScriptOp(Quantum.Operation, name="end_script"):
    """The end of a script's life."""

    script: ext.Operand[Integer]
