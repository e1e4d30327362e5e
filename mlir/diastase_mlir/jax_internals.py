"""JAX's private API: the only module that imports `jax._src` and `jaxlib`.

Each entry says which public API is missing. The rest of the project takes the names from here, so
a new JAX version is one file's work.

Lowering hooks: some of JAX's own lowering rules ask for the value of a dimension or lower a nested
jaxpr; for our modules both must go through our walker. The three functions of
`jax._src.interpreters.mlir` concerned are replaced once, on import, by versions that look at the
*module context* in their arguments: ours (`HookedModuleContext`) goes to our walker, any other to
JAX's original. Plain JAX, in this thread or another, is therefore never disturbed.
"""

# Private names are what this module is for.
# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false

import builtins
import itertools
import operator
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache, partial
from types import SimpleNamespace
from typing import Any, Literal, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import (
    api_util,
    array,
    config,
    core,
    effects,
    linear_util,
    pjit,
    source_info_util,
    tree_util,
    xla_bridge,
)
from jax._src import hijax as composites
from jax._src.export import shape_poly
from jax._src.export.shape_poly_decision import _DecisionByElimination
from jax._src.interpreters import ad, batching, partial_eval
from jax._src.interpreters import mlir as jax_mlir
from jax._src.lax import lax, slicing
from jax._src.lib import xla_client
from jax._src.numpy import array_creation, hijax, indexing, lax_numpy, reductions, ufuncs
from jax._src.random import prng
from jax._src.random import threefry2x32 as _threefry
from jax._src.sharding_impls import ShardingContext
from jax._src.state import discharge
from jax.extend.core import ClosedJaxpr

# jaxlib's MLIR bindings have no public name; StableHLO can only be built with them.
from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs._mlir import globals as _binding_globals
from jaxlib.mlir.dialects import builtin as _builtin  # noqa: F401  (else at the first lowering)
from jaxlib.mlir.dialects import chlo as _chlo
from jaxlib.mlir.dialects import stablehlo as _stablehlo

from diastase_mlir.diagnostics import is_user_file
from diastase_mlir.operation_classes import do_without

do_without(_binding_globals)

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


_USES_OF_A_CONTEXT = 50
"""A new context takes 2 ms; what one lowering leaves in it, constants included, is never freed."""


class _Contexts(threading.local):
    context: ir.Context | None = None
    uses = 0


_contexts = _Contexts()


@contextmanager
def ir_context() -> Iterator[ir.Context]:
    """Enter this thread's MLIR context for one lowering; modules leave it as bytecode."""
    if _contexts.context is None or _contexts.uses >= _USES_OF_A_CONTEXT:
        _contexts.context, _contexts.uses = _new_ir_context(), 0
    _contexts.uses += 1
    with _contexts.context as context:
        yield context


def forget_ir_context() -> None:
    """Use another context from now on: large constants went into this thread's."""
    _contexts.context = None


def _new_ir_context() -> ir.Context:
    """An MLIR context with JAX's dialects; ours and `linalg` are unregistered in it.

    Not `make_ir_context`: that one loads dialects for sharding and for older XLA (13 ms of imports;
    here `_load_rare_dialects` does, when needed), and from jax 0.12 on hands out a shared context.
    """
    context = jax_mlir.JaxIrContext()
    context.append_dialect_registry(jax_mlir.upstream_dialects)
    context.load_all_available_dialects()
    _chlo.register_dialect(context)
    _stablehlo.register_dialect(context)
    context.allow_unregistered_dialects = True
    return context


def _load_rare_dialects(context: ir.Context, rule: Any) -> None:
    """Load the dialects that a rule outside of JAX's main module may use.

    Rules of factorisations and of custom partitioning make attributes of the sharding dialect,
    and building one while the dialect is not loaded kills the process.
    """
    while isinstance(rule, partial):
        rule = rule.func
    if getattr(rule, "__module__", None) != "jax._src.lax.lax":
        jax_mlir.dialects.sdy.register_dialect(context)
        jax_mlir.dialects.mpmd.register_dialect(context)
        jax_mlir.dialects.mhlo.register_mhlo_dialect(context)


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
    _load_rare_dialects(module_context.context, platform_rules.get("cpu", default_rule))
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


def threefry2x32(*words: Any) -> Any:
    """The generator of JAX's default keys, its rounds unrolled; public only rolled, in XLA's form."""
    return tuple(_threefry._threefry2x32_lowering(*words, use_rolled_loops=False))


# --- lowering: mutable references -----------------------------------------------------------------


def without_references(jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """The same program with its internal mutable arrays (`jax.new_ref`) made plain values.

    `jax.jit` does it on its way to XLA; nothing public does it alone.
    """
    if not any(isinstance(effect, core.InternalMutableArrayEffect) for effect in jaxpr.effects):
        return jaxpr
    return discharge.discharge_state(jaxpr)


# --- lowering: loops ------------------------------------------------------------------------------


def scan_counts(params: Mapping[str, Any]) -> tuple[int, int]:
    """How many operands of a `scan` are constants, and how many are carried, out of its parameters.

    From jax 0.12 on, the parameter `ft_in` says which operands are which; no numbers are given.
    """
    if "ft_in" not in params:
        return params["num_consts"], params["num_carry"]
    constants, carry, _ = params["ft_in"].unpack()
    return len(constants), len(carry)


# --- lowering: host calls -------------------------------------------------------------------------


def eager() -> AbstractContextManager[None]:
    """Evaluate JAX primitives now, whatever is being traced in this thread.

    The public `jax.ensure_compile_time_eval` refuses values that belong to no trace.
    """
    return core.eval_context()


def jaxpr_shapes(jaxpr: Any) -> list[Any]:
    """Shapes of all variables of a jaxpr and parameters of all its equations."""
    inner = getattr(jaxpr, "jaxpr", jaxpr)
    variables = [*inner.constvars, *inner.invars]
    variables += [variable for equation in inner.eqns for variable in equation.outvars]
    shapes = [tuple(getattr(variable.aval, "shape", ())) for variable in variables]
    return [*shapes, *[dict(equation.params) for equation in inner.eqns]]


def map_jaxpr(jaxpr: Any, change: Callable[[Any], Any]) -> Any:
    """The jaxpr with `change` applied to every shape and every parameter.

    There is no public way to rebuild a jaxpr over other shapes.
    """
    inner = getattr(jaxpr, "jaxpr", jaxpr)
    variables: dict[Any, Any] = {}

    def renew(atom: Any) -> Any:
        if isinstance(atom, core.Literal):
            return atom
        if atom not in variables:
            shape = getattr(atom.aval, "shape", None)
            aval = atom.aval if shape is None else atom.aval.update(shape=change(tuple(shape)))
            variables[atom] = core.DropVar(aval) if isinstance(atom, core.DropVar) else core.Var(aval)
        return variables[atom]

    equations = [
        equation.replace(
            invars=[renew(atom) for atom in equation.invars],
            outvars=[renew(atom) for atom in equation.outvars],
            params=change(dict(equation.params)),
        )
        for equation in inner.eqns
    ]
    renewed = inner.replace(
        constvars=[renew(variable) for variable in inner.constvars],
        invars=[renew(variable) for variable in inner.invars],
        outvars=[renew(atom) for atom in inner.outvars],
        eqns=equations,
    )
    return ClosedJaxpr(renewed, jaxpr.consts) if isinstance(jaxpr, ClosedJaxpr) else renewed

# --- tracing: functions to jaxprs ----------------------------------------------------------------
# `jax.make_jaxpr` caches by function, and takes no abstract values that are not arrays.

Tracer = core.Tracer
"""`jax.core.Tracer` is public; here so that the modules below name one place."""

is_concrete = core.is_concrete
"""Whether a value has a number now; `jax.core.is_concrete` is gone from jax 0.12."""


def trace_to_jaxpr(
    function: Callable[..., Sequence[Any]],
    avals: Sequence[Any],
    purpose: str,
    argument_names: Sequence[str] | None = None,
) -> tuple[ClosedJaxpr, list[Any]]:
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


def current_source_info() -> Any:
    """Where in the user's program we are; later `source_context` records equations as from there.

    JAX takes the line from the Python stack of the `bind`, which for a queued gate is elsewhere.
    """
    return source_info_util.current()


def source_context(source_info: Any) -> AbstractContextManager[None]:
    """Equations recorded inside get this source information."""
    context: Any = source_info_util.user_context(
        source_info.traceback, name_stack=source_info.name_stack
    )
    return context


def add_input(closed: ClosedJaxpr, position: int, aval: Any) -> ClosedJaxpr:
    """Add an input of type `aval` at `position`, which nothing uses."""
    jaxpr = closed.jaxpr
    debug = jaxpr.debug_info.with_unknown_names()
    invars = [*jaxpr.invars[:position], core.Var(aval), *jaxpr.invars[position:]]
    return partial_eval.close_jaxpr(jaxpr.replace(invars=invars, debug_info=debug))


def is_recording() -> bool:
    """Whether operations are recorded now, not evaluated; False while JAX records one."""
    trace = core.trace_ctx.trace
    return trace is not None and not isinstance(trace, core.EvalTrace)


def enclosing_traces(trace: Any) -> list[Any]:
    """A trace and those around it, innermost first."""
    traces: list[Any] = []
    while trace is not None:
        traces.append(trace)
        trace = getattr(trace, "parent_trace", None)
    return traces


def drop_leading_register(closed: ClosedJaxpr, position: int) -> ClosedJaxpr:
    """Remove an unused input at `position` that is returned as the first output."""
    jaxpr = closed.jaxpr
    debug = jaxpr.debug_info.with_unknown_names()
    invars = [*jaxpr.invars[:position], *jaxpr.invars[position + 1 :]]
    return partial_eval.close_jaxpr(
        jaxpr.replace(invars=invars, outvars=jaxpr.outvars[1:], debug_info=debug)
    )


def add_leading_register(closed: ClosedJaxpr, position: int, aval: Any) -> ClosedJaxpr:
    """Add an input of type `aval` at `position` that is returned as the first output."""
    jaxpr = add_input(closed, position, aval).jaxpr
    outvars = [jaxpr.invars[position], *jaxpr.outvars]
    return partial_eval.close_jaxpr(
        jaxpr.replace(outvars=outvars, debug_info=jaxpr.debug_info.with_unknown_names())
    )


def unwrap_tracer(value: Any) -> Any:
    """The tracer of the recording trace under those of `jvp`, `linearize` and `vmap`.

    A value that `vmap` maps over is returned as it is: it has no single underlying value.
    """
    while True:
        if isinstance(value, ad.JVPTracer | ad.LinearizeTracer):
            value = value.primal
        elif isinstance(value, batching.BatchTracer) and value.batch_dim is None:
            value = value.val
        elif isinstance(value, partial_eval.DynamicJaxprTracer):
            lowered = value.full_lower()  # a closed-over value: the one of the enclosing trace
            if lowered is value:
                return value
            value = lowered
        else:
            return value


def is_recorded(value: Any) -> bool:
    """Whether a value is a tracer whose variable will stand in a jaxpr."""
    return isinstance(value, partial_eval.DynamicJaxprTracer)


def is_recorded_variable(tracer: Any) -> bool:
    """Whether a recorded tracer is a variable, not a literal."""
    return isinstance(tracer.val, core.Var)


def literal_value(tracer: Any) -> int:
    """The integer that a recorded tracer which is a literal stands for."""
    return operator.index(tracer.val.val)


def tracer_variable(tracer: Any) -> core.Var:
    """The jaxpr variable that a recorded tracer is."""
    return tracer.val


def tracer_equation(tracer: Any) -> Any:
    """The equation (`primitive`, `in_tracers`, `params`) that defines a tracer, None for inputs."""
    return tracer.parent


def tracer_trace(tracer: Any) -> Any:
    """The trace that a tracer belongs to."""
    return tracer._trace


# --- tracing: symbolic dimensions ----------------------------------------------------------------
# `jax.export.symbolic_shape` takes every symbol to be at least 1, and has no way to add to what is
# known about a symbol while tracing goes on.


class SizeScope(shape_poly.SymbolicScope):
    """A scope whose symbols are any integers, except for what has become known of them."""

    def symbol(self, name: str) -> Any:
        """The expression that is this symbol alone."""
        return shape_poly._DimExpr._from_var(name, self)

    def learn_not_negative(self, expression: Any) -> None:
        """From now on, decisions may use `expression >= 0`."""
        constraint = shape_poly._SymbolicConstraint(
            cmp=shape_poly.Comparator.GEQ,
            debug_str=f"{expression} >= 0",
            e1=expression,
            e2=0,
            diff=expression,
        )
        self._explicit_constraints.append(constraint)
        self._decision_initial_state = None
        self._bounds_cache.clear()


_jax_implicit_constraints = _DecisionByElimination.add_implicit_constraints_term


def _implicit_constraints(decision: Any, term: Any) -> None:
    if not isinstance(decision.scope, SizeScope):
        _jax_implicit_constraints(decision, term)
    elif term.to_factor() is None:
        _product_constraint(decision, term)
    elif term.to_var() is None:
        _jax_implicit_constraints(decision, term)


def _product_constraint(decision: Any, term: Any) -> None:
    """What is known of a product; JAX's own rule fails where nothing is known of a factor."""
    if term in decision._processed_for_internal_constraints:
        return
    decision._processed_for_internal_constraints.add(term)
    least = 1
    for factor, power in term._factors:
        single = shape_poly._DimTerm.from_factor(factor, 1)
        decision.add_implicit_constraints_term(single)
        expression = shape_poly._DimExpr._from_term(single, 1, decision.scope)
        bound = decision.bounds(expression, shape_poly.BoundsPrecision.BEST)[0]
        if bound < 0 and power % 2:
            return
        least *= max(int(bound), 0) ** power if bound >= 0 else 0
    product = shape_poly._DimExpr._from_term(term, 1, decision.scope)
    decision.combine_and_add_constraint(shape_poly.Comparator.GEQ, product, least)


_DecisionByElimination.add_implicit_constraints_term = _implicit_constraints


class _Undecided(threading.local):
    decide: Callable[[Any, Any], bool] | None = None


_undecided = _Undecided()
_jax_geq_decision = shape_poly._geq_decision


def _geq_decision(left: Any, right: Any, comparison: Callable[[], str]) -> bool:
    try:
        return _jax_geq_decision(left, right, comparison)
    except shape_poly.InconclusiveDimensionOperation:
        scope = getattr(left, "scope", None) or getattr(right, "scope", None)
        if _undecided.decide is not None and isinstance(scope, SizeScope):
            return _undecided.decide(left, right)
        raise


@contextmanager
def deciding(decide: Callable[[Any, Any], bool]) -> Iterator[None]:
    """In this thread: what cannot be decided of `left >= right` is what `decide` says."""
    outer, _undecided.decide = _undecided.decide, decide
    try:
        yield
    finally:
        _undecided.decide = outer


def _assume_that_it_fits(primitive: core.Primitive) -> None:
    """In type rules of this primitive, what cannot be decided fits: parts into their wholes.

    These rules compare in order to refuse, never to choose. The comparison is made again by the
    compiled program (`lowering`), for equations whose sizes are symbolic.
    """
    abstract_eval = primitive.abstract_eval

    def assume(*avals: Any, **params: Any) -> Any:
        with deciding(lambda whole, part: True):
            return abstract_eval(*avals, **params)

    primitive.abstract_eval = assume


_jax_equals = shape_poly._DimExpr.__eq__


def _refuse_to_guess(size: Any, other: Any, frame: Any) -> None:
    """Raise if the user's own code asks whether sizes are equal that may or may not be.

    JAX answers False, because hashing and its own code must be able to compare.
    """
    if not isinstance(size.scope, SizeScope) or not is_user_file(frame.f_code.co_filename):
        return
    if not core.is_constant_dim(other) and not core.is_symbolic_dim(other):
        return
    difference = size - other
    if lower_bound(difference) > 0 or lower_bound(-difference) > 0:
        return
    message = f"Symbolic dimension comparison '{size}' == '{other}' is inconclusive."
    raise shape_poly.InconclusiveDimensionOperation(message)


def _size_equals(size: Any, other: Any) -> bool:
    if _jax_equals(size, other):
        return True
    _refuse_to_guess(size, other, sys._getframe(1))
    return False


def _size_differs(size: Any, other: Any) -> bool:
    if _jax_equals(size, other):
        return False
    _refuse_to_guess(size, other, sys._getframe(1))
    return True


def _size_is_not_zero(size: Any) -> bool:
    _refuse_to_guess(size, 0, sys._getframe(1))
    return True


shape_poly._DimExpr.__eq__ = _size_equals
shape_poly._DimExpr.__ne__ = _size_differs
shape_poly._DimExpr.__bool__ = _size_is_not_zero
shape_poly._geq_decision = _geq_decision
for _primitive in (
    slicing.gather_p,
    slicing.dynamic_slice_p,
    slicing.dynamic_update_slice_p,
    slicing.slice_p,
    slicing.scatter_p,
    slicing.scatter_add_p,
    slicing.scatter_sub_p,
    slicing.scatter_mul_p,
    slicing.scatter_min_p,
    slicing.scatter_max_p,
    lax.argmax_p,
    lax.argmin_p,
):
    _assume_that_it_fits(_primitive)


def lower_bound(dimension: Any) -> float:
    """The least value that an expression can be shown to have; minus infinity if unknown."""
    return shape_poly._bounds_decision(dimension, shape_poly.BoundsPrecision.BEST)[0]




# --- calls: arguments in, arrays out -------------------------------------------------------------
# `jax.device_put` is public and takes 30 us for a scalar; what it ends in takes 3 us. The settings
# under which JAX would trace anew, and the type of a value in one step, have no public name.

ArrayImpl = array.ArrayImpl
"""The concrete class of arrays: `type(x) is ArrayImpl` excludes tracers and key arrays."""

trace_context = config.trace_context
"""All settings of JAX that change what a function traces to, as a hashable tuple."""


def jit_is_disabled() -> bool:
    """Whether `jax.disable_jit` is in force: the user wants to see the operations one by one."""
    return config.disable_jit.value


abstract_value = core.shaped_abstractify
"""The type of a value as JAX sees it; of a `ShapeDtypeStruct`, too."""

structure_differences = tree_util.equality_errors_pytreedef
"""`(path, expected, given, explanation)` for each place in which two pytree structures differ."""

make_array: Callable[..., Any] = xla_client.batched_device_put
"""`(aval, sharding, [value], [device], committed) -> jax.Array`, aligned ones uncopied."""


@cache
def cpu_placement() -> tuple[Any, list[Any]]:
    """Sharding and device of arrays that live in the host's memory."""
    device = jax.devices("cpu")[0]
    return jax.sharding.SingleDeviceSharding(device), [device]


@cache
def only_one_device() -> bool:
    """Whether every array of this process lives in the host's memory, in one piece."""
    backends = xla_bridge.backends()
    return list(backends) == ["cpu"] and backends["cpu"].device_count() == 1


class SizeCheckEffect(effects.Effect):
    """Keeps a check of a size from being dropped, where nothing depends on its results."""

    def __str__(self) -> str:
        return "SizeCheck"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SizeCheckEffect)

    def __hash__(self) -> int:
        return hash(SizeCheckEffect)


# Any order of checks is right, and so is their repetition: allowed wherever JAX asks.
for _allowed in (
    effects.lowerable_effects,
    effects.control_flow_allowed_effects,
    effects.remat_allowed_effects,
    effects.custom_derivatives_allowed_effects,
):
    _allowed.add_type(SizeCheckEffect)


# --- tracing: functions of JAX that ask for sizes ------------------------------------------------
# JAX has no way to say that an integer tracer may be a size.

HookPoint = Literal[
    "dimension",
    "size_argument",
    "number_argument",
    "shape_check",
    "tile",
    "indices",
    "slice",
    "arange",
    "linspace",
    "floor_divide",
    "remainder",
    "squeeze",
    "reduction",
    "repeat",
    "searchsorted",
    "split",
    "length",
    "largest",
    "smallest",
]

_HOOK_POINTS: Mapping[HookPoint, Sequence[tuple[Any, str]]] = {
    "dimension": [(core, "_canonicalize_dimension")],
    "size_argument": [(core, "concrete_dim_or_error")],
    "number_argument": [(core, "concrete_or_error")],
    "shape_check": [(lax, "_check_shapelike")],
    "tile": [(lax, "tile")],
    "indices": [(indexing, "_parse_indices")],
    "slice": [(core, "canonicalize_slice")],
    "arange": [(lax_numpy, "_arange")],
    "linspace": [(array_creation, "_linspace")],
    "floor_divide": [(ufuncs, "floor_divide")],
    "remainder": [(ufuncs, "remainder"), (ufuncs, "mod")],
    "squeeze": [(lax_numpy, "_squeeze")],
    "reduction": [(reductions, "_reduction")],
    "repeat": [(lax_numpy, "_repeat")],
    # The first is what `jnp.searchsorted` calls before jax 0.12, where it is gone.
    "searchsorted": [
        (hijax, name)
        for name in ("searchsorted_via_expand", "searchsorted")
        if hasattr(hijax, name)
    ],
    "split": [(prng, "random_split")],
    # Not attributes of the module: globals that shadow the built-ins inside it.
    "length": [(lax_numpy, "len")],
    "largest": [(lax_numpy, "max")],
    "smallest": [(lax_numpy, "min")],
}


def hook(point: HookPoint, replace: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replace a function inside JAX, for good, by `replace(original)`.

    The replacement must do what the original does in every thread that is not tracing for us.
    """
    for module, attribute in _HOOK_POINTS[point]:
        original = getattr(module, attribute, None) or getattr(builtins, attribute)
        setattr(module, attribute, replace(original))


class _Inlining(threading.local):
    active = False


_inlining = _Inlining()

_composite_p = composites.call_hi_primitive_p
_jax_stage_composite = partial_eval.custom_staging_rules[_composite_p]


def _stage_composite(trace: Any, source_info: Any, *operands: Any, **params: Any) -> Any:
    if not _inlining.active:
        return _jax_stage_composite(trace, source_info, *operands, **params)
    with core.set_current_trace(trace):
        return _composite_p.to_lojax(*operands, **params)


partial_eval.custom_staging_rules[_composite_p] = _stage_composite


_infer_params, _run_jit = pjit._infer_params, pjit._run_python_pjit
_NOTHING_TRACED = SimpleNamespace(effects=(), consts=())


def _infer_unless_inlined(function: Any, info: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """What comes first when a jitted function is called, or asked for its shapes or stages."""
    caller = sys._getframe(1).f_code.co_name
    if _inlining.active and caller == "cache_miss":  # a call
        return info, ()
    return _infer_params(function, info, args, kwargs)


def _run_or_inline(params: Any, flat: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """What comes second; the parameters are those of `jax.jit` itself if it is to be inlined."""
    if not isinstance(params, pjit.PjitInfo):
        return _run_jit(params, flat, function, args, kwargs)
    positions = {p + len(args) if p < 0 else p for p in params.static_argnums}
    args = [arg if p in positions else as_arrays(arg) for p, arg in enumerate(args)]
    names = params.static_argnames
    kwargs = {name: arg if name in names else as_arrays(arg) for name, arg in kwargs.items()}
    return function(*args, **kwargs), (), None, (), _NOTHING_TRACED, None, None, ()


pjit._infer_params, pjit._run_python_pjit = _infer_unless_inlined, _run_or_inline


def as_arrays(tree: Any) -> Any:
    """Numbers and NumPy arrays as arrays of JAX, which a function under `jax.jit` gets."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf) if _is_number(leaf) else leaf, tree)


def _is_number(leaf: Any) -> bool:
    return type(leaf) in (bool, int, float, complex) or isinstance(leaf, (np.ndarray, np.generic))


@contextmanager
def inline_jits() -> Iterator[None]:
    """In this thread: functions under `jax.jit` are traced inline.

    Symbols that are defined inside must be known outside, as sizes of the results. The functions
    that JAX records as one equation, from 0.12 on `jnp.searchsorted` and others, are traced inline
    for the same reason. `jax.disable_jit` will not do: numbers would stay Python's, which divide
    and overflow in another way, and have no `astype`.
    """
    outer, _inlining.active = _inlining.active, True
    try:
        yield
    finally:
        _inlining.active = outer


def symbol_of(dimension: Any) -> str | None:
    """The symbol that an expression is, None where it is anything else."""
    return dimension._to_var()


def substitute(dimension: Any, values: Mapping[str, Any]) -> Any:
    """An expression with its symbols replaced by other expressions."""
    return dimension._evaluate(values)


def close_over(closed: ClosedJaxpr, values: Sequence[Any]) -> ClosedJaxpr:
    """Make the leading inputs of a jaxpr its constants, with these values."""
    jaxpr, count = closed.jaxpr, len(values)
    names = jaxpr.debug_info.arg_names
    debug = jaxpr.debug_info._replace(arg_names=names and names[count:])
    constants, inputs = jaxpr.invars[:count], jaxpr.invars[count:]
    opened = jaxpr.replace(constvars=constants, invars=inputs, debug_info=debug)
    return ClosedJaxpr(opened, list(values))


def convert_outputs(closed: ClosedJaxpr, avals: Sequence[Any]) -> ClosedJaxpr:
    """The jaxpr with its outputs converted to these dtypes and weak types, where they differ.

    Tracing it again would give it other variables, which define no symbols.
    """
    jaxpr = closed.jaxpr
    equations, outputs = list(jaxpr.eqns), list(jaxpr.outvars)
    for position, (output, aval) in enumerate(zip(jaxpr.outvars, avals, strict=True)):
        if not isinstance(aval, core.ShapedArray) or output.aval == aval:
            continue
        converted = core.Var(aval)
        params = {"new_dtype": aval.dtype, "weak_type": aval.weak_type, "sharding": None}
        equations.append(
            core.new_jaxpr_eqn(
                [output], [converted], lax.convert_element_type_p, params, effects.no_effects
            )
        )
        outputs[position] = converted
    return partial_eval.close_jaxpr(jaxpr.replace(eqns=equations, outvars=outputs))


def select_inputs(
    closed: ClosedJaxpr, positions: Sequence[int], avals: Sequence[Any]
) -> ClosedJaxpr:
    """The jaxpr over more inputs, of these types, of which it uses those at `positions`."""
    jaxpr = closed.jaxpr
    used = dict(zip(positions, jaxpr.invars, strict=True))
    invars = [used.get(position) or core.Var(aval) for position, aval in enumerate(avals)]
    debug = jaxpr.debug_info.with_unknown_names()
    return partial_eval.close_jaxpr(jaxpr.replace(invars=invars, debug_info=debug))


# --- tracing: printing ---------------------------------------------------------------------------
# JAX's printer of jaxprs, with its layout and its way to show parameters, is not public.


class _PrintedType(core.AbstractValue):
    """A type that is only printed."""

    def __init__(self, text: Callable[[], str]):
        self._text = text

    def str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
        return self._text()


class JaxprPrinter:
    """Builds a jaxpr out of JAX's classes that is good for printing, and prints it."""

    def __init__(self) -> None:
        self._context = core.JaxprPpContext()

    def name(self, atom: Any) -> str:
        """What a variable or literal is called in the text."""
        return atom.pretty_print(self._context, print_dtype=False)

    def variable(self, type_text: Callable[[], str], is_dropped: bool) -> Any:
        """A variable, or `_`, whose type prints as this text."""
        return (core.DropVar if is_dropped else core.Var)(_PrintedType(type_text))

    def literal(self, value: Any, aval: Any) -> Any:
        """A number written out."""
        return core.Literal(value, aval)

    def equation(
        self,
        primitive: str,
        operands: Sequence[Any],
        results: Sequence[Any],
        params: Mapping[str, Any],
        original: Any,
    ) -> Any:
        """An equation; JAX shows the parameters of an `original` in its own way."""
        known = core.Primitive(primitive) if original is None else original.primitive
        return core.new_jaxpr_eqn(operands, results, known, dict(params), effects.no_effects)

    def jaxpr(
        self,
        constants: Sequence[Any],
        inputs: Sequence[Any],
        equations: Sequence[Any],
        outputs: Sequence[Any],
    ) -> Any:
        """A jaxpr."""
        debug = core.DebugInfo("explicit form", "unknown", None, None)
        jaxpr = core.Jaxpr(constants, inputs, outputs, equations, debug_info=debug)
        # From jax 0.12 on, only constants that have values are printed as such.
        return ClosedJaxpr(jaxpr, [None] * len(constants)).jaxpr

    def text(self, jaxpr: Any) -> str:
        """The text of a jaxpr, nested ones in place."""
        document = core.pp_jaxpr(jaxpr, self._context, core.JaxprPpSettings())
        return document.format(width=100, use_color=False)  # types take more room than JAX's


def symbol_expression(dimension: Any, name: str) -> Any:
    """The expression that is one of an expression's symbols alone."""
    return shape_poly._DimExpr._from_var(name, dimension.scope)
