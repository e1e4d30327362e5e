"""From a symbolic program to its explicit form.

    b:f64[d0 + 1] = broadcast_in_dim 1.0           b:i64[] = add a 1
                                            ->     c:f64[b] = broadcast_in_dim[shape=(None,)] 1.0 b

A size is the first variable that holds it (`n + 1` where the program computed it), else it is
computed by equations put in before its use. A nested jaxpr sees no sizes from outside: those that
it needs are *captured*, as further leading operands (`nested`).

The trap: JAX lets a scalar, or an axis of size 1, stand for an array operand of arithmetic; where
the result's size is a variable, the explicit form says so with a `broadcast_in_dim`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from jax.extend.core import ClosedJaxpr, Jaxpr, Var

from diastase.inspection.explicit_jaxpr.model import ExplicitEquation, ExplicitJaxpr
from diastase.inspection.explicit_jaxpr.nested import (
    NESTED_RULES,
    translate_nested,
)
from diastase.inspection.explicit_jaxpr.scope import Parameters, Scope, places_of
from diastase.inspection.explicit_jaxpr.types import (
    Atom,
    ExplicitType,
    ExplicitVariable,
    array_type,
    collapse,
    expand_results,
)
from diastase.tracing.trace import TracedProgram
from diastase_mlir.jax_compat import (
    dimension_symbols,
    jaxprs_in,
    normalised,
    symbol_expression,
)
from diastase_mlir.program import DimensionBindings


def derive_explicit(traced: TracedProgram) -> ExplicitJaxpr | ClosedJaxpr:
    """The explicit form; JAX's own jaxpr if no size is symbolic."""
    bindings = traced.program.dimensions
    if not bindings.values and not bindings.axes:
        return traced.program.jaxpr
    return explicit_jaxpr(traced.program.jaxpr, traced.sizes, bindings)


def explicit_jaxpr(
    closed: ClosedJaxpr,
    sizes: Mapping[Var, Any] | None = None,
    bindings: DimensionBindings | None = None,
) -> ExplicitJaxpr:
    """The explicit form of a jaxpr.

    Args:
        closed: a `ClosedJaxpr` of JAX's, as `f.jaxpr` is where no size is dynamic.
        sizes: for the package itself: which expressions integer variables are.
        bindings: for the package itself: where sizes of arguments come from.

    Returns:
        An `ExplicitJaxpr`.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from diastase.jaxpr import explicit_jaxpr
        >>> explicit_jaxpr(jax.make_jaxpr(jnp.sin)(1.0))
        { lambda ; a:f64[]. let b:f64[] = sin a in (b,) }

    """
    scope = Scope(sizes or {}, _translate)
    jaxpr = closed.jaxpr
    implicit = {size: scope.declare(size) for size in places_of(jaxpr.invars)}
    inputs = [*implicit.values(), *(scope.bind_input(variable) for variable in jaxpr.invars)]
    if bindings is not None:
        _solve_sizes(scope, bindings)
    constants = [scope.bind_input(variable) for variable in jaxpr.constvars]
    outputs = scope.translate(jaxpr)
    expanded, type_ = expand_results(inputs, outputs)
    return ExplicitJaxpr(
        constants=tuple(zip(constants, closed.consts, strict=True)),
        inputs=tuple(inputs),
        equations=tuple(scope.equations),
        outputs=expanded,
        num_implicit_inputs=len(implicit),
        num_implicit_outputs=len(expanded) - len(collapse(expanded, type_)),
        assumed_equal=tuple(scope.assumed_equal),
    )


def _solve_sizes(scope: Scope, bindings: DimensionBindings) -> None:
    """Symbols that no argument has as a size: `m`, where there is an axis of `2*m`."""
    used = {name for size in bindings.solved.values() for name in dimension_symbols(size)}
    for variable, pairs in bindings.axes.items():
        for name, axis in pairs:
            if name in used:
                size = getattr(variable.aval, "shape", ())[axis]
                scope.define(symbol_expression(size, name), size)
    for name, expression in bindings.solved.items():
        scope.define(symbol_expression(expression, name), expression)


def _translate(scope: Scope, jaxpr: Jaxpr) -> None:
    """Add the equations of a symbolic jaxpr to those of a scope."""
    for equation in jaxpr.eqns:
        rule = translate_nested if jaxprs_in(equation.params) else translate_plain
        _RULES.get(equation.primitive.name, rule)(scope, equation)


# --- equations without jaxprs --------------------------------------------------------------------

_ELEMENTWISE = frozenset(
    "add sub mul div rem max min pow atan2 nextafter and or xor eq ne lt le gt ge complex "
    "shift_left shift_right_logical shift_right_arithmetic".split()
)
"""Arithmetic on two operands; JAX lets one be a scalar, or have axes of size 1."""


def translate_check(_: Scope, __: Any) -> None:
    """Checks say what every use of a size implies, or what the types of the program imply."""


def translate_dimension(scope: Scope, equation: Any) -> None:
    """`dim_as_value` is the variable that holds the size."""
    (result,) = equation.outvars
    held = scope.held(equation.params["dim"])
    if held.type.aval.dtype != result.aval.dtype:
        held = scope.converted(held, result.aval)
    scope.alias(result, held)


def translate_plain(scope: Scope, equation: Any) -> None:
    """Sizes among the parameters become operands."""
    operands = [scope.atom(operand) for operand in equation.invars]
    params = Parameters(scope)
    explicit = {name: params.explicit(value) for name, value in equation.params.items()}
    implicit = scope.declare_implicit(equation.outvars)
    if equation.primitive.name in _ELEMENTWISE:
        (result,) = equation.outvars
        wanted, type_ = _normal_shape(result), scope.type_of(result.aval)
        operands = [
            operand if _normal_shape(variable) == wanted else _broadcast(scope, operand, type_)
            for variable, operand in zip(equation.invars, operands, strict=True)
        ]
    if params.sizes and equation.primitive.name == "broadcast_in_dim":
        explicit.pop("sharding")  # as JAX prints it: implied by the type of the result
    original = None if params.sizes else equation
    operands = [*operands, *params.sizes]
    scope.record(equation, operands, [*implicit.values()], explicit, original)


def _normal_shape(variable: Any) -> list[Any]:
    """Sizes, alike where they have been assumed to be equal."""
    return list(map(normalised, variable.aval.shape))


def _broadcast(scope: Scope, operand: Atom, result: ExplicitType) -> Atom:
    """A scalar, or an operand with axes of size 1, at the shape of the result if that has sizes."""
    shape, own = result.shape or (), operand.type.shape or ()
    if own == shape or all(isinstance(size, int) for size in shape):
        return operand
    sizes = [size for size in shape if not isinstance(size, int)]
    params = {
        "broadcast_dimensions": tuple(range(len(own))),
        "shape": tuple(size if isinstance(size, int) else None for size in shape),
    }
    wide = ExplicitVariable(array_type(shape, operand.type.aval.dtype))
    scope.equations.append(ExplicitEquation("broadcast_in_dim", (operand, *sizes), (wide,), params))
    return wide


_RULES: Mapping[str, Callable[[Scope, Any], None]] = {
    "assert_size": translate_check,
    "assume": translate_check,
    "dim_as_value": translate_dimension,
    **NESTED_RULES,
}
