"""Loops inside compiled functions: a body becomes a region of one equation.

What the body takes and returns has the same types (`loop_state`). Values that it closes over become
operands. The results of the equation have the types of the initial values, but for the sizes that
the body changes: each of these has a symbol of its own, which the results define.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from diastase.capture.control_flow.errors import LoopBoundError, LoopConditionError
from diastase.capture.control_flow.loop_state import (
    Loop,
    LoopOptions,
    StableBody,
    single_or_tuple,
    stable_body,
)
from diastase.capture.control_flow.pytrees import flatten, state_names, type_name
from diastase.capture.dynamic_carry import FreshSizes
from diastase.capture.regions import Region, current_scope, flush_scope, trace_region
from diastase.primitives.control_flow import for_loop_p, while_loop_p
from diastase_mlir.diagnostics import user_span
from diastase_runtime.errors import ZeroStepError


def trace_for_loop(
    bounds: tuple[Any, Any, Any],
    body: Callable[..., Any],
    state: tuple[Any, ...],
    options: LoopOptions,
) -> Any:
    """Record a `for_loop`; the carried values after the last iteration."""
    lower, upper, step = _integers(bounds)
    flush_scope()
    carry = flatten(state, "for_loop", state_names(body, 1, len(state)))
    stable = stable_body(Loop("for_loop", body, options), [jax.typeof(lower)], carry)
    region, types = stable.region, stable.result_types()
    register = _outer_register(region)
    results = for_loop_p.bind(
        *region.captured,
        lower,
        upper,
        step,
        *register,
        *stable.carry.values,
        body_jaxpr=region.jaxpr,
        body_nconsts=len(region.captured),
        apply_reverse_transform=False,
        preserve_dimensions=not options.resizes,
        result_avals=_result_avals(register, types),
    )
    return _rebuild(results, stable, types)


def trace_while_loop(
    condition: Callable[..., Any],
    body: Callable[..., Any],
    state: tuple[Any, ...],
    options: LoopOptions,
) -> Any:
    """Record a `while_loop`; the carried values when the condition fails."""
    flush_scope()
    carry = flatten(state, "while_loop", state_names(body, 0, len(state)))
    stable = stable_body(Loop("while_loop", body, options), [], carry)
    region, types = stable.region, stable.result_types()
    test = _trace_condition(condition, stable)
    register = _outer_register(region)
    if region.uses_register:
        test = test.taking_register()
    results = while_loop_p.bind(
        *test.captured,
        *region.captured,
        *register,
        *stable.carry.values,
        cond_jaxpr=test.jaxpr,
        body_jaxpr=region.jaxpr,
        cond_nconsts=len(test.captured),
        body_nconsts=len(region.captured),
        preserve_dimensions=not options.resizes,
        result_avals=_result_avals(register, types),
    )
    return _rebuild(results, stable, types)


def _outer_register(region: Region) -> list[Any]:
    """The register as a carried value, if the region uses it."""
    scope = current_scope()
    return [scope.register] if scope is not None and region.uses_register else []


def _result_avals(register: Sequence[Any], types: FreshSizes) -> tuple[Any, ...]:
    """The types of the equation's results."""
    return (*map(jax.typeof, register), *types.avals)


def _rebuild(results: Sequence[Any], stable: StableBody, types: FreshSizes) -> Any:
    """Split off the register, and give the rest the structure of the carried values."""
    scope = current_scope()
    if scope is not None and stable.region.uses_register:
        register, *results = results
        scope.replace_register(register)
    types.name(results)
    return single_or_tuple(jax.tree.unflatten(stable.carry.tree, results))


# --- conditions and bounds -----------------------------------------------------------------------


def _trace_condition(condition: Callable[..., Any], stable: StableBody) -> Region:
    """The condition sees the sizes that the body does, under symbols of its own."""
    types = stable.result_types()

    def flat_condition(*values: Any) -> Sequence[Any]:
        types.name(values)
        return _boolean(condition(*jax.tree.unflatten(stable.carry.tree, values)))

    region = trace_region(flat_condition, types.avals, "while_loop")
    if region.uses_register:
        raise LoopConditionError(found="uses a quantum operation", span=user_span())
    return region


def _boolean(result: Any) -> Sequence[Any]:
    leaves = flatten(result, "while_loop", "the condition")
    types = [type_name(aval) for aval in leaves.avals]
    if types != ["bool[]"]:
        found = f"returns {', '.join(types) or 'nothing'}"
        raise LoopConditionError(found=found, span=user_span())
    return leaves.values


def _integers(bounds: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    """Bounds and step as scalars of one integer dtype: the type of the loop's index."""
    numbers = [value for value in bounds if isinstance(value, int)]
    if isinstance(bounds[2], int) and bounds[2] == 0:
        raise ZeroStepError(construct="for_loop", span=user_span())
    leaves = flatten(bounds, "for_loop", ("the lower bound", "the upper bound", "the step"))
    for name, aval in zip(leaves.names, leaves.avals, strict=True):
        if aval.shape != () or not jnp.issubdtype(aval.dtype, jnp.integer):
            raise LoopBoundError(reason=f"{name} is {type_name(aval)}", span=user_span())
    dtype = jnp.result_type(*leaves.avals)
    weak = all(aval.weak_type for aval in leaves.avals)
    if jnp.issubdtype(dtype, jnp.unsignedinteger) and any(number < 0 for number in numbers):
        dtype = jnp.promote_types(dtype, jnp.int8)
    if not jnp.issubdtype(dtype, jnp.integer):
        types = ", ".join(type_name(aval) for aval in leaves.avals)
        raise LoopBoundError(reason=f"no integer type holds all of {types}", span=user_span())
    if weak:
        lower, upper, step = leaves.values
        return lower, upper, step
    lower, upper, step = (
        jax.lax.convert_element_type(given if isinstance(given, int) else value, dtype)
        for given, value in zip(bounds, leaves.values, strict=True)
    )
    return lower, upper, step
