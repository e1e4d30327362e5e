"""`jax.lax`'s control flow, `jax.vmap` and `jax.checkpoint` of functions that apply operators.

JAX's loops and branches trace their functions once, into jaxprs that know nothing of a circuit. So
where the region of a circuit records, and a function given to one of them applies operators, the
same is recorded by control flow of ours; `scan`, `map` and `vmap` are a loop over rows, whose
results are put into arrays made before it. Without operators, and outside of circuits, JAX does
what it does. Whether a function applies operators is seen in a trial (`effect_probe`).

The trap: JAX's functions are replaced where users look them up (`jax.lax.scan`). One that a module
has imported by its name before diastase is JAX's own, and operators inside are refused.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from diastase.capture.control_flow.branches import Branch, chain_index, trace_switch
from diastase.capture.control_flow.loops import trace_for_loop, trace_while_loop
from diastase.capture.jax_overlays.effect_probe import Trial, any_applies, recording_scope, try_out
from diastase.capture.jax_overlays.overlay import Original, Overlays
from diastase.capture.pennylane_compat import without_operators
from diastase.capture.regions import QuantumScope
from diastase.dynamic_shapes.dimensions import DimensionTable
from diastase_mlir.jax_compat import along_directions, as_arrays

Function = Callable[..., Any]


# --- branches ------------------------------------------------------------------------------------


def _cond(table: DimensionTable, original: Original, *args: Any, **keywords: Any) -> Any:
    scope = recording_scope()
    if scope is None or len(args) < 3 or not (callable(args[1]) and callable(args[2])):
        return original(*args, **keywords)
    predicate, true_fun, false_fun, *operands = args
    operands = as_arrays([*operands, *keywords.values()])
    if not any_applies(table, scope, [true_fun, false_fun], *operands):
        return original(*args, **keywords)
    branches = [
        Branch("true_fun", lambda: true_fun(*operands)),
        Branch("false_fun", lambda: false_fun(*operands)),
    ]
    return trace_switch(chain_index([predicate]), branches, "jax.lax.cond")


def _switch(
    table: DimensionTable,
    original: Original,
    index: Any,
    branches: Sequence[Function],
    *operands: Any,
    **keywords: Any,
) -> Any:
    scope = recording_scope()
    values = as_arrays([*operands, *keywords.values()])
    if scope is None or not branches or not any_applies(table, scope, branches, *values):
        return original(index, branches, *operands, **keywords)
    position = jnp.clip(index, 0, len(branches) - 1).astype(int)
    named = [_branch(number, branch, values) for number, branch in enumerate(branches)]
    return trace_switch(position, named, "jax.lax.switch")


def _branch(number: int, function: Function, operands: Sequence[Any]) -> Branch:
    return Branch(f"branch {number}", lambda: function(*operands))


# --- loops ---------------------------------------------------------------------------------------


def _while_loop(
    table: DimensionTable, original: Original, cond_fun: Function, body_fun: Function, init_val: Any
) -> Any:
    scope = recording_scope()
    if scope is None:
        return original(cond_fun, body_fun, init_val)
    initial = as_arrays(init_val)
    if not any_applies(table, scope, [cond_fun, body_fun], initial):
        return original(cond_fun, body_fun, init_val)
    return trace_while_loop(cond_fun, lambda value: (body_fun(value),), (initial,))


def _fori_loop(
    table: DimensionTable,
    original: Original,
    lower: Any,
    upper: Any,
    body_fun: Function,
    init_val: Any,
    **keywords: Any,
) -> Any:
    scope = recording_scope()
    initial = as_arrays(init_val)
    if scope is None or not any_applies(table, scope, [body_fun], jnp.asarray(lower), initial):
        return original(lower, upper, body_fun, init_val, **keywords)
    bounds = lower, upper, 1
    return trace_for_loop(bounds, lambda i, value: (body_fun(i, value),), (initial,))


def _checkpoint(_: DimensionTable, original: Original, *args: Any, **keywords: Any) -> Any:
    jax_checkpoint = original(*args, **keywords)
    if not args or not callable(args[0]):  # options first, the function later
        return jax_checkpoint
    (function, *_rest) = args

    @functools.wraps(function)
    def called(*values: Any, **named: Any) -> Any:
        if recording_scope() is None:
            return jax_checkpoint(*values, **named)
        return function(*values, **named)  # what is kept for derivatives matters inside of them

    return called


def _scan(
    table: DimensionTable,
    original: Original,
    f: Function,
    init: Any,
    xs: Any = None,
    length: Any = None,
    reverse: bool = False,
    *others: Any,
    **keywords: Any,
) -> Any:
    scope = recording_scope()
    if scope is None:
        return original(f, init, xs, length, reverse, *others, **keywords)
    rows = as_arrays(xs)
    number = _number_of_rows(table, rows, length)
    row = jax.tree.map(_type_of_row, rows)
    initial, trial = _settled(table, scope, f, as_arrays(init), row)
    if number is None or not trial.applies_operators:
        return original(f, init, xs, length, reverse, *others, **keywords)
    return _loop_over_rows(f, initial, trial.result[1], rows, number, reverse)


def _map(table: DimensionTable, original: Original, f: Function, xs: Any, **keywords: Any) -> Any:
    scope = recording_scope()
    rows = as_arrays(xs)
    number = _number_of_rows(table, rows, None)
    if scope is None or number is None:
        return original(f, xs, **keywords)
    trial = try_out(table, scope, f, jax.tree.map(_type_of_row, rows))
    if not trial.applies_operators:
        return original(f, xs, **keywords)
    return _loop_over_rows(lambda _, row: (None, f(row)), None, trial.result, rows, number)[1]


def _number_of_rows(table: DimensionTable, rows: Any, length: Any) -> Any:
    """How many rows there are; None where JAX is to say what is wrong with them."""
    sizes = [leaf.shape[0] if leaf.ndim else None for leaf in jax.tree.leaves(rows)]
    if length is not None:
        sizes.append(table.size(length) if hasattr(length, "aval") else length)
    if not sizes or not all(size is not None and size == sizes[0] for size in sizes):
        return None
    return sizes[0]


def _type_of_row(array: Any) -> Any:
    """What stands for a row while its number is not known."""
    return jax.ShapeDtypeStruct(array.shape[1:], array.dtype) if array.ndim else array


def _settled(
    table: DimensionTable, scope: QuantumScope, f: Function, initial: Any, row: Any
) -> tuple[Any, Trial]:
    """Initial values of the types that the body gives them, and what the body does on them."""
    while True:
        trial = try_out(table, scope, f, initial, row)
        result = trial.result
        if not isinstance(result, tuple | list) or len(result) != 2:
            return initial, Trial(False, None)  # JAX says that it must be a pair
        leaves, tree = jax.tree.flatten(initial)
        given, given_tree = jax.tree.flatten(result[0])
        if given_tree != tree:
            return initial, trial
        changed = [
            value.weak_type and value.dtype != aval.dtype
            for value, aval in zip(map(jax.typeof, leaves), given, strict=True)
        ]
        if not any(changed):
            return initial, trial
        settled = [
            lax.convert_element_type(value, jnp.result_type(value, aval)) if change else value
            for value, aval, change in zip(leaves, given, changed, strict=True)
        ]
        initial = jax.tree.unflatten(tree, settled)


def _loop_over_rows(
    f: Function, initial: Any, row_types: Any, rows: Any, number: Any, reverse: bool = False
) -> tuple[Any, Any]:
    """`scan` by a loop of ours; what the body gives for each row is put into arrays."""

    def step(index: Any, carry: Any, kept: Any) -> tuple[Any, Any]:
        place = number - 1 - index if reverse else index
        row = jax.tree.map(
            lambda array: lax.dynamic_index_in_dim(array, place, 0, keepdims=False), rows
        )
        carry, given = f(carry, row)
        given = without_operators(given)
        kept = jax.tree.map(
            lambda array, value: lax.dynamic_update_index_in_dim(
                array, jnp.asarray(value).astype(array.dtype), place, 0
            ),
            kept,
            given,
        )
        return carry, kept

    kept = jax.tree.map(lambda aval: jnp.zeros((number, *aval.shape), aval.dtype), row_types)
    carry, kept = trace_for_loop((0, number, 1), step, (initial, kept))
    return carry, kept


def _vmap(
    table: DimensionTable,
    original: Original,
    fun: Function,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    *others: Any,
    **keywords: Any,
) -> Function:
    jax_vmap = original(fun, in_axes, out_axes, axis_name, axis_size, *others, **keywords)

    @functools.wraps(fun)
    def mapped(*args: Any, **named: Any) -> Any:
        scope = recording_scope()
        if scope is None or axis_name is not None or not _is_plain(out_axes):
            return jax_vmap(*args, **named)
        values = as_arrays((args, named))
        axes = in_axes if isinstance(in_axes, tuple | list) else (in_axes,) * len(args)
        leaves, tree = jax.tree.flatten(values)
        flat_axes = _broadcast((tuple(axes), dict.fromkeys(named, 0)), values)
        if flat_axes is None:
            return jax_vmap(*args, **named)
        pairs = list(zip(leaves, flat_axes, strict=True))
        rows = [jnp.moveaxis(leaf, axis, 0) for leaf, axis in pairs if axis is not None]

        def of_row(row: Sequence[Any]) -> Any:
            remaining = iter(row)
            elements = [leaf if axis is None else next(remaining) for leaf, axis in pairs]
            arguments, keyword_arguments = jax.tree.unflatten(tree, elements)
            return fun(*arguments, **keyword_arguments)

        number = _number_of_rows(table, rows, axis_size)
        if number is None:
            return jax_vmap(*args, **named)
        trial = try_out(table, scope, of_row, list(map(_type_of_row, rows)))
        if not trial.applies_operators:
            return jax_vmap(*args, **named)
        body = lambda _, row: (None, of_row(row))  # noqa: E731
        _, results = _loop_over_rows(body, None, trial.result, rows, number)
        places = jax.tree.broadcast(out_axes, results)
        return jax.tree.map(lambda array, axis: jnp.moveaxis(array, 0, axis), results, places)

    return mapped


def _is_plain(axes: Any) -> bool:
    """Whether all of these axes are numbers."""
    leaves = jax.tree.leaves(axes, is_leaf=lambda axis: axis is None)
    return all(isinstance(axis, int) for axis in leaves)


def _broadcast(axes: Any, values: Any) -> list[Any] | None:
    """For each leaf its axis, None for one that is not mapped; None if they do not fit."""
    try:
        full = jax.tree.broadcast(axes, values, is_leaf=lambda axis: axis is None)
    except ValueError:
        return None
    return jax.tree.leaves(full, is_leaf=lambda axis: axis is None)


def _jvp(
    _: DimensionTable,
    original: Original,
    function: Callable[..., Any],
    primals: Any,
    tangents: Any,
    has_aux: bool = False,
) -> Any:
    with along_directions(jax.tree.leaves(primals), jax.tree.leaves(tangents)):
        return original(function, primals, tangents, has_aux)


OVERLAYS: Overlays = {
    "lax_cond": _cond,
    "lax_switch": _switch,
    "lax_while_loop": _while_loop,
    "lax_fori_loop": _fori_loop,
    "checkpoint": _checkpoint,
    "lax_scan": _scan,
    "lax_map": _map,
    "vmap": _vmap,
    "jvp": _jvp,
}
