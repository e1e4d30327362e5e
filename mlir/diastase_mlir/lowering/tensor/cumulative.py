"""Rules for cumulative operations along one axis: each element combined with all before it.

Where the size is known, a `stablehlo.reduce_window` whose windows begin in front of the array, or
end behind it: what stands there changes nothing. Where it is not, or no operation of StableHLO
combines, a `runtime.cumulative`. The combining function is traced by JAX for numbers, so it means
what it means elsewhere, for every element type.
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from diastase_mlir.emit.operations import array_attribute, create, enumeration
from diastase_mlir.emit.tensors import tensor_type
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.array_types import is_complex
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, lowers
from diastase_mlir.lowering.elementwise.moves import is_known
from diastase_mlir.lowering.elementwise.scalar_functions import (
    fill_by_jax,
    fill_by_operation,
    scalar_aval,
)
from diastase_mlir.lowering.tensor.windows import elements_attribute, identity_of

CUMULATIVE: dict[str, Callable[[Any, Any], Any]] = {
    "cumsum": lax.add,
    "cumprod": lax.mul,
    "cummax": lax.max,
    "cummin": lax.min,
    "cumlogsumexp": jnp.logaddexp,
}
"""What combines the result so far with the next element."""

_OPERATIONS = {"cumsum": "add", "cumprod": "multiply", "cummax": "maximum", "cummin": "minimum"}


@lowers(*CUMULATIVE)
def lower_cumulative(
    context: LoweringContext, equation: Equation, operand: ir.Value
) -> list[ir.Value]:
    """Each element combined with all before it (after it, if reversed) along an axis."""
    (aval,), name = equation.avals_in, equation.primitive.name
    axis, backwards = equation.params["axis"], equation.params["reverse"]
    simple = name in ("cumsum", "cumprod") or not is_complex(aval.dtype)
    if is_known(aval) and name in _OPERATIONS and simple:
        neutral = context.constant(np.asarray(_neutral(name, aval.dtype), aval.dtype))
        return [_windows(context, operand, neutral, _OPERATIONS[name], axis, backwards)]
    attributes = {"axis": enumeration(axis), "reverse": ir.BoolAttr.get(backwards)}
    kind = operand.type
    operation = create("runtime.cumulative", [kind], [operand], attributes, regions=1)
    combination = CUMULATIVE[name]
    fill_by_jax(
        context, operation.regions[0], lambda *pair: (combination(*pair),), [scalar_aval(aval)] * 2
    )
    return [operation.result]


def _neutral(name: str, dtype: Any) -> Any:
    """The number that changes nothing; of zeros, the negative one does not."""
    if name in ("cumsum", "cumprod"):
        return -0.0 if name == "cumsum" else 1
    return identity_of(name.replace("cum", "reduce_window_"), dtype)


def _windows(
    context: LoweringContext,
    operand: ir.Value,
    neutral: ir.Value,
    name: str,
    axis: int,
    backwards: bool,
) -> ir.Value:
    """For each place along the axis, a window as long as the axis that ends (begins) there."""
    kind = tensor_type(operand)
    window, padding = [1] * kind.rank, np.zeros((kind.rank, 2), np.int64)
    window[axis] = kind.shape[axis]
    padding[axis, 1 if backwards else 0] = window[axis] - 1
    attributes = {
        "window_dimensions": array_attribute("i64", window),
        "padding": elements_attribute(padding),
    }
    operation = create("stablehlo.reduce_window", [kind], [operand, neutral], attributes, regions=1)
    fill_by_operation(context, operation.regions[0], name, kind.element_type)
    return operation.result
