"""What a loop carries: from initial values to a body that returns the types it takes.

The body is traced over the types of the initial values. Where it returns other ones, these change
and it is traced again, until what it returns is what it takes:

- A value that comes in with a weak type (a Python number) takes the type that the body gives it. -
The size of an axis that the body changes becomes a symbol of its own (`capture.dynamic_carry`). By
default
  only a size known at run time may change, and all axes that come in with this size change
  together: they keep sharing it, or it is an error. With `LoopOptions.resizes`, any size may
  change, each axis by itself.

Sizes that do not change are what they are outside of the body, so carried arrays meet captured
ones there. Any other change of a type is refused, naming the value.

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
    ResizingError,
)
from diastase.capture.control_flow.pytrees import Leaves, flatten, type_name
from diastase.capture.dynamic_carry import (
    Axis,
    FreshSizes,
    SizePattern,
    dimension_table,
    grouped,
    same_size,
)
from diastase.capture.pennylane_compat import without_operators
from diastase.capture.regions import Region, trace_region
from diastase_mlir.diagnostics import user_span
from diastase_mlir.jax_compat import convert_outputs, is_symbolic


@dataclass(frozen=True)
class LoopOptions:
    """Options of a loop."""

    resizes: bool = False
    """Whether any size may change, each for itself."""


@dataclass(frozen=True)
class Loop:
    """A loop to be traced."""

    construct: str
    body: Callable[..., Any]
    options: LoopOptions


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
    if not loop.options.resizes:
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
        construct=construct, taken=taken, returned=_describe(returned), span=user_span()
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
                taken=_describe(single_or_tuple(state)),
                returned=_describe(single_or_tuple(returned)),
                span=user_span(),
            )
        return leaves.values

    return trace_region(flat_body, [*leading, *types.avals], loop.construct, len(leading))


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
    sizes = {(k, axis): size for k, aval in enumerate(avals) for axis, size in _axes(aval)}
    if loop.options.resizes:
        return SizePattern(tuple((axis,) for axis in sizes if axis in changing))
    shared = {sizes[axis] for axis in changing}
    return grouped({axis: size for axis, size in sizes.items() if size in shared})


def _axes(aval: Any) -> Iterator[tuple[int, Any]]:
    return enumerate(aval.shape)


def _resized(loop: Loop, carry: Leaves, returned: Sequence[Any]) -> Iterator[Axis]:
    """The axes whose sizes the body changes, among those that may change."""
    for position, (before, after) in enumerate(zip(carry.avals, returned, strict=True)):
        if len(before.shape) != len(after.shape):
            continue
        for axis, size in _axes(before):
            may_change = loop.options.resizes or is_symbolic(size)
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
                for axis, size in _axes(before)
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


def _describe(value: Any) -> str:
    """The structure of a value, with a star for each array: `(*, {'a': *})`."""
    return str(jax.tree.structure(value)).removeprefix("PyTreeDef(").removesuffix(")")
