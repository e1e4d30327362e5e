"""Lowering of what draws shots from a register."""

from collections.abc import Sequence

from diastase_mlir.emit.operations import create, integer_constant
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, Value, lowers
from diastase_mlir.lowering.elementwise.elementwise import compared
from diastase_mlir.lowering.quantum.measurement import wire_table
from diastase_mlir.lowering.quantum.registers import as_register, site_attribute
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
