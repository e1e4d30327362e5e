"""JAX's lowering rules in a module of ours.

`jax.export` lowers whole functions for XLA; one equation into an open module has no public way.

Some of JAX's own rules ask for the value of a dimension or lower a nested jaxpr; for our modules
both must go through our walker. The three functions of `jax._src.interpreters.mlir` concerned look
at the *module context* in their arguments: ours (`OwnModuleContext`) goes to our walker, any
other to JAX's original.
"""

# Private names are what this package is for.
# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false

import functools
import itertools
import types
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from jax.extend import source_info_util
from jax.extend.mlir import ir
from jax.interpreters.mlir import (
    LoweringParameters,
    LoweringRuleContext,
    ModuleContext,
    ShardingContext,
    TokenSet,
    aval_to_ir_type,
    ir_constant,
    lower_fun,
)
from jax.sharding import AbstractMesh

from diastase_mlir.jax_compat.contexts import load_rare_dialects
from diastase_mlir.jax_compat.private import JAX, config, core, jax_mlir, patch

_KNOWN_PACKAGES = frozenset({"jax", "jaxlib", "diastase", "diastase_mlir", "functools"})
"""What is defined in these changes with a version that keys of the cache hold."""

_RULES = "programs from the cache on disk"
_EMPTY_CELL = types.CellType()


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


class OwnModuleContext(ModuleContext):
    """A module context whose dimensions and nested jaxprs are lowered by our walker."""

    walker: Walker

    def replace(self, **changes: Any) -> "OwnModuleContext":
        """Like the original, which builds a new object from the declared fields only."""
        replaced = super().replace(**changes)
        replaced.walker = self.walker
        return replaced


def new_module_context(context: ir.Context) -> OwnModuleContext:
    """A module for one lowering, for the CPU and a single device."""
    return OwnModuleContext(
        platforms=("cpu",),
        backend=None,
        axis_context=ShardingContext(1),
        keepalives=[],
        channel_iterator=itertools.count(1),
        host_callbacks=[],
        lowering_parameters=LoweringParameters(),
        context=context,
    )


def type_of_aval(module_context: OwnModuleContext, aval: Any) -> ir.Type:
    """The MLIR type of an abstract value."""
    return aval_to_ir_type(module_context, aval)


def constant_value(value: Any, aval: Any = None) -> ir.Value:
    """A constant in the module, of any type JAX can embed."""
    return ir_constant(value, const_lowering={}, aval=aval)


def equation_manager(equation: Any) -> AbstractContextManager[None]:
    """JAX settings under which an equation was traced (default precision and the like)."""
    return equation.ctx.manager


def lower_with_jax(
    module_context: OwnModuleContext, equation: Any, operands: Sequence[ir.Value]
) -> Sequence[ir.Value]:
    """Lower one equation by JAX's own rule, at the current insertion point.

    `equation` has primitive, avals_in, avals_out, params, source_info, effects, jaxpr_context.
    """
    rule_context = LoweringRuleContext(
        module_context=module_context,
        primitive=equation.primitive,
        name_stack=source_info_util.new_name_stack(),
        traceback=None,
        avals_in=tuple(equation.avals_in),
        avals_out=tuple(equation.avals_out),
        tokens_in=TokenSet(),
        tokens_out=None,
        jaxpr_eqn_ctx=equation.jaxpr_context,
        dim_var_values=(),
        const_lowering={},
    )
    platform_rules, default_rule, _ = jax_mlir._get_lowering_rules(
        module_context, equation.primitive, equation.jaxpr_context
    )
    load_rare_dialects(module_context.context, platform_rules.get("cpu", default_rule))
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


def is_foreign(primitive: Any, seen: set[int]) -> bool:
    """Whether anything of a primitive, or how it is lowered, is not JAX's own nor ours.

    A rule by `lower_fun` is a function of JAX's that calls one of anybody's, so closures count.
    Of functions in `seen` (identities, which it adds to) nothing is asked again, as primitives
    share many; after a foreign one it is of no more use.
    """
    if _RULES in JAX.disabled:
        return True
    rules = [jax_mlir._lowerings.get(primitive)]
    rules += [table.get(primitive) for table in jax_mlir._platform_specific_lowerings.values()]
    found = [rule.rule for rule in rules if rule is not None]
    return any(_is_foreign(value, seen) for value in [*found, *vars(primitive).values()])


def _is_foreign(value: Any, seen: set[int]) -> bool:
    """Whether a function, or one that it holds, is defined in a package that is not known."""
    if id(value) in seen or not callable(value):
        return False
    seen.add(id(value))
    held: Sequence[Any] = ()
    if isinstance(value, functools.partial):
        held = [value.func, *value.args, *value.keywords.values()]
    elif isinstance(value, types.FunctionType):
        if (value.__module__ or "").partition(".")[0] not in _KNOWN_PACKAGES:
            return True
        cells = [cell for cell in value.__closure__ or () if cell != _EMPTY_CELL]
        held = [*(cell.cell_contents for cell in cells), *(value.__defaults__ or ())]
    elif isinstance(value, types.MethodType):
        held = [value.__func__]
    else:
        held = [getattr(value, "__wrapped__", None)]  # by `jit` or `cache`
    return any(_is_foreign(inner, seen) for inner in held)


def lowering_settings() -> tuple[Any, ...]:
    """JAX's settings, all that may change how an equation is lowered; meshes only if empty."""
    axes = core.trace_ctx.axis_env
    empty = [type(axes), AbstractMesh]
    settings = [axes, *config.trace_context()]
    return tuple(_empty(value) if type(value) in empty else value for value in settings)


def _empty(setting: Any) -> Any:
    """A name for a mesh without axes; another one is kept as it is."""
    is_empty = setting.empty if hasattr(setting, "empty") else not setting.axis_sizes
    return type(setting).__name__ if is_empty else setting


def lower_function_with_jax(
    module_context: OwnModuleContext,
    function: Any,
    avals: Sequence[Any],
    operands: Sequence[ir.Value],
) -> Sequence[ir.Value]:
    """Trace a JAX function over these abstract values and lower it in place."""
    rule_context = LoweringRuleContext(
        module_context=module_context,
        primitive=None,
        name_stack=source_info_util.new_name_stack(),
        traceback=None,
        avals_in=tuple(avals),
        avals_out=None,
        tokens_in=TokenSet(),
        tokens_out=None,
        dim_var_values=(),
        const_lowering={},
    )
    results: Any = lower_fun(function, multiple_results=True)(rule_context, *operands)
    return results


def _with_our_walker(original: Callable[..., Any]) -> Callable[..., Any]:
    def jaxpr_subcomp(
        context: Any,
        jaxpr: Any,
        name_stack: Any,
        tokens: Any,
        constants: Any,
        *args: Any,
        **keywords: Any,
    ) -> Any:
        if not isinstance(context, OwnModuleContext):
            return original(context, jaxpr, name_stack, tokens, constants, *args, **keywords)
        return tuple(context.walker.lower_inline(jaxpr, constants, args)), tokens

    return jaxpr_subcomp


def _with_our_sizes(original: Callable[..., Any]) -> Callable[..., Any]:
    def eval_dynamic_shape(context: Any, shape: Any) -> Any:
        if not isinstance(context.module_context, OwnModuleContext):
            return original(context, shape)
        return tuple(context.module_context.walker.dimension_tensor(size) for size in shape)

    return eval_dynamic_shape


def _with_our_shapes(original: Callable[..., Any]) -> Callable[..., Any]:
    def shape_tensor(context: Any, sizes: Any) -> Any:
        if not isinstance(context, OwnModuleContext) or not sizes:
            return original(context, sizes)
        return context.walker.shape_tensor(sizes)

    return shape_tensor


patch("nested_jaxprs", _with_our_walker)
patch("lowered_sizes", _with_our_sizes)
patch("lowered_shapes", _with_our_shapes)
