"""From a call with tracers of plain JAX to the equation `program`.

The sizes of arguments are known there, so nothing is learnt and nothing is dynamic, but an integer
that is a size still is one: what a size depends on may vary from call to call, the sizes of results
may not, as XLA allocates them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from diastase.api.around.primitive import program_p
from diastase.api.around.programs import AroundProgram, flat
from diastase.api.calls import PreparedCall
from diastase.api.errors import UnknownResultSizeError
from diastase.api.programs import Programs
from diastase.api.specialisations import (
    any_symbolic,
    flatten_results,
    read_arguments,
    trace_call,
    types_key,
)
from diastase.tracing.signatures import Call
from diastase_mlir.jax_internals import (
    Tracer,
    abstract_value,
    is_being_transformed,
    trace_context,
)


class ImpureCall:
    """The call of a program whose results differ from call to call, with concrete arguments.

    Within a transformation it is part of what is transformed, or a loop of JAX's would draw once.
    """

    def __init__(self, plan: PreparedCall, programs: Programs, call: Call, tree: Any) -> None:
        self._plan, self._programs, self._tree = plan, programs, tree
        self._call = Call((), {}, call.static)

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """Run the program, or make an equation."""
        if is_being_transformed():
            return call_around(self._programs, self._call, leaves, self._tree)
        return self._plan(leaves)


def call_around(programs: Programs, call: Call, leaves: Sequence[Any], tree: Any) -> Any:
    """Make the equation of a call, and return its results in their pytree."""
    types: list[Any] = list(map(_type_of, leaves))
    args, kwargs = jax.tree_util.tree_unflatten(tree, types)
    call = Call(args, kwargs, call.static)
    arguments = read_arguments(programs.signature, call, may_be_types=True)
    static = programs.signature.static_key(call)
    key = (trace_context(), tree, static, types_key(arguments.avals))
    with programs.made.around_lock:
        found = programs.made.around.get(key)
        if found is None:
            found = programs.made.around[key] = _made(programs, arguments)
    program, build = found
    return build(program_p.bind(*map(_array, leaves), program=program))


def _type_of(leaf: Any) -> Any:
    """The type of an argument; what has none is refused where arguments are read."""
    try:
        aval: Any = abstract_value(leaf)
        return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)
    except (TypeError, ValueError, AttributeError):
        return leaf


def _array(leaf: Any) -> Any:
    return leaf if isinstance(leaf, jax.Array | Tracer) else jnp.asarray(leaf)


def _made(programs: Programs, arguments: Any) -> tuple[AroundProgram, Callable[..., Any]]:
    """Trace the function, for the types of its results; it is compiled when it runs first."""
    signature, function = programs.signature, programs.function
    traced = trace_call(function, signature, arguments, programs.options)
    out_avals = traced.traced.out_avals
    if any_symbolic(out_avals):
        types = ", ".join(aval.str_short() for aval in out_avals)
        raise UnknownResultSizeError(function=signature.name, types=types)

    def flat_function(*operands: Any) -> Sequence[Any]:
        args, kwargs = arguments.call.merge(*arguments.tree.unflatten(operands))
        return flatten_results(function, signature.name, function(*args, **kwargs))[0]

    program = AroundProgram(
        signature.name,
        flat_function,
        arguments.avals,
        out_avals,
        arguments.names,
        programs.options,
        given=flat(traced),
    )
    return program, traced.out_tree.unflatten
