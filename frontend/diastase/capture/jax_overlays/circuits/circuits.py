"""Control flow of JAX around gates: what it says about values, it says about gates, too.

JAX's loops and branches trace their functions once, into jaxprs that know nothing of a circuit. So
where the region of a circuit records, and a function given to one of them applies operators, the
same is recorded by control flow of ours (`scan`, `map` and `vmap`: `mapped_gates`); `checkpoint`
calls its function. Without operators, and outside of circuits, JAX does what it does. Whether a
function applies operators is seen in a trial (`effect_probe`).

The trap: JAX's functions are replaced where users look them up (`jax.lax.scan`). One that a module
has imported by its name before diastase is JAX's own, and operators inside are refused.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp

from diastase.capture.control_flow.branches import Branch, chain_index, trace_switch
from diastase.capture.control_flow.loop_state import LoopOptions
from diastase.capture.control_flow.loops import trace_for_loop, trace_while_loop
from diastase.capture.jax_overlays.circuits.effect_probe import any_applies, recording_scope
from diastase.capture.jax_overlays.overlay import Original, Overlays
from diastase.dynamic_shapes.dimensions import DimensionTable
from diastase_mlir.jax_compat import as_arrays

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
    return trace_while_loop(cond_fun, lambda value: (body_fun(value),), (initial,), LoopOptions())


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
    return trace_for_loop(bounds, lambda i, value: (body_fun(i, value),), (initial,), LoopOptions())


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


OVERLAYS: Overlays = {
    "lax_cond": _cond,
    "lax_switch": _switch,
    "lax_while_loop": _while_loop,
    "lax_fori_loop": _fori_loop,
    "checkpoint": _checkpoint,
}
