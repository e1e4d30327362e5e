"""Lowering of adjoint differentiation: registers that remember, and the sweep back."""

from collections.abc import Sequence

from diastase_mlir.emit.operations import create, integer_type, number_type
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, Value, lowers
from diastase_mlir.lowering.quantum.registers import Register, as_register, site_attribute


@lowers("record", lazy=True)
def lower_record(context: LoweringContext, equation: Equation, register: Value) -> Sequence[Value]:
    """The same register; what it is given from now on is kept."""
    state = as_register(register).materialise()
    attributes = {"site": site_attribute(context, "a derivative", equation)}
    return [Register(create("quantum.record", [state.type], [state], attributes).result)]


@lowers("set_amplitudes", lazy=True)
def lower_set_amplitudes(
    context: LoweringContext, equation: Equation, register: Value, amplitudes: Value
) -> Sequence[Value]:
    """The same register with all amplitudes written."""
    operands = [as_register(register).materialise(), context.value(amplitudes)]
    return [Register(create("quantum.set_amplitudes", [operands[0].type], operands).result)]


@lowers("tape_length", lazy=True)
def lower_tape_length(
    context: LoweringContext, equation: Equation, register: Value
) -> Sequence[Value]:
    """A number."""
    state = as_register(register).materialise()
    return [create("quantum.tape_length", [number_type(integer_type(64))], [state]).result]


@lowers("sweep", lazy=True)
def lower_sweep(
    context: LoweringContext, equation: Equation, register: Value, adjoint: Value
) -> Sequence[Value]:
    """An array that the engine fills."""
    states = [as_register(register).materialise(), as_register(adjoint).materialise()]
    aval = equation.avals_out[0]
    length = context.dimensions.size_number(aval.shape[0])
    attributes = {"site": site_attribute(context, "a derivative", equation)}
    result = context.type_of(aval)
    return [create("quantum.sweep", [result], [*states, length], attributes).result]
