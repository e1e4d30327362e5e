"""From a traced program to an MLIR module: the entry of lowering.

The module is built with jaxlib's bindings, where the dialects `linalg`, `bufferization` and
`quantum` are unregistered, and leaves as bytecode: the bindings that run the passes share no memory
with these. What the module looks like is written in `diastase_mlir.lowering.core.lowered_module`.

The trap: each level of nested regions takes a dozen of Python's frames, of which a thousand are
allowed by default: a `cond` within eighty others was too much. Python has one limit for all
threads, so `deep_recursion` puts it back when no thread lowers any more.
"""

import hashlib
import io
import re
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager

import jax
from jax.extend.core import ClosedJaxpr

from diastase_mlir import jax_compat
from diastase_mlir.emit.bindings import using
from diastase_mlir.emit.operations import create
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.array_types import array_type
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.functions import SharedBodies
from diastase_mlir.lowering.core.lowered_module import LoweredModule
from diastase_mlir.lowering.host.checks import check_assumption
from diastase_mlir.lowering.lower_equation import lower_equation
from diastase_mlir.program import Program
from diastase_runtime.abi import ENTRY_FUNCTION
from diastase_toolchain.background import enter
from diastase_toolchain.signals import signals_held
from diastase_toolchain.steps import step

_FRAMES = 10_000
"""Ten times what JAX has for tracing, so all that it has traced fits."""

_lock = threading.Lock()
_limits: list[int] = []
"""The limit before, once for each block that is under way."""


@contextmanager
def deep_recursion() -> Generator[None]:
    """Allow deep recursion inside of the block, in every thread."""
    with _lock:
        _limits.append(_limits[0] if _limits else sys.getrecursionlimit())
        sys.setrecursionlimit(max(_FRAMES, _limits[0]))
    try:
        yield
    finally:
        with _lock:
            before = _limits.pop()
            if not _limits:
                sys.setrecursionlimit(before)


_BYTECODE_VERSION = 4
"""The last one that names the properties of operations. Later ones write them in the order of their
declarations, which differs where jaxlib's MLIR is not that of the bindings that run the passes."""

_LARGE = 1_000_000
"""Characters of a module whose constants should not stay in memory."""


def lower(program: Program) -> LoweredModule:
    """Lower a traced program.

    Its types are decided, so 64 bits and promotions are allowed, whatever JAX is set to.
    """
    enter("lower")
    with (
        signals_held(),
        jax.enable_x64(True),
        jax.numpy_dtype_promotion("standard"),
        deep_recursion(),
        step("generate_ir") as generating,
    ):
        lowered = _lower(program)
        generating.size = lambda: lowered.text.count("\n")
        return lowered


def _lower(program: Program) -> LoweredModule:
    with (
        jax_compat.ir_context() as ir_context,
        ir.Location.unknown(ir_context),
        using(ir),
    ):
        module_context = jax_compat.new_module_context(ir_context)
        jaxpr = jax_compat.without_references(program.jaxpr)
        context = LoweringContext(
            module_context, program.dimensions, lower_equation, SharedBodies(jaxpr)
        )
        module_context.walker = context
        _lower_entry(context, jaxpr, program)
        bytecode = io.BytesIO()
        module_context.module.operation.write_bytecode(bytecode, _BYTECODE_VERSION)
        printed = str(module_context.module)
    if len(printed) > _LARGE:
        jax_compat.forget_ir_context()
    return LoweredModule(
        name=program.name,
        bytecode=bytecode.getvalue(),
        arguments=tuple(array_type(aval) for aval in jaxpr.in_avals),
        results=tuple(array_type(aval) for aval in jaxpr.out_avals),
        sites=tuple(context.failures.sites),
        callbacks=tuple(context.callbacks),
        equation_kinds=context.counts.by_kind(),
        uses_engine=context.uses_engine,
        fingerprint=hashlib.sha256(printed.encode()).hexdigest(),
    )


def _lower_entry(context: LoweringContext, jaxpr: ClosedJaxpr, program: Program) -> None:
    """Emit the one public function."""
    argument_types = [context.type_of(aval) for aval in jaxpr.in_avals]
    result_types = [context.type_of(aval) for aval in jaxpr.out_avals]
    names = program.argument_names or [""] * len(argument_types)
    block = _entry_block(context, argument_types, result_types, names)
    arguments = list(block.arguments)
    with ir.InsertionPoint(block):
        for variable, argument in zip(jaxpr.jaxpr.invars, arguments, strict=True):
            context.dimensions.define(variable, argument)
        for assumption in program.assumptions:
            if assumption.at_start:
                check_assumption(context, assumption)
        results = context.lower_jaxpr(jaxpr, arguments)
        values = [
            context.typed(context.value(value), aval)
            for value, aval in zip(results, jaxpr.out_avals, strict=True)
        ]
        create("func.return", [], values)


def _entry_block(
    context: LoweringContext,
    arguments: list[ir.Type],
    results: list[ir.Type],
    names: Sequence[str],
) -> ir.Block:
    """The entry function's declaration and empty body."""
    attributes = {
        "sym_name": ir.StringAttr.get(ENTRY_FUNCTION),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get(arguments, results)),
    }
    with ir.InsertionPoint(context.module_context.module.body):
        function = create("func.func", [], [], attributes, regions=1)
    locations = [
        ir.Location.name(_identifier(name)) if name else ir.Location.unknown() for name in names
    ]
    return function.regions[0].blocks.append(*arguments, arg_locs=locations)


def _identifier(name: str) -> str:
    """Write `params['w']` as `params_w`, which MLIR prints as it is."""
    return re.sub(r"\W+", "_", name).strip("_")
