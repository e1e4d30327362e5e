"""Lowering of samples, of random numbers of the call, and of outcome scripts (`dialects.quantum`).

A script is an `i64` of the program, the address of what the engine knows of a circuit that is run
several times.
"""

from collections.abc import Sequence

from diastase_mlir.emit.operations import create, integer_constant, integer_type, number_type
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, Value, lowers
from diastase_mlir.lowering.elementwise.elementwise import compared
from diastase_mlir.lowering.quantum.measurement import wire_table
from diastase_mlir.lowering.quantum.registers import Register, as_register, site_attribute
from diastase_runtime.abi import ErrorCode


@lowers("assert_shots")
def lower_assert_shots(context: LoweringContext, equation: Equation) -> list[Value]:
    """Leave the program if there are no shots, or fewer."""
    shots = context.number(equation.params["shots"])
    site = context.failures.site(f"the QNode {equation.params['qnode']}", equation.source_info)
    too_few = compared("lt", "SIGNED", shots, integer_constant(1))
    context.failures.record(too_few, ErrorCode.INVALID_SHOTS, site, [shots], leave="now")
    return []


@lowers("sample", lazy=True)
def lower_sample(
    context: LoweringContext, equation: Equation, register: Value, *wire_operands: Value
) -> Sequence[Value]:
    """Packed outcomes of all shots."""
    wires = wire_table(equation.params["wires"], wire_operands, context)
    number = context.number(equation.params["shots"])
    attributes = {"site": site_attribute(context, "the QNode", equation)}
    operands = [as_register(register).materialise(), wires, number]
    result = context.type_of(equation.avals_out[0])
    return [create("quantum.sample", [result], operands, attributes).result]


@lowers("uniform")
def lower_uniform(context: LoweringContext, equation: Equation) -> Sequence[Value]:
    """A random number of the call."""
    return [_created(context, "uniform", ir.F64Type.get())]


@lowers("outcome_script")
def lower_outcome_script(context: LoweringContext, equation: Equation) -> Sequence[Value]:
    """A new script."""
    context.uses_engine = True
    mode = {"mode": ir.StringAttr.get(equation.params["mode"])}
    kind = number_type(integer_type(64))
    return [create("quantum.outcome_script", [kind], [], mode).result]


@lowers("next_run")
def lower_next_run(
    context: LoweringContext, equation: Equation, script: ir.Value
) -> Sequence[Value]:
    """Prepare a run; it may find that there have been too many."""
    context.failures.fallible += 1
    return [_created(context, "next_run", integer_type(1), script)]


@lowers("run_weight")
def lower_run_weight(
    context: LoweringContext, equation: Equation, script: ir.Value
) -> Sequence[Value]:
    """The probability of a run."""
    return [_created(context, "run_weight", ir.F64Type.get(), script)]


@lowers("run_is_valid")
def lower_run_is_valid(
    context: LoweringContext, equation: Equation, script: ir.Value
) -> Sequence[Value]:
    """Whether a run counts."""
    return [_created(context, "run_is_valid", integer_type(1), script)]


@lowers("require_weight")
def lower_require_weight(
    context: LoweringContext, equation: Equation, script: ir.Value, total: ir.Value
) -> Sequence[Value]:
    """Refuse an impossible postselection."""
    context.failures.fallible += 1
    create("quantum.require_weight", [], [script, total])
    return []


@lowers("end_script")
def lower_end_script(
    context: LoweringContext, equation: Equation, script: ir.Value
) -> Sequence[Value]:
    """The end of a script."""
    create("quantum.end_script", [], [script])
    return []


@lowers("follow_script", lazy=True)
def lower_follow_script(
    context: LoweringContext, equation: Equation, register: Value, script: Value
) -> Sequence[Value]:
    """Tell a state where its outcomes come from."""
    handle = context.value(script)
    operands = [as_register(register).materialise(), handle]
    return [Register(create("quantum.follow", [operands[0].type], operands).result)]


def _created(
    context: LoweringContext, name: str, element: ir.Type, *operands: ir.Value
) -> ir.Value:
    """An operation of the engine that gives a number."""
    context.uses_engine = True
    return create(f"quantum.{name}", [number_type(element)], operands).result
