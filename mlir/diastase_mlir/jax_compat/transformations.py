"""JAX's transformations, applied to flat functions and equations of ours, and rules added to them.

`jax.jvp` takes arrays only, and makes an array of every tangent that is zero by construction:
`forward_derivative` has `Zero` for these. `evaluate_jaxpr` binds equations again, under whatever
transformation is the current one; `batched` is `jax.vmap` for results of which only their tracers
know whether they are batched. Rules for linearisation have no public table, and another signature
from jax 0.12 on; public rules for batching know neither the size of a batch nor its name.

The trap: in `jax.jacfwd` and `jax.hessian` the function is evaluated at one point, along a batch of
directions (`along_directions`). What depends on no tangent is one value there, also where it is
drawn at random.
"""

# Private names are what this package is for.
# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false

import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from jax import lax
from jax.extend import source_info_util
from jax.extend.core import Literal, Primitive, TraceTag, set_current_trace, take_current_trace
from jax.extend.core.primitives import remat_p
from jax.interpreters import ad as public_ad
from jax.interpreters.ad import JVPTrace, primitive_jvps
from jax.interpreters.batching import fancy_primitive_batchers
from jax.interpreters.partial_eval import custom_partial_eval_rules
from jax.lax import reduce_prod_p

from diastase_mlir.jax_compat.private import JAX, ad, batching, core

Zero = public_ad.Zero


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


class _Directions(threading.local):
    axes: tuple[Any, ...] = ()


_directions = _Directions()


@contextmanager
def along_directions(primals: Sequence[Any], tangents: Sequence[Any]) -> Generator[None]:
    """While a function is differentiated: if only tangents are of the batch, it is of directions.

    Asked of the innermost transformation; any other batch stays what it is.
    """
    trace, outer = core.trace_ctx.trace, _directions.axes
    if isinstance(trace, batching.BatchTrace) and not any(_is_of(trace, v) for v in primals):
        if any(_is_of(trace, value) for value in tangents):
            _directions.axes = (*outer, trace.axis_data)
    try:
        yield
    finally:
        _directions.axes = outer


def is_of_directions(axis: Any) -> bool:
    """Whether the batch under way along this axis is one of directions."""
    return any(axis is other for other in _directions.axes)


def _is_of(trace: Any, value: Any) -> bool:
    return trace.to_batch_info(value)[1] is not None


Linear = Callable[..., Sequence[Any]]
"""All tangents of the operands, some `Zero` -> all tangents of the results, some `Zero`."""
Linearisation = Callable[..., tuple[Sequence[Any], Sequence[bool], Sequence[Any], Linear]]
"""(which operands have tangents, *operands, **params) -> results, which of them have tangents,
residuals, and a function of residuals and tangents."""

cond_p: Primitive = lax.cond_p
scan_p: Primitive = lax.scan_p
while_p: Primitive = lax.while_p
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


def set_elements_of(kind: type, element: Callable[[Any], Any]) -> None:
    """Say what an element of a batch is, for a type of values that is no array.

    The batch's axis is the first one, as a value of the type has its `shape`.
    """
    if "batches" in JAX.disabled:
        return

    def of_one(size: Any, axis: Any, aval: Any) -> Any:
        return element(aval)

    def of_all(size: Any, axis: Any, mesh_axis: Any, aval: Any) -> Any:
        return aval.update(shape=(size,))

    core.aval_mapping_handlers[kind] = (of_one, of_all)


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
