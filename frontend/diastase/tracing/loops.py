"""Loops inside compiled functions: bodies traced once, as regions of one equation.

Each carried value keeps its type. As in `jax.lax`, a value that comes in with a weak type (a
Python number) takes the type that the body gives it, and the body is traced again; any other
change is refused, naming the value. Values that the body closes over become operands.

The trap: a body may be traced more than once, so its Python side effects may happen twice.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from diastase.primitives.control_flow import for_loop_p, while_loop_p
from diastase.tracing.control_flow_errors import (
    CarryStructureError,
    CarryTypeError,
    LoopBoundError,
    LoopConditionError,
    ResizingError,
)
from diastase.tracing.leaves import Leaves, flatten, state_names, type_name
from diastase.tracing.regions import Region, current_scope, flush_scope, trace_region
from diastase_mlir.diagnostics import user_span
from diastase_mlir.jax_internals import convert_outputs, is_symbolic
from diastase_runtime.errors import ZeroStepError


@dataclass(frozen=True)
class LoopOptions:
    """Options of a loop, as the user gave them."""

    allow_array_resizing: bool = False
    preserve_dimensions: bool = True


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
    region, carry = _stable_body(_Loop("for_loop", body, options), [jax.typeof(lower)], carry)
    register = _outer_register(region)
    results = for_loop_p.bind(
        *region.captured,
        lower,
        upper,
        step,
        *register,
        *carry.values,
        body_jaxpr=region.jaxpr,
        body_nconsts=len(region.captured),
        apply_reverse_transform=False,
        preserve_dimensions=options.preserve_dimensions,
    )
    return _rebuild(results, region, carry)


def trace_while_loop(
    condition: Callable[..., Any],
    body: Callable[..., Any],
    state: tuple[Any, ...],
    options: LoopOptions,
) -> Any:
    """Record a `while_loop`; the carried values when the condition fails."""
    flush_scope()
    carry = flatten(state, "while_loop", state_names(body, 0, len(state)))
    region, carry = _stable_body(_Loop("while_loop", body, options), [], carry)
    test = _trace_condition(condition, carry)
    register = _outer_register(region)
    if region.uses_register:
        test = test.taking_register()
    results = while_loop_p.bind(
        *test.captured,
        *region.captured,
        *register,
        *carry.values,
        cond_jaxpr=test.jaxpr,
        body_jaxpr=region.jaxpr,
        cond_nconsts=len(test.captured),
        body_nconsts=len(region.captured),
        preserve_dimensions=options.preserve_dimensions,
    )
    return _rebuild(results, region, carry)


def normalise_state(returned: Any, count: int, construct: str) -> tuple[Any, ...]:
    """What a body returned, as a tuple of as many values as the loop carries."""
    if count == 0 and returned is None:
        return ()
    if count == 1:
        single = isinstance(returned, tuple) and len(returned) == 1
        return returned if single else (returned,)
    if count and isinstance(returned, tuple | list) and len(returned) == count:
        return tuple(returned)
    taken = f"{count} values" if count else "no value to carry"
    raise CarryStructureError(
        construct=construct, taken=taken, returned=_describe(returned), span=user_span()
    )


def single_or_tuple(state: tuple[Any, ...]) -> Any:
    """What a loop returns: nothing, its only value, or the tuple of its values."""
    if not state:
        return None
    return state[0] if len(state) == 1 else state


# --- bodies --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Loop:
    construct: str
    body: Callable[..., Any]
    options: LoopOptions


def _stable_body(loop: _Loop, leading: list[Any], carry: Leaves) -> tuple[Region, Leaves]:
    """Trace the body, with weakly typed values promoted until it returns the types it takes."""
    while True:
        region = _trace_body(loop, leading, carry)
        returned = region.result_avals
        promoted = _promote(carry, returned)
        if promoted is carry:
            break
        carry = promoted
    _check_types(loop, carry, returned)
    jaxpr = convert_outputs(region.jaxpr, _with_register(region, carry))
    return replace(region, jaxpr=jaxpr), carry


def _trace_body(loop: _Loop, leading: list[Any], carry: Leaves) -> Region:
    def flat_body(*arguments: Any) -> Sequence[Any]:
        lead, values = arguments[: len(leading)], arguments[len(leading) :]
        state = jax.tree.unflatten(carry.tree, values)
        returned = normalise_state(loop.body(*lead, *state), len(state), loop.construct)
        leaves = flatten(returned, loop.construct, [f"result {k}" for k in range(len(state))])
        if leaves.tree != carry.tree:
            raise CarryStructureError(
                construct=loop.construct,
                taken=_describe(single_or_tuple(state)),
                returned=_describe(single_or_tuple(returned)),
                span=user_span(),
            )
        return leaves.values

    return trace_region(flat_body, [*leading, *carry.avals], loop.construct, len(leading))


def _promote(carry: Leaves, returned: Sequence[Any]) -> Leaves:
    """The carry with weakly typed values converted to what the body returns, if any has to be."""
    values = [
        _promoted(value, before, after)
        for value, before, after in zip(carry.values, carry.avals, returned, strict=True)
    ]
    unchanged = all(new is old for new, old in zip(values, carry.values, strict=True))
    return carry if unchanged else replace(carry, values=tuple(values))


def _promoted(value: Any, before: Any, after: Any) -> Any:
    if not before.weak_type or (before.dtype == after.dtype and after.weak_type):
        return value
    return jax.lax.convert_element_type(value, jnp.result_type(before, after))


def _check_types(loop: _Loop, carry: Leaves, returned: Sequence[Any]) -> None:
    for name, before, after in zip(carry.names, carry.avals, returned, strict=True):
        if before.shape == after.shape and before.dtype == after.dtype:
            continue
        resized = before.dtype == after.dtype and (
            loop.options.allow_array_resizing or any(map(is_symbolic, before.shape + after.shape))
        )
        raise (ResizingError if resized else CarryTypeError)(
            construct=loop.construct,
            leaf=name,
            type_in=type_name(before),
            type_out=type_name(after),
            span=user_span(),
        )


def _with_register(region: Region, carry: Leaves) -> list[Any]:
    return [*region.jaxpr.out_avals[: region.uses_register], *carry.avals]


def _outer_register(region: Region) -> list[Any]:
    """The register as a carried value, if the region uses it."""
    scope = current_scope()
    return [scope.register] if scope is not None and region.uses_register else []


def _rebuild(results: Sequence[Any], region: Region, carry: Leaves) -> Any:
    """Split off the register, and give the rest the structure of the carried values."""
    scope = current_scope()
    if scope is not None and region.uses_register:
        register, *results = results
        scope.replace_register(register)
    return single_or_tuple(jax.tree.unflatten(carry.tree, results))


# --- conditions and bounds -----------------------------------------------------------------------


def _trace_condition(condition: Callable[..., Any], carry: Leaves) -> Region:
    def flat_condition(*values: Any) -> Sequence[Any]:
        return _boolean(condition(*jax.tree.unflatten(carry.tree, values)))

    region = trace_region(flat_condition, carry.avals, "while_loop")
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


def _describe(value: Any) -> str:
    """The structure of a value, with a star for each array: `(*, {'a': *})`."""
    return str(jax.tree.structure(value)).removeprefix("PyTreeDef(").removesuffix(")")
