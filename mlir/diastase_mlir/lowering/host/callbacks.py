"""Python functions called from inside a program: JAX's callbacks, steps of host devices.

All of them become host calls, which run in program order; so an ordered callback needs no token.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from diastase_mlir.jax_compat import ir, is_symbolic
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, Value, lowers
from diastase_mlir.lowering.host.host_calls import call_host, run_on_host
from diastase_runtime.errors import CallbackResultError, Span


@lowers("pure_callback", "io_callback", "debug_callback")
def lower_callback(
    context: LoweringContext, equation: Equation, *operands: ir.Value
) -> list[ir.Value]:
    """Call the user's function; results, if any, are checked against the declared shapes."""
    function = equation.params["callback"]
    avals, span = equation.avals_out, context.failures.span

    def call(*arrays: np.ndarray) -> list[np.ndarray]:
        results = function(*map(jnp.asarray, arrays))
        if not avals:
            return []
        return _promised(jax.tree.leaves(results), avals, span)

    return call_host(context, equation, call, operands, equation.avals_in)


@lowers("accelerated")
def lower_accelerated(
    context: LoweringContext, equation: Equation, *operands: ir.Value
) -> list[ir.Value]:
    """A function that JAX compiles and runs, on a device of its own."""
    return run_on_host(context, equation, operands)


@lowers("debug_print")
def lower_debug_print(
    context: LoweringContext, equation: Equation, *operands: ir.Value
) -> list[ir.Value]:
    """The user's text, formatted and printed by JAX."""
    return run_on_host(context, equation, operands)


def _known_size(declared: Any, found: int) -> int:
    return found if is_symbolic(declared) else declared


def _promised(values: Sequence[Any], avals: Sequence[Any], span: Span | None) -> list[np.ndarray]:
    """Results of the user's function as arrays, if they are what it was said to return."""
    arrays = [np.asarray(value) for value in values]
    found = [(array.shape, jax.dtypes.canonicalize_dtype(array.dtype)) for array in arrays]
    # A size that only the call knows is compared when the result is copied into the program.
    known = [
        (tuple(map(_known_size, aval.shape, shape)), aval.dtype)
        for aval, (shape, _) in zip(avals, found, strict=False)
        if len(aval.shape) == len(shape)
    ]
    if found != known or len(found) != len(avals):
        raise CallbackResultError(
            found=", ".join(f"{dtype}{list(shape)}" for shape, dtype in found) or "nothing",
            expected=", ".join(f"{aval.dtype}{list(aval.shape)}" for aval in avals),
            span=span,
        )
    return [array.astype(aval.dtype) for array, aval in zip(arrays, avals, strict=True)]


@lowers("device_step")
def lower_device_step(
    context: LoweringContext, equation: Equation, *operands: ir.Value
) -> Sequence[Value]:
    """Call the step's own function on numpy arrays."""
    step = equation.params["step"]
    reason = "the circuit's device runs in Python"
    return call_host(context, equation, step.function, operands, equation.avals_in, reason)
