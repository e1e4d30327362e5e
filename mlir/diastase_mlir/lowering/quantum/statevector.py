"""Lowering of registers taken as vectors, and of adjoint differentiation.

Copies, sums, inner products, products with operators that are no gates; registers that record their
operations, and the sweep back over these. What is only read is materialised, so that all its qubits
are in it, and stays the current register.
"""

from collections.abc import Sequence

from diastase_mlir.emit.operations import create, integer_type, number_type
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, Value, lowers
from diastase_mlir.lowering.quantum.measurement import wire_table, word_tables
from diastase_mlir.lowering.quantum.registers import Register, as_register, site_attribute


@lowers("copy_register", lazy=True)
def lower_copy_register(
    context: LoweringContext, equation: Equation, register: Value
) -> Sequence[Value]:
    """A second register."""
    attributes = {
        "blank": ir.BoolAttr.get(equation.params["blank"]),
        "site": site_attribute(context, "an observable", equation),
    }
    return [_registers("copy", [as_register(register).materialise()], attributes)]


@lowers("add_scaled", lazy=True)
def lower_add_scaled(
    context: LoweringContext, equation: Equation, target: Value, source: Value, factor: Value
) -> Sequence[Value]:
    """A sum of two vectors."""
    operands = [as_register(target).materialise(), as_register(source).materialise()]
    attributes = {"site": site_attribute(context, "an observable", equation)}
    return [_registers("add_scaled", [*operands, context.value(factor)], attributes)]


@lowers("add_pauli_sum", lazy=True)
def lower_add_pauli_sum(
    context: LoweringContext,
    equation: Equation,
    target: Value,
    source: Value,
    coefficients: Value,
    *wire_operands: Value,
) -> Sequence[Value]:
    """A vector plus a sum of Pauli words of another."""
    operands = [as_register(target).materialise(), as_register(source).materialise()]
    wires, attributes = word_tables(equation, wire_operands, context)
    attributes["site"] = site_attribute(context, "an observable", equation)
    operands += [context.value(coefficients), wires]
    return [_registers("add_pauli_sum", operands, attributes)]


@lowers("inner_product", lazy=True)
def lower_inner_product(
    context: LoweringContext, equation: Equation, bra: Value, ket: Value
) -> Sequence[Value]:
    """A complex number."""
    operands = [as_register(bra).materialise(), as_register(ket).materialise()]
    result = context.type_of(equation.avals_out[0])
    attributes = {"site": site_attribute(context, "an observable", equation)}
    return [create("quantum.inner_product", [result], operands, attributes).result]


@lowers("apply_sparse", lazy=True)
def lower_apply_sparse(
    context: LoweringContext,
    equation: Equation,
    register: Value,
    row_starts: Value,
    columns: Value,
    values: Value,
    *wire_operands: Value,
) -> Sequence[Value]:
    """A sparse matrix on some wires."""
    arrays = [context.value(array) for array in (row_starts, columns, values)]
    return [_on_wires(context, equation, register, arrays, wire_operands)]


@lowers("project_on", lazy=True)
def lower_project_on(
    context: LoweringContext,
    equation: Equation,
    register: Value,
    vector: Value,
    *wire_operands: Value,
) -> Sequence[Value]:
    """A projector on a vector of some wires."""
    return [_on_wires(context, equation, register, [context.value(vector)], wire_operands)]


def _on_wires(
    context: LoweringContext,
    equation: Equation,
    register: Value,
    arrays: Sequence[ir.Value],
    wire_operands: Sequence[Value],
) -> Register:
    """The operation of the dialect has the primitive's name."""
    wires = wire_table(equation.params["wires"], wire_operands, context)
    operands = [as_register(register).materialise(), *arrays, wires]
    attributes = {"site": site_attribute(context, "an observable", equation)}
    return _registers(equation.primitive.name, operands, attributes)


def _registers(
    name: str, operands: Sequence[ir.Value], attributes: dict[str, ir.Attribute]
) -> Register:
    return Register(create(f"quantum.{name}", [operands[0].type], operands, attributes).result)


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
