"""Steps of circuits that run on a PennyLane device: each is a host call."""

from collections.abc import Sequence

from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, Value, lowers
from diastase_mlir.lowering.host.host_calls import call_host


@lowers("device_step")
def lower_device_step(
    context: LoweringContext, equation: Equation, *operands: ir.Value
) -> Sequence[Value]:
    """Call the step's own function on numpy arrays."""
    step = equation.params["step"]
    reason = "the circuit's device runs in Python"
    return call_host(context, equation, step.function, operands, equation.avals_in, reason)
