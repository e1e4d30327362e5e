"""Loops inside compiled functions: a body becomes a region of one equation.

The body is traced over the types of the initial values. Where it returns other ones, these change
and it is traced again, until what it returns is what it takes:

- A value that comes in with a weak type (a Python number) takes the type that the body gives it.
- The size of an axis that the body changes becomes a symbol of its own (`capture.dynamic_carry`).
  By default only a size known at run time may change, and all axes that come in with this size
  change together: they keep sharing it, or it is an error. With `Loop.resizes`, any size may
  change, each axis by itself.

Any other change of a type is refused, naming the value. Sizes that do not change are what they are
outside of the body, so carried arrays meet captured ones there; values that it closes over become
operands. The results of the equation define the symbols of the sizes that change.

The trap: a body may be traced several times, so its Python side effects may happen again.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from diastase.capture.context import new_caches
from diastase.capture.control_flow.errors import (
    CarrySizeError,
    CarryStructureError,
    CarryTypeError,
    LoopBoundError,
    LoopConditionError,
    ResizingError,
)
from diastase.capture.control_flow.pytrees import (
    Leaves,
    flatten,
    state_names,
    structure_name,
    type_name,
)
from diastase.capture.dynamic_carry import (
    Axis,
    FreshSizes,
    SizePattern,
    dimension_table,
    grouped,
    same_size,
)
from diastase.capture.pennylane_compat import without_operators
from diastase.capture.regions import Region, current_scope, flush_scope, trace_region
from diastase.primitives.control_flow import for_loop_p, while_loop_p
from diastase_mlir.diagnostics import user_span
from diastase_mlir.jax_compat import convert_outputs, is_symbolic
from diastase_runtime.errors import ZeroStepError


@dataclass(frozen=True)
class Loop:
    """A loop to be traced."""

    construct: str
    body: Callable[..., Any]
    resizes: bool
    """Whether any size may change, each by itself."""


@dataclass(frozen=True)
class StableBody:
    """A traced body that returns the types it takes, with what it takes."""

    region: Region
    carry: Leaves
    pattern: SizePattern
    """Which of the carried sizes change."""

    def result_types(self) -> FreshSizes:
        """The types of the carried values, over new symbols: after the loop, in a condition."""
        return self.pattern.fresh(self.carry.avals)


def trace_for_loop(
    bounds: tuple[Any, Any, Any],
    body: Callable[..., Any],
    state: tuple[Any, ...],
    resizes: bool = False,
) -> Any:
    """Record a `for_loop`; the carried values after the last iteration."""
    lower, upper, step = _integers(bounds)
    flush_scope()
    carry = flatten(state, "for_loop", state_names(body, 1, len(state)))
    stable = stable_body(Loop("for_loop", body, resizes), [jax.typeof(lower)], carry)
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
        preserve_dimensions=not resizes,
        result_avals=(*map(jax.typeof, register), *types.avals),
    )
    return _rebuild(results, stable, types)


def trace_while_loop(
    condition: Callable[..., Any],
    body: Callable[..., Any],
    state: tuple[Any, ...],
    resizes: bool = False,
) -> Any:
    """Record a `while_loop`; the carried values when the condition fails."""
    flush_scope()
    carry = flatten(state, "while_loop", state_names(body, 0, len(state)))
    stable = stable_body(Loop("while_loop", body, resizes), [], carry)
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
        preserve_dimensions=not resizes,
        result_avals=(*map(jax.typeof, register), *types.avals),
    )
    return _rebuild(results, stable, types)


def _outer_register(region: Region) -> list[Any]:
    """The register as a carried value, if the region uses it."""
    scope = current_scope()
    return [scope.register] if scope is not None and region.uses_register else []


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


# --- a body that returns the types that it takes --------------------------------------------------


def stable_body(loop: Loop, leading: list[Any], carry: Leaves) -> StableBody:
    """Trace the body, `leading` the types of arguments that are not carried."""
    changing: frozenset[Axis] = frozenset()
    while True:
        forget_assumptions = dimension_table().assumptions.undo()
        pattern = _pattern(loop, carry.avals, changing)
        with new_caches():
            region = _trace_body(loop, leading, carry, pattern.fresh(carry.avals))
        returned = region.result_avals
        promoted = _promote(carry, returned)
        changed = changing.union(_resized(loop, carry, returned))
        if promoted is carry and changed == changing:
            break
        carry, changing = promoted, changed
        forget_assumptions()
    _check_types(loop, carry, returned, pattern)
    if not loop.resizes:
        _check_sharing(loop, carry, returned, pattern)
    register = region.jaxpr.out_avals[: region.uses_register]
    jaxpr = convert_outputs(region.jaxpr, [*register, *carry.avals])
    return StableBody(replace(region, jaxpr=jaxpr), carry, pattern)


def normalise_state(returned: Any, count: int, construct: str) -> tuple[Any, ...]:
    """What a body returned, as a tuple of as many values as the loop carries."""
    if count == 0 and not jax.tree.leaves(without_operators(returned)):
        return ()
    if count == 1:
        single = isinstance(returned, tuple) and len(returned) == 1
        return returned if single else (returned,)
    if count and isinstance(returned, tuple | list) and len(returned) == count:
        return tuple(returned)
    taken = f"{count} values" if count else "no value to carry"
    raise CarryStructureError(
        construct=construct, taken=taken, returned=structure_name(returned), span=user_span()
    )


def single_or_tuple(state: tuple[Any, ...]) -> Any:
    """What a loop returns: nothing, its only value, or the tuple of its values."""
    if not state:
        return None
    return state[0] if len(state) == 1 else state


def _trace_body(loop: Loop, leading: list[Any], carry: Leaves, types: FreshSizes) -> Region:
    def flat_body(*arguments: Any) -> Sequence[Any]:
        lead, values = arguments[: len(leading)], arguments[len(leading) :]
        types.name(values)
        state = jax.tree.unflatten(carry.tree, values)
        body_returned = without_operators(loop.body(*lead, *state))
        returned = normalise_state(body_returned, len(state), loop.construct)
        leaves = flatten(returned, loop.construct, [f"result {k}" for k in range(len(state))])
        if leaves.tree != carry.tree:
            raise CarryStructureError(
                construct=loop.construct,
                taken=structure_name(single_or_tuple(state)),
                returned=structure_name(single_or_tuple(returned)),
                span=user_span(),
            )
        return leaves.values

    names = [*state_names(loop.body, 0, len(leading)), *carry.names]
    avals = [*leading, *types.avals]
    return trace_region(flat_body, avals, loop.construct, len(leading), names)


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


# --- sizes ---------------------------------------------------------------------------------------


def _pattern(loop: Loop, avals: Sequence[Any], changing: frozenset[Axis]) -> SizePattern:
    """These axes, and with shared sizes all that come in with the size of one of them."""
    sizes = {
        (k, axis): size for k, aval in enumerate(avals) for axis, size in enumerate(aval.shape)
    }
    if loop.resizes:
        return SizePattern(tuple((axis,) for axis in sizes if axis in changing))
    shared = {sizes[axis] for axis in changing}
    return grouped({axis: size for axis, size in sizes.items() if size in shared})


def _resized(loop: Loop, carry: Leaves, returned: Sequence[Any]) -> Iterator[Axis]:
    """The axes whose sizes the body changes, among those that may change."""
    for position, (before, after) in enumerate(zip(carry.avals, returned, strict=True)):
        if len(before.shape) != len(after.shape):
            continue
        for axis, size in enumerate(before.shape):
            may_change = loop.resizes or is_symbolic(size)
            if may_change and not same_size(size, after.shape[axis]):
                yield position, axis


def _check_types(loop: Loop, carry: Leaves, returned: Sequence[Any], pattern: SizePattern) -> None:
    changing = {axis for group in pattern.groups for axis in group}
    for position, (name, before, after) in enumerate(
        zip(carry.names, carry.avals, returned, strict=True)
    ):
        same_rank = len(before.shape) == len(after.shape)
        if (
            before.dtype == after.dtype
            and same_rank
            and all(
                (position, axis) in changing or same_size(size, after.shape[axis])
                for axis, size in enumerate(before.shape)
            )
        ):
            continue
        resized = before.dtype == after.dtype and same_rank
        raise (CarrySizeError if resized else CarryTypeError)(
            construct=loop.construct,
            leaf=name,
            type_in=type_name(before),
            type_out=type_name(after),
            span=user_span(),
        )


def _check_sharing(
    loop: Loop, carry: Leaves, returned: Sequence[Any], pattern: SizePattern
) -> None:
    """Refuse a body that gives several sizes to axes that came in with one."""
    for group in pattern.groups:
        first, *others = group
        size = returned[first[0]].shape[first[1]]
        for other in others:
            other_size = returned[other[0]].shape[other[1]]
            if same_size(size, other_size):
                continue
            raise ResizingError(
                construct=loop.construct,
                leaf=_axis_name(carry, first),
                other=_axis_name(carry, other),
                size_in=str(carry.avals[first[0]].shape[first[1]]),
                size=str(size),
                other_size=str(other_size),
                span=user_span(),
            )


def _axis_name(carry: Leaves, axis: Axis) -> str:
    position, number = axis
    name = carry.names[position]
    return name if len(carry.avals[position].shape) == 1 else f"axis {number} of {name}"
