"""The one entry into tracing: a flat function and abstract values in, a `TracedProgram` out.

The caller (`api`) flattens pytrees: `function` takes and returns flat lists of arrays. The jaxpr
is JAX's, over symbolic dimensions, with every `jax.jit` inlined; nothing is ever cached here, so
tracing the same function twice gives two programs whose symbols are unrelated.

Abstract values of arguments may have symbolic dimensions (`jax.export.symbolic_shape`); equal names
mean equal sizes, which the caller of the compiled program has to check (`axis_sizes`).

The trap: the jaxpr's constants are the concrete arrays that the function closed over. They are
values of the program, not arguments; a function that closes over a *tracer* is refused.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Var

from diastase.autodiff import expand_derivatives, install_rules
from diastase.capture.context import new_context
from diastase.capture.jax_errors import jax_failures_as_ours
from diastase.capture.jax_overlays import install_overlays
from diastase.capture.tracer_errors import refuse_tracers
from diastase.dynamic_shapes.dimensions import DimensionTable
from diastase.dynamic_shapes.symbols import check_symbols, input_symbols
from diastase_mlir.jax_compat import EVERY_PROGRAM, JAX, close_over, is_symbolic, trace_to_jaxpr
from diastase_mlir.program import DimensionBindings, Program

install_overlays()
install_rules()


@dataclass(frozen=True)
class TracedProgram:
    """A traced function: what the compiler takes, and how to read its arguments and results."""

    program: Program
    in_avals: tuple[Any, ...]
    """Abstract values of the flat arguments, weak types included."""
    out_avals: tuple[Any, ...]
    """Abstract values of the flat results; sizes may be symbolic dimensions."""
    sizes: Mapping[Var, Any]
    """Integer variables and the expressions that they are: for the explicit form."""
    methods: tuple[Any, ...] = ()
    """How its QNodes are simulated (`QNodeMethod`)."""


def trace(
    function: Callable[..., Sequence[Any]],
    argument_avals: Sequence[Any],
    name: str,
    argument_names: Sequence[str] | None = None,
    example: Sequence[Any] | None = None,
    answers: Mapping[str, bool] | None = None,
    *,
    fixes_sizes: bool = False,
) -> TracedProgram:
    """Trace `function(*flat arguments) -> flat results` over these abstract values.

    `argument_avals`: `jax.core.ShapedArray`s (`jax.typeof(x)` or `shaped_abstractify(x)`; weak
    types and typed PRNG keys kept). `name`: the user's name for the program.
    `argument_names`: one for each flat argument, used in JAX's messages (`x`, `params['w']`).
    `example`: concrete flat arguments, by whose sizes questions are answered that types leave open
    (None for one that is not known); `answers`: to such questions (`Assumption.question`).
    `fixes_sizes`: trace for the sizes of the example only, each of them an assumption.
    Pytrees are the caller's: flatten before, and remember the tree of the results, e.g. by
    storing it from inside `function`.
    """
    names = argument_names or [f"argument {number}" for number in range(len(argument_avals))]
    examples = example or [None] * len(argument_avals)
    with new_context(answers) as context, jax_failures_as_ours():
        JAX.require(EVERY_PROGRAM)
        table = context.dimensions
        inputs = input_symbols(table.scope, argument_avals, argument_names)

        def body(*arguments: Any) -> Sequence[Any]:
            for argument, words, known in zip(arguments, names, examples, strict=True):
                table.note_argument(argument, words, known)
            for position, pairs in inputs.axes.items():
                table.name_axes(arguments[position], pairs)
            for symbol, expression in inputs.solved.items():
                table.solve(symbol, expression)
            if fixes_sizes:
                table.fix_sizes()
                arguments = tuple(map(_of_fixed_sizes, [table] * len(arguments), arguments))
            return function(*arguments)

        jaxpr, captured = trace_to_jaxpr(body, inputs.avals, name, argument_names)
        jaxpr = expand_derivatives(jaxpr)
    refuse_tracers(captured)
    closed = close_over(jaxpr, captured)
    program = Program(name, closed, table.bindings(), tuple(table.assumptions.made), tuple(names))
    check_symbols(program)
    out_avals = tuple(variable.aval for variable in closed.jaxpr.outvars)
    return TracedProgram(program, tuple(inputs.avals), out_avals, dict(table.expressions))


def trace_open(
    function: Callable[..., Sequence[Any]],
    argument_avals: Sequence[Any],
    name: str,
    argument_names: Sequence[str],
) -> tuple[ClosedJaxpr, Sequence[Any]]:
    """Trace a function that may close over tracers of traces around this one.

    Its jaxpr, which is for evaluation in a trace of ours: the values closed over are its leading
    inputs, and they are given, too; derivatives stand in it as JAX asked for them. Where a size is
    a symbol, which means something in its own trace only, tracers are refused.
    """
    with new_context(None) as context, jax_failures_as_ours():
        table = context.dimensions

        def body(*arguments: Any) -> Sequence[Any]:
            for argument, words in zip(arguments, argument_names, strict=True):
                table.note_argument(argument, words, None)
            return function(*arguments)

        jaxpr, captured = trace_to_jaxpr(body, argument_avals, name, argument_names)
    if table.bindings() != DimensionBindings() or table.assumptions.made:
        refuse_tracers(captured)
    return jaxpr, captured


def _of_fixed_sizes(table: DimensionTable, argument: Any) -> Any:
    """An argument whose type has numbers for the sizes that the example gives."""
    if not any(map(is_symbolic, argument.shape)):
        return argument
    sizes = tuple(table.fixed(size) for size in argument.shape)
    # `jax.lax.reshape` would do nothing: the sizes are equal by now.
    return jax.lax.reshape_p.bind(argument, new_sizes=sizes, dimensions=None, sharding=None)
