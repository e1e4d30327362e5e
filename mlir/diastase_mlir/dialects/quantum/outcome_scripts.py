"""Outcome scripts: which outcomes the runs of a circuit that is run several times have.

    %script = quantum.outcome_script {mode = "tree"}
    scf.while …  %more = quantum.next_run(%script)
                 %state = quantum.follow(%register, %script)
                 %weight = quantum.run_weight(%script)
    quantum.require_weight(%script, %sum)
    quantum.end_script(%script)

A script is a number of the program, the address of what the engine knows; 0 is none. Every
operation here has effects on it, so these stay in their order.
"""

# Annotations are the bindings' own language for constraints here, not types.
# pyright: reportInvalidTypeForm=false, reportInvalidTypeArguments=false

from typing import Any

from diastase_mlir.bindings import ext, ir
from diastase_mlir.dialects.quantum.dialect import Boolean, Integer, Quantum, Real, fail

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
