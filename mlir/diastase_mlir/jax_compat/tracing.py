"""Functions to jaxprs, and what a tracer is.

`jax.make_jaxpr` caches by function, and takes no abstract values that are not arrays.
"""

# Private names are what this package is for.
# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false

import operator
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

from jax.api_util import debug_info
from jax.core import Tracer
from jax.extend import source_info_util
from jax.extend.core import ClosedJaxpr, DebugInfo, Effect, Var, set_current_trace
from jax.extend.linear_util import wrap_init
from jax.interpreters.ad import JVPTracer
from jax.interpreters.partial_eval import DynamicJaxprTracer, trace_to_jaxpr_dynamic

from diastase_mlir.jax_compat.private import (
    JAX,
    ad,
    api_util,
    batching,
    core,
    effects,
    partial_eval,
    patch,
    source_info_internals,
)
from diastase_toolchain.errors import MissingNameError

_FAST, _BATCHES, _LINES = "fast tracing", "batches", "lines of rules"


def is_concrete(value: Any) -> bool:
    """Whether a value has a number now; `jax.core.is_concrete` is gone from jax 0.12."""
    return not isinstance(value, Tracer) or value.to_concrete_value() is not None


def trace_to_jaxpr(
    function: Callable[..., Sequence[Any]],
    avals: Sequence[Any],
    purpose: str,
    argument_names: Sequence[str] | None = None,
) -> tuple[ClosedJaxpr, list[Any]]:
    """Trace a flat function: a jaxpr whose leading inputs are the values it closes over, and these.

    Never cached. Values closed over are tracers of enclosing traces and concrete arrays.
    """
    if argument_names is None or _FAST in JAX.disabled:
        debug = debug_info(purpose, function, tuple(avals), {})
    else:  # without asking for the function's signature, which takes longer than a gate
        place, names = api_util.fun_sourceinfo(function), tuple(argument_names)
        debug = DebugInfo(purpose, place, names, core.initial_result_paths)
    wrapped = wrap_init(lambda *args: list(function(*args)), debug_info=debug)
    jaxpr, _, captured = trace_to_jaxpr_dynamic(wrapped, list(avals))
    closed = ClosedJaxpr(partial_eval.convert_constvars_jaxpr(jaxpr), ())
    return closed, list(captured)


def current_trace() -> Any:
    """The trace that records operations now; compare by identity."""
    return core.trace_ctx.trace


def recorded_in(trace: Any) -> AbstractContextManager[None]:
    """Operations inside are recorded in this trace, which may enclose the current one."""
    context: Any = set_current_trace(trace)
    return context


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


@contextmanager
def source_of_its_own() -> Generator[None]:
    """Equations recorded inside have their source from the stack, wherever JAX is just now.

    While JAX lowers an equation, or transposes it, all that is recorded has that one's source.
    """
    if _LINES in JAX.disabled:
        yield
        return
    current: Any = source_info_internals._source_info_context  # `user_context` can only add to it
    before, current.context = current.context, source_info_util.new_source_info()
    try:
        yield
    finally:
        current.context = before


def is_being_transformed() -> bool:
    """Whether this thread is inside of a transformation of JAX: tracing, differentiating, ...."""
    return not core.trace_state_clean()


def is_batching() -> bool:
    """Whether `jax.vmap` is the innermost transformation that this thread is inside of."""
    if _BATCHES in JAX.disabled:
        return False
    return isinstance(core.trace_ctx.trace, batching.BatchTrace)


def is_batched(value: Any) -> bool:
    """Whether a value is of the batch of the innermost transformation, which is `jax.vmap`."""
    return core.trace_ctx.trace.to_batch_info(value)[1] is not None


class _Recording(threading.local):
    trace: Any = None
    """The trace that is recording an operation just now."""


_recording = _Recording()


def _noting_the_trace(original: Callable[..., Any]) -> Callable[..., Any]:
    def process_primitive(trace: Any, *args: Any, **keywords: Any) -> Any:
        outer, _recording.trace = _recording.trace, trace
        try:
            return original(trace, *args, **keywords)
        finally:
            _recording.trace = outer

    return process_primitive


patch("process_primitive", _noting_the_trace)


def recording_trace() -> Any:
    """The trace that records operations now; None if they are evaluated.

    While JAX records one, and makes its type, the current trace is one that evaluates.
    """
    trace = core.trace_ctx.trace
    return _recording.trace if trace is None or isinstance(trace, core.EvalTrace) else trace


def enclosing_traces(trace: Any) -> list[Any]:
    """A trace and those around it, innermost first."""
    traces: list[Any] = []
    while trace is not None:
        traces.append(trace)
        trace = getattr(trace, "parent_trace", None)
    return traces


def unwrap_tracer(value: Any) -> Any:
    """The tracer of the recording trace under those of `jvp`, `linearize` and `vmap`.

    A value that `vmap` maps over is returned as it is: it has no single underlying value.
    """
    while True:
        if isinstance(value, JVPTracer | ad.LinearizeTracer):
            value = value.primal
        elif isinstance(value, batching.BatchTracer) and value.batch_dim is None:
            value = value.val
        elif isinstance(value, DynamicJaxprTracer):
            lowered = value.full_lower()  # a closed-over value: the one of the enclosing trace
            if lowered is value:
                return value
            value = lowered
        else:
            return value


def is_recorded(value: Any) -> bool:
    """Whether a value is a tracer whose variable will stand in a jaxpr."""
    return isinstance(value, DynamicJaxprTracer)


def is_recorded_variable(tracer: Any) -> bool:
    """Whether a recorded tracer is a variable, not a literal."""
    return isinstance(tracer.val, Var)


def literal_value(tracer: Any) -> int:
    """The integer that a recorded tracer which is a literal stands for."""
    return operator.index(tracer.val.val)


def tracer_variable(tracer: Any) -> Var:
    """The jaxpr variable that a recorded tracer is."""
    return tracer.val


def tracer_equation(tracer: Any) -> Any:
    """The equation (`primitive`, `in_tracers`, `params`) that defines a tracer, None for inputs."""
    return tracer.parent


def tracer_name(tracer: Any) -> str | None:
    """What the user calls a recorded tracer that is an input of its trace, if that is known."""
    frame = tracer_trace(tracer).frame
    names = frame.debug_info.arg_names if frame.debug_info is not None else None
    places = [place for place, variable in enumerate(frame.invars) if variable is tracer.val]
    return names[places[0]] if names and places and places[0] < len(names) else None


def tracer_trace(tracer: Any) -> Any:
    """The trace that a tracer belongs to."""
    return tracer._trace


class SizeCheckEffect(Effect):
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
    with suppress(MissingNameError):
        _allowed.add_type(SizeCheckEffect)
