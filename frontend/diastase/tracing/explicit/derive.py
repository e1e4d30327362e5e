"""From a symbolic program to its explicit form.

    b:f64[d0 + 1] = broadcast_in_dim 1.0           b:i64[] = add a 1
                                            ->     c:f64[b] = broadcast_in_dim[shape=(None,)] 1.0 b

A size is the first variable that holds it (`n + 1` where the program computed it), else it is
computed by equations put in before its use. A nested jaxpr sees no sizes from outside: those that
it needs are *captured*, as further leading operands.

Loops (`for_loop`, `while_loop`): sizes in the types of carried values are implicit arguments and
results, one for each different size; captured sizes count among the constants. The results have
the sizes of the initial values, which tracing has made sure of.

The trap: JAX lets a scalar stand for an array operand of arithmetic; where the result's size is a
variable, the explicit form says so with a `broadcast_in_dim`.
"""

from jax.extend.core import ClosedJaxpr

from diastase.tracing.explicit.equations import translate
from diastase.tracing.explicit.model import ExplicitJaxpr
from diastase.tracing.explicit.scope import Scope
from diastase.tracing.trace import TracedProgram
from diastase_mlir.jax_internals import is_symbolic


def derive_explicit(traced: TracedProgram) -> ExplicitJaxpr | ClosedJaxpr:
    """The explicit form; JAX's own jaxpr if no size is symbolic."""
    closed = traced.program.jaxpr
    bindings = traced.program.dimensions
    if not bindings.values and not bindings.axes:
        return closed
    scope = Scope(traced.sizes)
    named = {name for pairs in bindings.axes.values() for name, _ in pairs}
    inputs = closed.jaxpr.invars
    implicit = [
        scope.declare(size)
        for variable in inputs
        for size in getattr(variable.aval, "shape", ())
        if is_symbolic(size) and str(size) in named and not scope.knows(size)
    ]
    explicit = [scope.bind(variable) for variable in inputs]
    constants = [scope.bind(variable) for variable in closed.jaxpr.constvars]
    translate(scope, closed.jaxpr)
    outputs = [scope.atom(output) for output in closed.jaxpr.outvars]
    sizes = scope.sizes_in(outputs, known=[*implicit, *explicit])
    return ExplicitJaxpr(
        constants=tuple(zip(constants, closed.consts, strict=True)),
        inputs=(*implicit, *explicit),
        equations=tuple(scope.equations),
        outputs=(*sizes, *outputs),
        implicit_inputs=len(implicit),
        implicit_outputs=len(sizes),
    )
