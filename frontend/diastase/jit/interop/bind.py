"""From a call with tracers of plain JAX to the equation `program`.

The sizes of arguments are known there, so nothing is learnt and nothing is dynamic, but an integer
that is a size still is one: what a size depends on may vary from call to call, the sizes of results
may not, as XLA allocates them. Where they do depend on integers, and those are known at this call,
there is a program for each of them.

A function may close over tracers of the transformation, too, as in `jax.grad(lambda x: qjit(lambda
y: x * y)(2.0))`. A compiled program has no place for `x`, so the function is traced once, with it,
and what is compiled is the jaxpr of that trace as a function of `x`, too. Nothing of it is kept:
the next call closes over other tracers.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from diastase.capture.tracer_errors import LeakedTracerError
from diastase.jit.dispatch.keys import program_key
from diastase.jit.dispatch.program_cache import Plan, Programs
from diastase.jit.interop.embedded_program import EmbeddedProgram, flat
from diastase.jit.interop.primitive import program_p
from diastase.jit.options.errors import UnknownResultSizeError
from diastase.jit.stages.trace_call import (
    Arguments,
    any_symbolic,
    flattened,
    read_arguments,
    trace_call,
    tracing_with,
)
from diastase.tracing.signatures import Call
from diastase.tracing.trace import trace_open
from diastase_mlir import user_span
from diastase_mlir.jax_compat import abstract_value, evaluate_jaxpr, is_being_transformed

Build = Callable[..., Any]
"""From flat results to their pytree."""


class ImpureCall:
    """The call of a program whose results differ from call to call, with concrete arguments.

    Within a transformation it is part of what is transformed, or a loop of JAX's would draw once.
    """

    def __init__(self, plan: Plan, programs: Programs, call: Call, tree: Any) -> None:
        self._plan, self._programs, self._tree = plan, programs, tree
        self._call = Call((), {}, call.static)

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """Run the program, or make an equation."""
        if is_being_transformed():
            return bind_call(self._programs, self._call, leaves, self._tree)
        return self._plan(leaves)


def bind_call(programs: Programs, call: Call, leaves: Sequence[Any], tree: Any) -> Any:
    """Make the equation of a call, and return its results in their pytree."""
    programs.made.refuse_if_replaced(programs.signature.name)
    types: list[Any] = list(map(_type_of, leaves))
    args, kwargs = jax.tree_util.tree_unflatten(tree, types)
    call = Call(args, kwargs, call.static)
    arguments = read_arguments(programs.signature, call, may_be_types=True)

    try:
        found = _once(programs, arguments, {})
    except LeakedTracerError as error:
        return _call_closing_over(programs, arguments, leaves, error)
    known: dict[int, Any] = {}
    if isinstance(found, UnknownResultSizeError) and (known := _known_integers(leaves)):
        found = _once(programs, arguments, known)
    if isinstance(found, UnknownResultSizeError):
        raise found
    program, build = found
    return build(_equation(program, _others(leaves, known)))


def _equation(program: EmbeddedProgram, operands: Sequence[Any]) -> Sequence[Any]:
    try:
        return program_p.bind(*map(_array, operands), program=program)
    except LeakedTracerError:  # inside the program, when it is differentiated
        raise
    except jax.errors.UnexpectedTracerError as error:
        what = f"an argument of {program.name} belongs to a trace that is over"
        raise LeakedTracerError(what=what, span=user_span()) from error


def _once(
    programs: Programs, arguments: Arguments, known: dict[int, Any]
) -> tuple[EmbeddedProgram, Build] | UnknownResultSizeError:
    """What is made for these types and known integers, found again by the key that there is by now.

    As for `Specialisations`: what a method has read of its object is part of it.
    """
    values = tuple((place, int(leaf)) for place, leaf in known.items())

    def key() -> Hashable:
        call, tree, avals = arguments.call, arguments.tree, arguments.avals
        return program_key(programs.signature, call, tree, avals), values

    made = programs.made
    with made.embedded_lock:
        found = made.embedded.get(key())
        if found is None:
            found = _made(programs, arguments, known)
            made.embedded[key()] = found
    return found


def _call_closing_over(
    programs: Programs,
    arguments: Arguments,
    leaves: Sequence[Any],
    failure: LeakedTracerError,
) -> Any:
    """Make the equation of a call, whose operands are what the function closes over, too.

    It is traced for this call alone, so all that is known is constant. `failure`: what is raised if
    a tracer is of no transformation that we are in.
    """
    name, function, known = programs.signature.name, programs.function, _known_integers(leaves)
    if known:
        function, arguments = _without(known, function, arguments)
    operands = [_array(leaf) for leaf in _others(leaves, known)]
    count = len(operands)
    traced_function, out_trees = flattened(function, programs.signature, arguments)
    with tracing_with(programs.options, name):
        jaxpr, captured = trace_open(traced_function, arguments.avals, name, arguments.names)
    is_traced = [isinstance(value, Tracer) for value in captured]
    constants = [
        None if traced else value for value, traced in zip(captured, is_traced, strict=True)
    ]
    tracers = [value for value in captured if isinstance(value, Tracer)]

    def flat_function(*given: Any) -> Sequence[Any]:
        captures = iter(given[count:])
        values = [
            next(captures) if traced else value
            for value, traced in zip(constants, is_traced, strict=True)
        ]
        return evaluate_jaxpr(jaxpr, [*values, *given[:count]])

    program = EmbeddedProgram(
        name,
        flat_function,
        (*arguments.avals, *(jax.typeof(tracer) for tracer in tracers)),
        tuple(jaxpr.out_avals),
        (*arguments.names, *(f"closed over {number}" for number in range(len(tracers)))),
        programs.options,
    )
    try:
        results = program_p.bind(*operands, *tracers, program=program)
    except jax.errors.UnexpectedTracerError:  # of a transformation that is over
        raise failure from None
    return out_trees[-1].unflatten(results)


def _others(leaves: Sequence[Any], known: dict[int, Any]) -> list[Any]:
    return [leaf for place, leaf in enumerate(leaves) if place not in known]


def _known_integers(leaves: Sequence[Any]) -> dict[int, Any]:
    return {place: leaf for place, leaf in enumerate(leaves) if _is_known_integer(leaf)}


def _is_known_integer(leaf: Any) -> bool:
    if isinstance(leaf, Tracer | bool) or np.ndim(leaf) != 0:
        return False
    return isinstance(leaf, int) or jnp.issubdtype(getattr(leaf, "dtype", bool), np.integer)


def _type_of(leaf: Any) -> Any:
    """The type of an argument; what has none is refused where arguments are read."""
    try:
        aval: Any = abstract_value(leaf)
        return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)
    except (TypeError, ValueError, AttributeError):
        return leaf


def _array(leaf: Any) -> Any:
    return leaf if isinstance(leaf, jax.Array | Tracer) else jnp.asarray(leaf)


def _made(
    programs: Programs, arguments: Arguments, known: dict[int, Any]
) -> tuple[EmbeddedProgram, Build] | UnknownResultSizeError:
    """Trace the function, for the types of its results; it is compiled when it runs first.

    `known`: arguments that are constants of the program, by their place among the leaves.
    """
    signature, function = programs.signature, programs.function
    if known:
        function, arguments = _without(known, function, arguments)
    traced = trace_call(function, signature, arguments, programs.options)
    out_avals = traced.traced.out_avals
    if any_symbolic(out_avals):
        types = ", ".join(aval.str_short() for aval in out_avals)
        return UnknownResultSizeError(function=signature.name, types=types)
    program = EmbeddedProgram(
        signature.name,
        flattened(function, signature, arguments)[0],
        arguments.avals,
        out_avals,
        arguments.names,
        programs.options,
        given=flat(traced),
    )
    return program, traced.out_tree.unflatten


def _without(
    known: dict[int, Any], function: Callable[..., Any], arguments: Arguments
) -> tuple[Callable[..., Any], Arguments]:
    """The function of the other arguments, one by one, and these."""
    call, tree = arguments.call, arguments.tree
    rest = [place for place in range(len(arguments.avals)) if place not in known]

    def of_rest(*values: Any) -> Any:
        leaves = {**known, **dict(zip(rest, values, strict=True))}
        args, kwargs = call.merge(*tree.unflatten([leaves[place] for place in sorted(leaves)]))
        return function(*args, **kwargs)

    of_rest.__wrapped__ = function  # type: ignore[attr-defined]  # whose lines errors show
    leaves = [arguments.leaves[place] for place in rest]
    fewer = Call(tuple(leaves), {})
    return of_rest, replace(
        arguments,
        call=fewer,
        leaves=leaves,
        tree=jax.tree_util.tree_structure((tuple(rest), {})),
        avals=tuple(arguments.avals[place] for place in rest),
        names=tuple(arguments.names[place] for place in rest),
    )
