"""Rules for cumulative operations along one axis: each element combined with all before it.

Where the size is known, a `stablehlo.reduce_window` whose windows begin in front of the array, or
end behind it: what stands there changes nothing. Where it is not, or nothing is that number, loops.
The combining function is traced by JAX for scalars, so it means exactly what it means elsewhere,
for every element type.
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from diastase_mlir.emit.operations import array_attribute, create, number_type, to_signless
from diastase_mlir.emit.running import running
from diastase_mlir.emit.tensors import tensor_type
from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.array_types import is_complex
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.moves import is_known
from diastase_mlir.lowering.registry import Equation, lowers
from diastase_mlir.lowering.scalar_functions import scalar_aval, scalar_function
from diastase_mlir.lowering.windows import identity_of

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
    function = scalar_function(context, CUMULATIVE[name], [scalar_aval(aval)] * 2)
    sizes = [context.size(size) for size in aval.shape]

    def combine(total: ir.Value, value: ir.Value) -> ir.Value:
        return function(total, value)[0]

    return [running(context, to_signless(operand), sizes, axis, combine, backwards)]


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
        "padding": _elements(padding),
    }
    operation = create("stablehlo.reduce_window", [kind], [operand, neutral], attributes, regions=1)
    number = number_type(kind.element_type)
    locations = [ir.Location.current] * 2
    block = operation.regions[0].blocks.append(number, number, arg_locs=locations)
    with context.region(block):
        result = create(f"stablehlo.{name}", [number], list(block.arguments)).result
        create("stablehlo.return", [], [result])
    return operation.result


def _elements(numbers: Any) -> ir.Attribute:
    """An attribute that is an array; the bindings' types know no such argument."""
    return ir.DenseIntElementsAttr.get(numbers)
