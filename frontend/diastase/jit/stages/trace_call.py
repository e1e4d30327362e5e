"""From the arguments of one call to a traced program.

In: a function, its signature and options, the arguments of a call. Out: the arguments flat, with
their types and the user's names for them (`Arguments`), and the function traced for these types
(`Traced`). What is no array is refused by name, among arguments as among results.

The trap: PennyLane's queue of operations is one for the whole process, so there is one trace at a
time (`tracing_with`).
"""

import dis
import functools
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import jax
from jax.core import ShapedArray, Tracer

from diastase.capture.context import changed_settings, current_settings
from diastase.capture.pennylane_compat import is_no_pytree
from diastase.dynamic_shapes.dimensions import is_integer_scalar
from diastase.jit.options.options import QjitOptions
from diastase.jit.stages.argument_checks import is_type, type_of_leaf
from diastase.jit.stages.shared_memory import shared
from diastase.jit.stages.stages import Interface, Traced
from diastase.quantum.settings.methods import watching_methods
from diastase.tracing.argument_errors import TracerArgumentError, UnsupportedResultError
from diastase.tracing.signatures import Call, Signature
from diastase.tracing.trace import TracedProgram, trace
from diastase_mlir.jax_compat import abstract_value, is_symbolic
from diastase_runtime.errors import Span
from diastase_runtime.gpu import why_no_gpu
from diastase_toolchain.forks import without_forks
from diastase_toolchain.gc_pause import fewer_collections
from diastase_toolchain.lazy_import import LazyModule
from diastase_toolchain.steps import step

if TYPE_CHECKING:
    from diastase.tracing import concurrency
else:
    concurrency = LazyModule("diastase.tracing.concurrency")


_TRACING = threading.RLock()


@dataclass(frozen=True)
class Arguments:
    """The traced arguments of one call, flat, with their types and the user's names for them."""

    call: Call
    leaves: list[Any]
    tree: Any
    avals: tuple[ShapedArray, ...]
    names: tuple[str, ...]


def any_symbolic(avals: Sequence[ShapedArray]) -> bool:
    """Whether a size is symbolic."""
    return any(is_symbolic(size) for aval in avals for size in aval.shape)


def types_of(leaves: Sequence[Any]) -> list[Any]:
    """Types of leaves; none at all if one of them is no array, which is refused elsewhere."""
    try:
        return [abstract_value(leaf) for leaf in leaves]
    except (TypeError, ValueError):
        return []


def read_arguments(signature: Signature, call: Call, *, may_be_types: bool = False) -> Arguments:
    """Flatten a call's arguments; refuses, by name, every leaf that is no array."""
    with_paths, tree = jax.tree_util.tree_flatten_with_path((call.args, call.kwargs))
    leaves = [shared(leaf) for _, leaf in with_paths]
    names = tuple(signature.leaf_name(path, call) for path, _ in with_paths)
    for leaf, name in zip(leaves, names, strict=True):
        if isinstance(leaf, Tracer):
            raise TracerArgumentError(
                function=signature.name, argument=name, type=type(leaf).__name__
            )
    avals = tuple(
        type_of_leaf(leaf, signature.name, name, may_be_type=may_be_types)
        for leaf, name in zip(leaves, names, strict=True)
    )
    return Arguments(call, leaves, tree, avals, names)


def trace_call(
    function: Callable[..., Any],
    signature: Signature,
    arguments: Arguments,
    options: QjitOptions,
    answers: Mapping[str, bool] | None = None,
    *,
    may_fix_sizes: bool = False,
) -> Traced:
    """Trace a function for these types of arguments and these static values.

    Questions about sizes that types leave open are answered by `answers`, and else by the values
    of the arguments, as far as they are values. `may_fix_sizes`: what cannot be traced for any
    sizes is traced for those of the arguments, which the program checks.
    """
    flat_function, out_trees = flattened(function, signature, arguments)

    def tracing(fixes_sizes: bool) -> TracedProgram:
        return trace(
            flat_function,
            arguments.avals,
            signature.name,
            arguments.names,
            [None if is_type(leaf) else leaf for leaf in arguments.leaves],
            answers,
            fixes_sizes=fixes_sizes,
        )

    with tracing_with(options, signature.name):
        start = time.perf_counter()  # after waiting for other threads' traces
        with step("capture") as capturing, watching_methods() as methods:
            traced = _traced(tracing, may_fix_sizes and any(map(_gives_a_size, arguments.avals)))
            if options.async_qnodes:
                program = concurrency.with_concurrent_qnodes(traced.program)
                traced = replace(traced, program=program)
            traced = replace(traced, methods=tuple(methods))
            capturing.size = lambda: str(traced.program.jaxpr).count("\n") + 1
        seconds = time.perf_counter() - start
    interface = Interface(
        fun_name=signature.name,
        in_tree=arguments.tree,
        out_tree=out_trees[-1],
        argument_names=arguments.names,
        options=options.for_compiler(signature.name),
        seed=options.seed,
        counts=options.counts,
        target_device=options.target_device,
        no_gpu=why_no_gpu() if options.target_device == "auto" else "",
        static=arguments.call.static,
        report=options.report,
    )
    return Traced(interface, traced, tracing_seconds=seconds)


def flattened(
    function: Callable[..., Any], signature: Signature, arguments: Arguments
) -> tuple[Callable[..., list[Any]], list[Any]]:
    """The function, of flat arguments and results, and where the trees of results will stand."""
    out_trees: list[Any] = []

    @functools.wraps(function)  # so that JAX's messages name the user's function, not this one
    def flat_function(*tracers: Any) -> list[Any]:
        args, kwargs = arguments.call.merge(*arguments.tree.unflatten(tracers))
        with signature.recording():
            results = function(*args, **kwargs)
        leaves, out_tree = flatten_results(function, signature.name, results)
        out_trees.append(out_tree)
        return leaves

    return flat_function, out_trees


@contextmanager
def tracing_with(options: QjitOptions, name: str) -> Generator[None]:
    """Inside, a program of this name is traced as these options say; one at a time."""
    compiler = options.for_compiler(name)
    with (
        without_forks(),
        _TRACING,
        fewer_collections(),
        settings_of(options),
        changed_settings(compiler=compiler),
    ):
        yield


def settings_of(options: QjitOptions) -> AbstractContextManager[None]:
    """Inside, what is called is traced as these options say, and those of programs around."""
    outer = current_settings()
    return changed_settings(
        passes=tuple(options.circuit_passes) or outer.passes,
        single=options.single or outer.single,
        method=options.method or outer.method,
        trajectories=options.trajectories or outer.trajectories,
        without_assertions=options.disable_assertions or outer.without_assertions,
    )


def _traced(tracing: Callable[[bool], TracedProgram], may_fix_sizes: bool) -> TracedProgram:
    """The program for all sizes, or for those at hand where there is none for all."""
    try:
        return tracing(False)
    except Exception:
        if may_fix_sizes:
            with suppress(Exception):  # the first error is about what the user wrote
                return tracing(True)
        raise


def _gives_a_size(aval: ShapedArray) -> bool:
    """Whether arguments of this type may be sizes, or have sizes that are not known."""
    return any(map(is_symbolic, aval.shape)) or is_integer_scalar(aval)


def flatten_results(function: Callable[..., Any], name: str, results: Any) -> tuple[list[Any], Any]:
    """Flatten what a function returned; refuses, by its place, every leaf that is no array."""
    with_paths, tree = jax.tree_util.tree_flatten_with_path(results, is_leaf=is_no_pytree)
    for path, leaf in with_paths:
        if not _is_array(leaf):
            raise UnsupportedResultError(
                function=name,
                output=f"result{jax.tree_util.keystr(path)}",
                type=type(leaf).__qualname__,
                span=return_span(function),
            )
    return [leaf for _, leaf in with_paths], tree


def _is_array(leaf: Any) -> bool:
    if isinstance(leaf, Tracer):
        return True
    try:
        return isinstance(abstract_value(leaf), ShapedArray)
    except (TypeError, ValueError):
        return False


def return_span(function: Callable[..., Any]) -> Span | None:
    """Find the line of the last `return` of a function that is written in Python."""
    while isinstance(function, functools.partial) or hasattr(function, "__wrapped__"):
        function = getattr(function, "__wrapped__", None) or function.func  # type: ignore[attr-defined]
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        position = instruction.positions and instruction.positions.lineno
        if instruction.opname.startswith("RETURN_") and position:
            line = position
    return Span(code.co_filename, line, code.co_qualname)
