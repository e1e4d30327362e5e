"""Lowering of outcome scripts: calls of the engine, which keeps them.

A script is an `i64` of the program, the address of what the engine knows. Calls of functions stay
in their order through all stages, which is all that orders these.
"""

from collections.abc import Sequence

from diastase_mlir.emit.operations import create, integer_type, scalar_constant
from diastase_mlir.emit.tensors import box, unbox
from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.imports import call
from diastase_mlir.lowering.registers import Register, as_register
from diastase_mlir.lowering.registry import Equation, Value, lowers

_MODES = {"shots": 0, "tree": 1}
"""As the engine numbers them, in `outcome_scripts`."""


@lowers("uniform")
def lower_uniform(context: LoweringContext, equation: Equation) -> Sequence[Value]:
    """A random number of the call."""
    (number,) = _call(context, "uniform", [], [ir.F64Type.get()])
    return [box(number)]


@lowers("outcome_script")
def lower_outcome_script(context: LoweringContext, equation: Equation) -> Sequence[Value]:
    """A new script."""
    mode = scalar_constant(integer_type(64), _MODES[equation.params["mode"]])
    (pointer,) = _call(context, "script_begin", [mode], [_pointer_type()])
    return [box(create("llvm.ptrtoint", [integer_type(64)], [pointer]).result)]


@lowers("next_run")
def lower_next_run(
    context: LoweringContext, equation: Equation, script: ir.Value
) -> Sequence[Value]:
    """Prepare a run; it may find that there have been too many."""
    context.failures.fallible += 1
    (number,) = _call(context, "script_next", [_pointer(script)], [integer_type(64)])
    return [box(_flag(number))]


@lowers("run_weight")
def lower_run_weight(
    context: LoweringContext, equation: Equation, script: ir.Value
) -> Sequence[Value]:
    """The probability of a run."""
    (weight,) = _call(context, "script_weight", [_pointer(script)], [ir.F64Type.get()])
    return [box(weight)]


@lowers("run_is_valid")
def lower_run_is_valid(
    context: LoweringContext, equation: Equation, script: ir.Value
) -> Sequence[Value]:
    """Whether a run counts."""
    (number,) = _call(context, "script_is_valid", [_pointer(script)], [integer_type(64)])
    return [box(_flag(number))]


@lowers("require_weight")
def lower_require_weight(
    context: LoweringContext, equation: Equation, script: ir.Value, total: ir.Value
) -> Sequence[Value]:
    """Refuse an impossible postselection."""
    context.failures.fallible += 1
    _call(context, "script_require", [_pointer(script), unbox(total)])
    return []


@lowers("end_script")
def lower_end_script(
    context: LoweringContext, equation: Equation, script: ir.Value
) -> Sequence[Value]:
    """The end of a script."""
    _call(context, "script_end", [_pointer(script)])
    return []


@lowers("follow_script", lazy=True)
def lower_follow_script(
    context: LoweringContext, equation: Equation, register: Value, script: Value
) -> Sequence[Value]:
    """Tell a state where its outcomes come from."""
    handle = context.value(script)
    operands = [as_register(register).materialise(), handle]
    return [Register(create("quantum.follow", [operands[0].type], operands).result)]


def _call(
    context: LoweringContext,
    name: str,
    operands: Sequence[ir.Value],
    results: Sequence[ir.Type] = (),
) -> list[ir.Value]:
    """Call a function of the engine; the call's context comes first."""
    context.uses_engine = True
    arguments = [context.failures.call_context, *operands]
    types = [argument.type for argument in arguments]
    symbol = context.imports.function("engine", name, types, results)
    return call(symbol, arguments, results)


def _pointer_type() -> ir.Type:
    return ir.Type.parse("!llvm.ptr")


def _pointer(script: ir.Value) -> ir.Value:
    return create("llvm.inttoptr", [_pointer_type()], [unbox(script)]).result


def _flag(number: ir.Value) -> ir.Value:
    return create("arith.trunci", [integer_type(1)], [number]).result
