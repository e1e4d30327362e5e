"""Python functions that the user calls from inside a program: JAX's callback primitives.

All of them become host calls, which run in program order; so an ordered callback needs no token.
"""

import jax
import jax.numpy as jnp
import numpy as np

from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.host import call_host
from diastase_mlir.lowering.registry import Equation, lowers


@lowers("pure_callback", "io_callback", "debug_callback")
def lower_callback(
    context: LoweringContext, equation: Equation, *operands: ir.Value
) -> list[ir.Value]:
    """Call the user's function; results, if any, are checked against the declared shapes."""
    function = equation.params["callback"]
    avals = equation.avals_out

    def call(*arrays: np.ndarray) -> list[np.ndarray]:
        results = function(*map(jnp.asarray, arrays))
        if not avals:
            return []
        flat = jax.tree.leaves(results)
        return [np.asarray(value, aval.dtype) for value, aval in zip(flat, avals, strict=True)]

    return call_host(context, equation, call, operands, equation.avals_in)
