"""Calls from compiled code into Python, and JAX primitives run that way.

A host call is a `stablehlo.custom_call` from arrays to arrays. The universal fallback is one that
evaluates a JAX primitive eagerly: whatever JAX runs on the CPU, compiled programs run too. Sizes
that the primitive's parameters mention travel as extra arguments.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr, Jaxpr

from diastase_mlir import jax_compat
from diastase_mlir.emit.library_calls import CALLBACK, HAS_SIDE_EFFECT, custom_call
from diastase_mlir.emit.operations import enumeration
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.array_types import array_type, is_static
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.lowered_module import HostCallback, HostEquation
from diastase_mlir.lowering.core.registry import Equation
from diastase_runtime.abi import CallbackType

HostFunction = Callable[..., Sequence[np.ndarray]]


def call_host(
    context: LoweringContext,
    equation: Equation,
    function: HostFunction,
    operands: Sequence[ir.Value],
    avals_in: Sequence[Any],
    reason: str = "",
) -> list[ir.Value]:
    """Call a Python function from numpy arrays to numpy arrays, at this point of the program.

    `reason` says why the equation runs in Python; without one the function is the user's own.
    """
    inputs = [context.typed(value, aval) for value, aval in zip(operands, avals_in, strict=True)]
    number = len(context.callbacks)
    callback_type = CallbackType(
        tuple(array_type(aval) for aval in avals_in),
        tuple(array_type(aval) for aval in equation.avals_out),
    )
    described = HostEquation(
        primitive=equation.primitive.name,
        reason=reason or "the program's own callback",
        inputs=tuple(aval.str_short() for aval in equation.avals_in),
        outputs=tuple(aval.str_short() for aval in equation.avals_out),
        users_own=not reason,
        span=context.failures.span,
    )
    context.callbacks.append(HostCallback(callback_type, function, described))
    site = context.failures.site(equation.primitive.name, equation.source_info)
    context.imports["callback"] += 1
    results = [jax_compat.physical_aval(aval) for aval in equation.avals_out]
    shapes = [context.shape(aval) for aval in results if not is_static(aval)]
    config = {
        "number": enumeration(number),
        "site": enumeration(site),
        "arguments": enumeration(len(inputs)),
    }
    kinds = [context.type_of(aval) for aval in results]
    effect = {HAS_SIDE_EFFECT: ir.BoolAttr.get(True)}
    return custom_call(CALLBACK, kinds, [*inputs, *shapes], config, effect)


def run_on_host(
    context: LoweringContext, equation: Equation, operands: Sequence[ir.Value], reason: str = ""
) -> list[ir.Value]:
    """Evaluate the equation's primitive by eager JAX when the program runs."""
    symbols = sorted(jax_compat.symbols_in(equation.params))
    sizes = [context.dimensions.symbol(symbol) for symbol in symbols]
    size_aval = ShapedArray((), np.dtype(np.int64))
    avals_in = [*equation.avals_in, *[size_aval] * len(symbols)]
    function = _eager(equation, symbols)
    return call_host(context, equation, function, [*operands, *sizes], avals_in, reason)


def _eager(equation: Equation, symbols: Sequence[str]) -> HostFunction:
    """The equation's primitive as a function of arrays, then the sizes of `symbols`."""
    primitive, params = equation.primitive, equation.params
    operand_avals, result_avals = equation.avals_in, equation.avals_out

    def evaluate(*arrays: np.ndarray) -> list[np.ndarray]:
        operands, sizes = arrays[: len(operand_avals)], arrays[len(operand_avals) :]
        values = dict(zip(symbols, map(int, sizes), strict=True))
        # The call may come in the middle of some other trace, in a thread with other settings;
        # the dtypes are decided, so 64 bits must be allowed.
        with jax_compat.eager(), jax.enable_x64(True):
            inputs = [
                to_jax(array, aval) for array, aval in zip(operands, operand_avals, strict=True)
            ]
            results = primitive.bind(*inputs, **evaluated(params, values))
            results = results if primitive.multiple_results else [results]
            return [
                to_numpy(result, aval) for result, aval in zip(results, result_avals, strict=True)
            ]

    return evaluate


def to_jax(array: np.ndarray, aval: Any) -> Any:
    """An argument of a host call as the JAX value it represents."""
    if jax_compat.is_extended(aval.dtype):
        implementation = jax_compat.key_implementation(aval.dtype)
        return jax.random.wrap_key_data(jnp.asarray(array), impl=implementation)
    return jnp.asarray(array)


def to_numpy(value: Any, aval: Any) -> np.ndarray:
    """A JAX value as the array that represents it."""
    if jax_compat.is_extended(aval.dtype):
        return np.asarray(jax.random.key_data(value))
    return np.asarray(value)


def evaluated(parameter: Any, sizes: Mapping[str, int]) -> Any:
    """A primitive's parameters with every dimension expression replaced by its number."""
    if not sizes:
        return parameter
    if jax_compat.is_symbolic(parameter):
        return jax_compat.evaluate_dimension(parameter, sizes)
    if isinstance(parameter, Mapping):
        return {name: evaluated(entry, sizes) for name, entry in parameter.items()}
    if type(parameter) in (tuple, list):
        return type(parameter)(evaluated(entry, sizes) for entry in parameter)
    if isinstance(parameter, (Jaxpr, ClosedJaxpr)):
        return jax_compat.map_jaxpr(parameter, lambda entry: evaluated(entry, sizes))
    return parameter
