"""Rules for reverse mode, how JAX takes a primitive apart into values and a linear rest; and vmap.

`jax.interpreters.ad` lacks the table of such rules, which have another signature from jax 0.12 on.
"""

# Private names are what this package is for.
# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false

from collections.abc import Callable, Sequence
from typing import Any

from jax._src import ad_checkpoint, core, source_info_util
from jax._src.interpreters import ad, batching, partial_eval
from jax._src.lax.control_flow import conditionals, loops
from jax.extend.core import Primitive

Linear = Callable[..., Sequence[Any]]
"""All tangents of the operands, some `Zero` -> all tangents of the results, some `Zero`."""
Linearisation = Callable[..., tuple[Sequence[Any], Sequence[bool], Sequence[Any], Linear]]
"""(which operands have tangents, *operands, **params) -> results, which of them have tangents,
residuals, and a function of residuals and tangents."""

cond_p: Primitive = conditionals.cond_p
scan_p: Primitive = loops.scan_p
while_p: Primitive = loops.while_p
checkpoint_p: Primitive = ad_checkpoint.remat_p

_GIVES_FIVE = "structured_residuals" in ad.LinearizeTrace.__init__.__code__.co_names
"""From jax 0.12 on, a rule gives residuals with a structure of their own, too."""


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
    before = ad.primitive_linearizations.get(primitive)

    def linearise(is_vjp: bool, nonzeros: Sequence[bool], *operands: Any, **params: Any) -> Any:
        if not applies(is_vjp=is_vjp, **params):
            if before is not None:
                return before(is_vjp, nonzeros, *operands, **params)
            return ad.fallback_linearize_rule(primitive, is_vjp, nonzeros, *operands, **params)
        results, found, residuals, linear = rule(nonzeros, *operands, **params)
        if not _GIVES_FIVE:
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

    partial_eval.custom_partial_eval_rules[primitive] = stage


BatchAxis = batching.AxisData
"""The axis of a batch: its `size` and its `name`, if any."""


def set_jvp(primitive: Primitive, rule: Callable[..., Any], applies: Condition) -> None:
    """Have one of JAX's primitives differentiated by a rule, where it applies; else as before."""
    _replace(ad.primitive_jvps, primitive, rule, applies)


def set_batching(
    primitive: Primitive, rule: Callable[..., Any], applies: Condition = _always
) -> None:
    """Have a primitive batched by a rule that is given the axis, operands and their batched axes.

    `batching.primitive_batchers` has rules that do not know the size, nor the name. Where the rule
    does not apply, as before.
    """
    if primitive in batching.fancy_primitive_batchers:
        _replace(batching.fancy_primitive_batchers, primitive, rule, applies)
    else:
        assert applies is _always, f"{primitive} is JAX's, and batched by a rule without the axis"
        batching.fancy_primitive_batchers[primitive] = rule


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
    with core.take_current_trace() as parent:
        trace = batching.BatchTrace(parent, core.TraceTag(), axis)
        source = source_info_util.current()
        tracers = [
            value if dim is None else batching.BatchTracer(trace, value, dim, source)
            for value, dim in zip(operands, dims, strict=True)
        ]
        with core.set_current_trace(trace), core.extend_axis_env_nd([(axis.name, axis.size)]):
            results = function(*tracers)
        pairs = [trace.to_batch_info(result) for result in results]
    values = [value if dim is None else batching.moveaxis(value, dim, 0) for value, dim in pairs]
    return values, [dim is not None for _, dim in pairs]
