"""Compiled functions that close over tracers of the transformation around them.

    jax.grad(lambda x: qjit(lambda y: x * y)(2.0))

A compiled program has no place for `x`, so the function is traced once, with it, and what is
compiled is the jaxpr of that trace as a function of `x`, too. Nothing of it is kept: the next call
closes over other tracers.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.core import Tracer

from diastase.capture.tracer_errors import LeakedTracerError
from diastase.jit.dispatch.program_cache import Arguments, flattened, tracing_with
from diastase.jit.dispatch.programs import Programs
from diastase.jit.interop.embedded_program import AroundProgram
from diastase.jit.interop.primitive import program_p
from diastase.tracing.trace import trace_open
from diastase_mlir.jax_compat import evaluate_jaxpr


def call_closing_over(
    programs: Programs,
    function: Callable[..., Any],
    arguments: Arguments,
    leaves: Sequence[Any],
    failure: LeakedTracerError,
) -> Any:
    """Make the equation of a call, whose operands are what the function closes over, too.

    `failure`: what is raised if a tracer is of no transformation that we are in.
    """
    name = programs.signature.name
    traced_function, out_trees = flattened(function, programs.signature, arguments)
    with tracing_with(programs.options, name):
        jaxpr, captured = trace_open(traced_function, arguments.avals, name, arguments.names)
    is_traced = [isinstance(value, Tracer) for value in captured]
    constants = [
        None if traced else value for value, traced in zip(captured, is_traced, strict=True)
    ]
    tracers = [value for value in captured if isinstance(value, Tracer)]

    def flat_function(*operands: Any) -> Sequence[Any]:
        given = iter(operands[len(leaves) :])
        values = [
            next(given) if traced else value
            for value, traced in zip(constants, is_traced, strict=True)
        ]
        return evaluate_jaxpr(jaxpr, [*values, *operands[: len(leaves)]])

    program = AroundProgram(
        name,
        flat_function,
        (*arguments.avals, *(jax.typeof(tracer) for tracer in tracers)),
        tuple(jaxpr.out_avals),
        (*arguments.names, *(f"closed over {number}" for number in range(len(tracers)))),
        programs.options,
    )
    try:
        results = program_p.bind(*leaves, *tracers, program=program)
    except jax.errors.UnexpectedTracerError:  # of a transformation that is over
        raise failure from None
    return out_trees[-1].unflatten(results)
