"""Whether a function given to JAX applies operators: traced in a trial that is given up."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from diastase.capture.context import new_caches
from diastase.capture.pennylane_compat import without_operators
from diastase.capture.quantum_errors import ForeignRegionError
from diastase.capture.regions import QuantumScope, current_scope, trace_region
from diastase.dynamic_shapes.dimensions import DimensionTable
from diastase_mlir.diagnostics import user_span

Function = Callable[..., Any]


@dataclass(frozen=True)
class Trial:
    """What a function does, that has been traced and given up."""

    applies_operators: bool
    result: Any
    """What it returns, with types for arrays."""


def recording_scope() -> QuantumScope | None:
    """The region that records here and now, if there is one."""
    scope = current_scope()
    return scope if scope is not None and scope.records_here else None


def try_out(
    table: DimensionTable, scope: QuantumScope, function: Function, *arguments: Any
) -> Trial:
    """Trace a function of values of these types, or of what stands for them, and give it up."""
    leaves, tree = jax.tree.flatten(arguments)
    returned: list[Any] = []

    def flat_function(*values: Any) -> Sequence[Any]:
        result = without_operators(function(*jax.tree.unflatten(tree, values)))
        results = [jnp.asarray(leaf) for leaf in jax.tree.leaves(result)]
        returned.append(jax.tree.structure(result))
        return results

    scope.flush()
    forget_assumptions = table.assumptions.undo()
    with scope.trial(), new_caches():
        region = trace_region(flat_function, list(map(jax.typeof, leaves)), "jax")
    forget_assumptions()
    result = jax.tree.unflatten(returned[-1], region.result_avals)
    return Trial(region.uses_register, result)


def any_applies(
    table: DimensionTable, scope: QuantumScope, functions: Sequence[Function], *arguments: Any
) -> bool:
    """Whether any of these functions applies an operator, on these arguments."""
    return any(
        try_out(table, scope, function, *arguments).applies_operators for function in functions
    )


def refuse_operators(table: DimensionTable, function: Function, *arguments: Any) -> None:
    """Refuse a function that applies operators, where JAX calls it as often as it likes."""
    scope = recording_scope()
    if scope is None or not try_out(table, scope, function, *arguments).applies_operators:
        return
    what = "a function given to jax.lax.associative_scan, which calls it in an order of its own"
    raise ForeignRegionError(
        operation="an operator", region=what, hint="use jax.lax.scan", span=user_span()
    )
