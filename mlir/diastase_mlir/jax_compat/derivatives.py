"""Forward derivatives of flat functions, with zeros that are known to be zeros.

`jax.jvp` takes arrays only, and makes an array of every derivative that is zero by construction.
"""

# Private names are what this package is for.
# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jax.extend import source_info_util
from jax.extend.core import Literal, TraceTag, set_current_trace, take_current_trace
from jax.interpreters.ad import JVPTrace, Zero

from diastase_mlir.jax_compat.private import ad, core

Zero = Zero


def forward_derivative(
    function: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Results of a flat function and their tangents, of which some are `Zero`, as the given."""
    with take_current_trace() as parent:
        trace = JVPTrace(parent, TraceTag())
        tracers = [
            ad.maybe_jvp_tracer(trace, primal, tangent)
            for primal, tangent in zip(primals, tangents, strict=True)
        ]
        with set_current_trace(trace):
            results = function(*tracers)
        pairs = [trace.to_primal_tangent_pair(result) for result in results]
    return [primal for primal, _ in pairs], [tangent for _, tangent in pairs]


def with_tangent(value: Any, tangent: Any) -> Any:
    """Inside of `forward_derivative`: a value, with a tangent of its own."""
    return ad.maybe_jvp_tracer(core.trace_ctx.trace, value, tangent)


Binding = Callable[..., Sequence[Any]]


def evaluate_jaxpr(
    jaxpr: Any,
    operands: Sequence[Any],
    instead: Mapping[str, Binding] | None = None,
    note: Callable[[Any, Any], None] = lambda _, __: None,
) -> list[Any]:
    """The equations of a closed jaxpr, bound again; each recorded as from its own line.

    `instead`: by the name of a primitive, what is called for an equation with it and its operands.
    `note` is told of every variable, and of the value that it has this time.
    """
    inner, instead = jaxpr.jaxpr, instead or {}
    values: dict[Any, Any] = dict(zip(inner.constvars, jaxpr.consts, strict=True))
    values |= dict(zip(inner.invars, operands, strict=True))
    for variable, value in values.items():
        note(variable, value)

    def read(atom: Any) -> Any:
        return atom.val if isinstance(atom, Literal) else values[atom]

    for equation in inner.eqns:
        arguments = [read(atom) for atom in equation.invars]
        traceback, names = equation.source_info.traceback, equation.source_info.name_stack
        with source_info_util.user_context(traceback, name_stack=names):
            other = instead.get(equation.primitive.name)
            results = (
                evaluate_equation(equation, arguments)
                if other is None
                else other(equation, *arguments)
            )
        for variable, result in zip(equation.outvars, results, strict=True):
            values[variable] = result
            note(variable, result)
    return [read(atom) for atom in inner.outvars]


def evaluate_equation(equation: Any, arguments: Sequence[Any]) -> Sequence[Any]:
    """The results of an equation, once more, for these operands."""
    primitive = equation.primitive
    with equation.ctx.manager:
        results = primitive.bind(*arguments, **primitive.get_bind_params(equation.params))
    return results if primitive.multiple_results else [results]
