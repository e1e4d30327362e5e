"""`cond` and `switch` inside compiled functions: all branches traced, one `switch` equation.

Branches return the same structure and ranks; dtypes are promoted to a common one, by JAX's rules.
Where branches return different sizes, the result's size is a symbol of its own, known when the
program runs; axes that have equal sizes in every branch share theirs in the results, too. What
any branch closes over is an operand of all. A quantum register is threaded through all branches
if one of them uses it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from diastase.capture.control_flow.errors import (
    BranchStructureError,
    BranchTypeError,
    MissingBranchError,
    PredicateError,
)
from diastase.capture.control_flow.pytrees import Leaves, flatten, structure_name, type_name
from diastase.capture.dynamic_carry import SizePattern, dimension_table, grouped, same_size
from diastase.capture.pennylane_compat import without_operators
from diastase.capture.regions import Region, current_scope, flush_scope, trace_region
from diastase.primitives.control_flow import switch_p
from diastase_mlir.diagnostics import user_span
from diastase_mlir.jax_compat import convert_outputs, eager, select_inputs


@dataclass(frozen=True)
class Branch:
    """One branch: a function without arguments, and what messages call it."""

    name: str
    function: Callable[[], Any]
    is_missing: bool = False
    """Stands for an `otherwise` that was not given."""


def trace_switch(index: Any, branches: Sequence[Branch], construct: str) -> Any:
    """Record a choice; `index` counts the branches from 0 and is in range."""
    flush_scope()
    traced = [_trace_branch(branch, construct) for branch in branches]
    tree = _common_structure(branches, [results for _, results in traced])
    regions = [region for region, _ in traced]
    if any(region.uses_register for region in regions):
        regions = [region.threaded() for region in regions]
    avals = _common_types(branches, regions, traced[0][1].names)
    types = _differing_sizes(regions).fresh(avals)
    scope = current_scope()
    register = [scope.register] if scope is not None and regions[0].uses_register else []
    operands, regions = share_captured(regions, register)
    register_avals = regions[0].jaxpr.out_avals[: regions[0].uses_register]
    results = switch_p.bind(
        index,
        *operands,
        branch_jaxprs=tuple(_converted(region, avals) for region in regions),
        result_avals=(*register_avals, *types.avals),
    )
    if scope is not None and register:
        outer, *results = results
        scope.replace_register(outer)
    types.name(results)
    return jax.tree.unflatten(tree, results)


def chain_index(predicates: Sequence[Any]) -> Any:
    """The position of the first predicate that holds; their number if none does."""
    index = jnp.asarray(len(predicates), dtype=int)
    for position, predicate in reversed(list(enumerate(predicates))):
        index = jnp.where(_as_boolean(predicate), jnp.asarray(position, dtype=int), index)
    return index


def case_index(index: Any, cases: Sequence[int]) -> Any:
    """The position of the case that `index` equals; their number if there is none."""
    value = _scalar(index, "The index", "a switch")
    if not jnp.issubdtype(value.dtype, jnp.integer):
        raise PredicateError(
            what="The index of a switch",
            found=f"{type_name(value.aval)}, not an integer",
            span=user_span(),
        )
    position = jnp.asarray(len(cases), dtype=int)
    for number, case in enumerate(cases):
        # A case that the index's type cannot hold is never met.
        if jnp.iinfo(value.dtype).min <= case <= jnp.iinfo(value.dtype).max:
            position = jnp.where(value == case, jnp.asarray(number, dtype=int), position)
    return position


def _as_boolean(predicate: Any) -> Any:
    value = _scalar(predicate, "The predicate", "a cond")
    return value if value.dtype == bool else value != 0


def _scalar(value: Any, what: str, construct: str) -> Any:
    """A value with one element, as a rank-0 array."""
    leaves = flatten(value, construct, what)
    if len(leaves.values) != 1 or leaves.values[0].size != 1:
        found = ", ".join(type_name(aval) for aval in leaves.avals) or "nothing"
        raise PredicateError(what=f"{what} of {construct}", found=found, span=user_span())
    (scalar,) = leaves.values
    return scalar if scalar.shape == () else scalar.reshape(())


def _trace_branch(branch: Branch, construct: str) -> tuple[Region, Leaves]:
    returned: list[Leaves] = []

    def flat_branch() -> Sequence[Any]:
        leaves = flatten(without_operators(branch.function()), construct, "result")
        returned.append(leaves)
        return leaves.values

    region = trace_region(flat_branch, [], construct)
    return region, replace(returned[-1], values=())


def _common_structure(branches: Sequence[Branch], results: Sequence[Leaves]) -> Any:
    first = results[0]
    for branch, other in zip(branches, results, strict=True):
        if other.tree == first.tree:
            continue
        if branch.is_missing:
            raise MissingBranchError(
                first=branches[0].name, structure=structure_name(first.tree), span=user_span()
            )
        raise BranchStructureError(
            first=branches[0].name,
            first_structure=structure_name(first.tree),
            other=branch.name,
            other_structure=structure_name(other.tree),
            span=user_span(),
        )
    return first.tree


def _common_types(
    branches: Sequence[Branch], regions: Sequence[Region], names: Sequence[str]
) -> list[Any]:
    """The type of each result: the first branch's, with the dtype promoted over all branches."""
    columns = zip(*(region.result_avals for region in regions), strict=True)
    with eager():  # sizes that are known only inside of a branch are not checked outside of it
        return [
            _common_type(branches, column, name)
            for column, name in zip(columns, names, strict=True)
        ]


def _common_type(branches: Sequence[Branch], avals: Sequence[Any], name: str) -> Any:
    first = avals[0]
    for branch, aval in zip(branches, avals, strict=True):
        extended = jnp.issubdtype(first.dtype, jax.dtypes.extended)
        if len(aval.shape) != len(first.shape) or (extended and aval.dtype != first.dtype):
            raise BranchTypeError(
                leaf=name,
                first=branches[0].name,
                first_type=type_name(first),
                other=branch.name,
                other_type=type_name(aval),
                span=user_span(),
            )
    if all(aval.dtype == first.dtype for aval in avals):
        return first.update(weak_type=all(aval.weak_type for aval in avals))
    return first.update(dtype=jnp.result_type(*avals), weak_type=False)


def _differing_sizes(regions: Sequence[Region]) -> SizePattern:
    """The axes of results that have different sizes in the branches.

    A size that is known inside of a branch only counts as different, too.
    """
    branches = [region.result_avals for region in regions]
    sizes = {
        (position, axis): tuple(avals[position].shape[axis] for avals in branches)
        for position, aval in enumerate(branches[0])
        for axis in range(len(aval.shape))
    }
    is_visible = dimension_table().is_visible
    return grouped(
        {
            axis: alternatives
            for axis, alternatives in sizes.items()
            if not is_visible(alternatives[0])
            or not all(same_size(alternatives[0], other) for other in alternatives)
        }
    )


def _converted(region: Region, avals: Sequence[Any]) -> Any:
    """The region's jaxpr with results of these dtypes."""
    register = region.jaxpr.out_avals[: region.uses_register]
    return convert_outputs(region.jaxpr, [*register, *avals])


def share_captured(
    regions: Sequence[Region], shared: Sequence[Any]
) -> tuple[list[Any], list[Region]]:
    """All captured values once, after them what all regions take, as inputs of every region."""
    captured = {id(value): value for region in regions for value in region.captured}
    positions = {key: position for position, key in enumerate(captured)}
    operands = [*captured.values(), *shared]
    avals = [jax.typeof(value) for value in operands]
    common = range(len(captured), len(operands))
    changed: list[Region] = []
    for region in regions:
        order = [*(positions[id(value)] for value in region.captured), *common]
        changed.append(replace(region, jaxpr=select_inputs(region.jaxpr, order, avals)))
    return operands, changed
