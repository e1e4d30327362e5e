"""JAX's private API: the only module that imports `jax._src` and `jaxlib`.

Each entry says which public API is missing. The rest of the project takes the names from here, so
a new JAX version is one file's work.

Lowering hooks: some of JAX's own lowering rules ask for the value of a dimension or lower a nested
jaxpr; for our modules both must go through our walker. The three functions of
`jax._src.interpreters.mlir` concerned are replaced once, on import, by versions that look at the
*module context* in their arguments: ours (`HookedModuleContext`) goes to our walker, any other to
JAX's original. Plain JAX, in this thread or another, is therefore never disturbed.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
from jax._src import api_util, core, linear_util, source_info_util
from jax._src.interpreters import mlir as jax_mlir
from jax._src.interpreters import partial_eval
from jax._src.sharding_impls import ShardingContext

# jaxlib's MLIR bindings have no public name; StableHLO can only be built with them.
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as _stablehlo  # noqa: F401  (registers op classes)

# --- lowering: dimension expressions -------------------------------------------------------------
# `jax.export.symbolic_shape` makes dimension expressions; nothing public takes them apart.


def is_symbolic(dimension: Any) -> bool:
    """Whether a size is a dimension expression, not a plain number."""
    return core.is_symbolic_dim(dimension)


def dimension_terms(dimension: Any) -> Sequence[tuple[Sequence[tuple[Any, int]], int]]:
    """An expression as a sum: `((factor, power)…, coefficient)` for each term."""
    return [(term._factors, coefficient) for term, coefficient in dimension._sorted_terms]


def factor_symbol(factor: Any) -> str | None:
    """The symbol that a factor is, or None where it is an operation."""
    return factor.var


def factor_operation(factor: Any) -> tuple[str, Sequence[Any]]:
    """Operation (`floordiv`, `mod`, `max`, `min`) and operands (expressions) of a factor."""
    return factor.operation, factor.operands


def dimension_symbols(dimension: Any) -> set[str]:
    """All symbols in an expression."""
    return dimension._get_vars()


def evaluate_dimension(dimension: Any, sizes: Mapping[str, int]) -> int:
    """The number that an expression is for these values of its symbols."""
    return int(dimension._evaluate(sizes))


# --- lowering: JAX's rules in our module ---------------------------------------------------------
# `jax.export` lowers whole functions for XLA; one equation into an open module has no public way.


class Walker(Protocol):
    """What JAX's rules need of our lowering."""

    def lower_inline(
        self, jaxpr: Any, constants: Sequence[ir.Value], operands: Sequence[ir.Value]
    ) -> Sequence[ir.Value]:
        """Lower an open jaxpr at the current insertion point."""
        ...

    def dimension_tensor(self, dimension: Any) -> int | ir.Value:
        """A size as a number or a rank-0 `i64` tensor."""
        ...

    def shape_tensor(self, sizes: Sequence[int | ir.Value]) -> ir.Value:
        """Sizes (numbers or rank-0 integer tensors) as one `tensor<k x index>`."""
        ...


class HookedModuleContext(jax_mlir.ModuleContext):
    """A module context whose dimensions and nested jaxprs are lowered by our walker."""

    walker: Walker

    def replace(self, **changes: Any) -> "HookedModuleContext":
        """Like the original, which builds a new object from the declared fields only."""
        replaced = super().replace(**changes)
        replaced.walker = self.walker
        return replaced


def new_module_context(context: ir.Context) -> HookedModuleContext:
    """A module for one lowering, for the CPU and a single device."""
    return HookedModuleContext(
        platforms=("cpu",),
        backend=None,
        axis_context=ShardingContext(1),
        keepalives=[],
        channel_iterator=itertools.count(1),
        host_callbacks=[],
        lowering_parameters=jax_mlir.LoweringParameters(),
        context=context,
    )


def new_ir_context() -> ir.Context:
    """An MLIR context with JAX's dialects; ours and `linalg` are unregistered in it."""
    context = jax_mlir.make_ir_context()
    context.allow_unregistered_dialects = True
    return context


def type_of_aval(module_context: HookedModuleContext, aval: Any) -> ir.Type:
    """The MLIR type of an abstract value."""
    return jax_mlir.aval_to_ir_type(module_context, aval)


def physical_aval(aval: Any) -> Any:
    """The array that represents a value of an extended dtype (PRNG keys); others unchanged."""
    return core.physical_aval(aval)


def constant_value(value: Any, aval: Any = None) -> ir.Value:
    """A constant in the module, of any type JAX can embed."""
    constant: Any = jax_mlir._ir_constant(value, const_lowering={}, aval=aval)
    return constant


def equation_manager(equation: Any) -> AbstractContextManager[None]:
    """JAX settings under which an equation was traced (default precision and the like)."""
    return equation.ctx.manager


def lower_with_jax(
    module_context: HookedModuleContext, equation: Any, operands: Sequence[ir.Value]
) -> Sequence[ir.Value]:
    """Lower one equation by JAX's own rule, at the current insertion point.

    `equation` has primitive, avals_in, avals_out, params, source_info, effects, jaxpr_context.
    """
    rule_context = jax_mlir.LoweringRuleContext(
        module_context=module_context,
        primitive=equation.primitive,
        name_stack=source_info_util.new_name_stack(),
        traceback=None,
        avals_in=tuple(equation.avals_in),
        avals_out=tuple(equation.avals_out),
        tokens_in=jax_mlir.TokenSet(),
        tokens_out=None,
        jaxpr_eqn_ctx=equation.jaxpr_context,
        dim_var_values=(),
        const_lowering={},
    )
    platform_rules, default_rule, _ = jax_mlir._get_lowering_rules(
        module_context, equation.primitive, equation.jaxpr_context
    )
    results: Any = jax_mlir._uncached_lowering(
        equation.primitive,
        equation.jaxpr_context,
        equation.effects,
        platform_rules,
        default_rule,
        rule_context,
        *operands,
        **equation.params,
    )
    return results


def lower_function_with_jax(
    module_context: HookedModuleContext, function: Any, avals: Sequence[Any],
    operands: Sequence[ir.Value],
) -> Sequence[ir.Value]:
    """Trace a JAX function over these abstract values and lower it in place."""
    rule_context = jax_mlir.LoweringRuleContext(
        module_context=module_context,
        primitive=None,
        name_stack=source_info_util.new_name_stack(),
        traceback=None,
        avals_in=tuple(avals),
        avals_out=None,
        tokens_in=jax_mlir.TokenSet(),
        tokens_out=None,
        dim_var_values=(),
        const_lowering={},
    )
    results: Any = jax_mlir.lower_fun(function, multiple_results=True)(rule_context, *operands)
    return results


_jax_jaxpr_subcomp = jax_mlir.jaxpr_subcomp
_jax_eval_dynamic_shape = jax_mlir.eval_dynamic_shape
_jax_shape_tensor = jax_mlir.shape_tensor


def _jaxpr_subcomp(
    context: Any, jaxpr: Any, name_stack: Any, tokens: Any, constants: Any, *args: Any,
    **keywords: Any,
) -> Any:
    if not isinstance(context, HookedModuleContext):
        return _jax_jaxpr_subcomp(context, jaxpr, name_stack, tokens, constants, *args, **keywords)
    return tuple(context.walker.lower_inline(jaxpr, constants, args)), tokens


def _eval_dynamic_shape(context: Any, shape: Any) -> Any:
    if not isinstance(context.module_context, HookedModuleContext):
        return _jax_eval_dynamic_shape(context, shape)
    return tuple(context.module_context.walker.dimension_tensor(size) for size in shape)


def _shape_tensor(context: Any, sizes: Any) -> Any:
    if not isinstance(context, HookedModuleContext) or not sizes:
        return _jax_shape_tensor(context, sizes)
    return context.walker.shape_tensor(sizes)


jax_mlir.jaxpr_subcomp = _jaxpr_subcomp
jax_mlir.eval_dynamic_shape = _eval_dynamic_shape
jax_mlir.shape_tensor = _shape_tensor

# --- lowering: PRNG keys -------------------------------------------------------------------------


def is_extended(dtype: Any) -> bool:
    """Whether a dtype is represented by another array (PRNG keys)."""
    return not isinstance(dtype, np.dtype)


def key_implementation(dtype: Any) -> Any:
    """The PRNG implementation of a key dtype; `jax.random.key_impl` wants an array."""
    return dtype._impl

# --- tracing: functions to jaxprs ----------------------------------------------------------------
# `jax.make_jaxpr` caches by function, and takes no abstract values that are not arrays.

Tracer = core.Tracer
"""`jax.core.Tracer` is public; here so that the modules below name one place."""


def trace_to_jaxpr(
    function: Callable[..., Sequence[Any]],
    avals: Sequence[Any],
    purpose: str,
    argument_names: Sequence[str] | None = None,
) -> tuple[core.ClosedJaxpr, list[Any]]:
    """Trace a flat function: a jaxpr whose leading inputs are the values it closes over, and these.

    Never cached. Values closed over are tracers of enclosing traces and concrete arrays.
    """
    debug = api_util.debug_info(purpose, function, tuple(avals), {})
    if argument_names is not None:
        debug = debug._replace(arg_names=tuple(argument_names))
    wrapped = linear_util.wrap_init(lambda *args: list(function(*args)), debug_info=debug)
    jaxpr, _, captured = partial_eval.trace_to_jaxpr_dynamic(wrapped, list(avals))
    closed = partial_eval.close_jaxpr(partial_eval.convert_constvars_jaxpr(jaxpr))
    return closed, list(captured)


def current_trace() -> Any:
    """The trace that records operations now; compare by identity."""
    return core.trace_ctx.trace


def drop_leading_register(closed: core.ClosedJaxpr, position: int) -> core.ClosedJaxpr:
    """Remove an unused input at `position` that is returned as the first output."""
    jaxpr = closed.jaxpr
    debug = jaxpr.debug_info.with_unknown_names()
    invars = [*jaxpr.invars[:position], *jaxpr.invars[position + 1 :]]
    return partial_eval.close_jaxpr(
        jaxpr.replace(invars=invars, outvars=jaxpr.outvars[1:], debug_info=debug)
    )


def add_leading_register(closed: core.ClosedJaxpr, position: int, aval: Any) -> core.ClosedJaxpr:
    """Add an input of type `aval` at `position` that is returned as the first output."""
    jaxpr = closed.jaxpr
    register = core.Var(aval)
    debug = jaxpr.debug_info.with_unknown_names()
    invars = [*jaxpr.invars[:position], register, *jaxpr.invars[position:]]
    return partial_eval.close_jaxpr(
        jaxpr.replace(invars=invars, outvars=[register, *jaxpr.outvars], debug_info=debug)
    )
