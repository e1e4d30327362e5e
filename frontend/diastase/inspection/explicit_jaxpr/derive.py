"""From a symbolic program to its explicit form.

    b:f64[d0 + 1] = broadcast_in_dim 1.0           b:i64[] = add a 1
                                            ->     c:f64[b] = broadcast_in_dim[shape=(None,)] 1.0 b

A size is the first variable that holds it (`n + 1` where the program computed it), else it is
computed by equations put in before its use. A nested jaxpr sees no sizes from outside: those that
it needs are *captured*, as further leading operands (`nested`, `loops`).

The trap: JAX lets a scalar, or an axis of size 1, stand for an array operand of arithmetic; where
the result's size is a variable, the explicit form says so with a `broadcast_in_dim`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from jax.extend.core import ClosedJaxpr, Jaxpr, Var

from diastase.inspection.explicit_jaxpr.equations import (
    translate_check,
    translate_dimension,
    translate_plain,
)
from diastase.inspection.explicit_jaxpr.expansion import collapse, expand_results
from diastase.inspection.explicit_jaxpr.loops import translate_for_loop, translate_while_loop
from diastase.inspection.explicit_jaxpr.model import ExplicitJaxpr
from diastase.inspection.explicit_jaxpr.nested import NESTED_RULES, has_jaxprs, translate_nested
from diastase.inspection.explicit_jaxpr.scope import Scope
from diastase.tracing.trace import TracedProgram
from diastase_mlir.jax_compat import dimension_symbols, is_symbolic, symbol_expression
from diastase_mlir.program import DimensionBindings

_RULES: Mapping[str, Callable[[Scope, Any], None]] = {
    "assert_size": translate_check,
    "assume": translate_check,
    "dim_as_value": translate_dimension,
    "for_loop": translate_for_loop,
    "while_loop": translate_while_loop,
    **NESTED_RULES,
}


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
    """The explicit form of a jaxpr; `sizes` says which expressions its integer variables are."""
    scope = Scope(sizes or {}, _translate)
    jaxpr = closed.jaxpr
    shapes = [size for variable in jaxpr.invars for size in getattr(variable.aval, "shape", ())]
    implicit = {size: scope.declare(size) for size in dict.fromkeys(filter(is_symbolic, shapes))}
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
        rule = translate_nested if has_jaxprs(equation) else translate_plain
        _RULES.get(equation.primitive.name, rule)(scope, equation)
