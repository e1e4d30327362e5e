"""Rules for reverse mode, how JAX takes a primitive apart into values and a linear rest; and vmap.

`jax.interpreters.ad` lacks the table of such rules, which have another signature from jax 0.12 on.
"""

# Private names are what this package is for.
# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from jax.extend import source_info_util
from jax.extend.core import Primitive, TraceTag, set_current_trace, take_current_trace
from jax.extend.core.primitives import remat_p
from jax.interpreters.ad import primitive_jvps
from jax.interpreters.batching import fancy_primitive_batchers
from jax.interpreters.partial_eval import custom_partial_eval_rules
from jax.lax import cond_p, reduce_prod_p, scan_p, while_p

from diastase_mlir.jax_compat.private import JAX, ad, batching, core

Linear = Callable[..., Sequence[Any]]
"""All tangents of the operands, some `Zero` -> all tangents of the results, some `Zero`."""
Linearisation = Callable[..., tuple[Sequence[Any], Sequence[bool], Sequence[Any], Linear]]
"""(which operands have tangents, *operands, **params) -> results, which of them have tangents,
residuals, and a function of residuals and tangents."""

cond_p: Primitive = cond_p
scan_p: Primitive = scan_p
while_p: Primitive = while_p
checkpoint_p: Primitive = remat_p


@cache
def _gives_five() -> bool:
    """From jax 0.12 on, a rule gives residuals with a structure of their own, too."""
    return "structured_residuals" in ad.LinearizeTrace.__init__.__code__.co_names


Condition = Callable[..., bool]
"""Asked with the parameters of an equation, whether a rule of ours is for it."""


def _always(**_: Any) -> bool:
    return True


def set_linearisation(
    primitive: Primitive, rule: Linearisation, applies: Condition = _always
) -> None:
    """Have a primitive linearised by a rule; where the rule does not apply, as it was before.

    `applies` is told, too, whether it is for reverse mode: `is_vjp`.
    """
    if "derivatives" in JAX.disabled:
        return
    before = ad.primitive_linearizations.get(primitive)

    def linearise(is_vjp: bool, nonzeros: Sequence[bool], *operands: Any, **params: Any) -> Any:
        if not applies(is_vjp=is_vjp, **params):
            if before is not None:
                return before(is_vjp, nonzeros, *operands, **params)
            return ad.fallback_linearize_rule(primitive, is_vjp, nonzeros, *operands, **params)
        results, found, residuals, linear = rule(nonzeros, *operands, **params)
        if not _gives_five():
            return results, found, residuals, linear
        return results, found, residuals, None, lambda kept, _, *rest: linear(kept, *rest)

    ad.primitive_linearizations[primitive] = linearise


def never_move_out_of_loops(primitive: Primitive, applies: Condition) -> None:
    """Have equations of a primitive stay in loops, where it applies, even if no operand changes.

    JAX moves what is known before a loop begins out of it, where it differentiates the loop.
    """

    def stage(trace: Any, *tracers: Any, **params: Any) -> Any:
        staged = map(trace.instantiate_const, tracers) if applies(**params) else tracers
        return trace.default_process_primitive(primitive, list(staged), params)

    custom_partial_eval_rules[primitive] = stage


BatchAxis = batching.AxisData
"""The axis of a batch: its `size` and its `name`, if any."""


def set_jvp(primitive: Primitive, rule: Callable[..., Any], applies: Condition) -> None:
    """Have one of JAX's primitives differentiated by a rule, where it applies; else as before."""
    _replace(primitive_jvps, primitive, rule, applies)


def set_batching(
    primitive: Primitive, rule: Callable[..., Any], applies: Condition = _always
) -> None:
    """Have a primitive batched by a rule that is given the axis, operands and their batched axes.

    `batching.primitive_batchers` has rules that do not know the size, nor the name. Where the rule
    does not apply, as before.
    """
    if primitive in fancy_primitive_batchers:
        _replace(fancy_primitive_batchers, primitive, rule, applies)
    else:
        assert applies is _always, f"{primitive} is JAX's, and batched by a rule without the axis"
        fancy_primitive_batchers[primitive] = rule


def _replace(
    table: dict[Primitive, Callable[..., Any]],
    primitive: Primitive,
    rule: Callable[..., Any],
    applies: Condition,
) -> None:
    before = table[primitive]

    def replaced(*args: Any, **params: Any) -> Any:
        return (rule if applies(**params) else before)(*args, **params)

    table[primitive] = replaced


def batched(
    axis: BatchAxis,
    function: Callable[..., Sequence[Any]],
    operands: Sequence[Any],
    dims: Sequence[int | None],
) -> tuple[list[Any], list[bool]]:
    """Results of a flat function for a batch, along leading axes, and which of them have one.

    `dims`: the batched axis of each operand.

    `jax.vmap` must be told where they have one, and is wrong about it otherwise.
    """
    with take_current_trace() as parent:
        trace = batching.BatchTrace(parent, TraceTag(), axis)
        source = source_info_util.current()
        tracers = [
            value if dim is None else batching.BatchTracer(trace, value, dim, source)
            for value, dim in zip(operands, dims, strict=True)
        ]
        with set_current_trace(trace), core.extend_axis_env_nd([(axis.name, axis.size)]):
            results = function(*tracers)
        pairs = [trace.to_batch_info(result) for result in results]
    values = [value if dim is None else batching.moveaxis(value, dim, 0) for value, dim in pairs]
    return values, [dim is not None for _, dim in pairs]


def _product_rule(*args: Any, **params: Any) -> Any:
    """What has replaced the function, too, which the table of derivatives holds itself."""
    return JAX.now("jax._src.lax.lax:_reduce_prod_jvp_rule")(*args, **params)


primitive_jvps[reduce_prod_p] = _product_rule
