"""Lowering of registers side by side in the lanes of vectors (the `quantum` dialect's `lanes`).

Each equation becomes one operation on the register, as measurements do; wires are numbers, no
qubits are taken out. The type of the register in the jaxpr tells how many lanes it has (`lanes`);
arrays of numbers for each lane are compared with that here, and nowhere later.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from diastase_mlir.emit.operations import array_attribute, enumeration
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, Value, lowers
from diastase_mlir.lowering.quantum.gates import run_attributes
from diastase_mlir.lowering.quantum.measurement import wire_table, word_tables
from diastase_mlir.lowering.quantum.registers import emitted, wire_values
from diastase_runtime.errors import Span


@lowers("lanes_allocate", lazy=True)
def lower_allocate(context: LoweringContext, equation: Equation, first: Value) -> Sequence[Value]:
    """New registers, their number and that of their qubits known."""
    params = equation.params
    attributes = {name: enumeration(params[name]) for name in ("num_wires", "lanes")}
    return emitted(context, equation, [first], attributes, f"QNode {params['qnode']}")


@lowers("lanes_activate", lazy=True)
def lower_activate(
    context: LoweringContext, equation: Equation, register: Value, mask: Value
) -> Sequence[Value]:
    """From here on other lanes are active."""
    _check_lanes(equation, equation.avals_in[1])
    return emitted(context, equation, [register, mask])


@lowers("lanes_gate", lazy=True)
def lower_gate(
    context: LoweringContext, equation: Equation, register: Value, *operands: Value
) -> Sequence[Value]:
    """A gate by name, its parameters an array each."""
    name, count = equation.params["name"], equation.params["num_parameters"]
    _check_lanes(equation, *equation.avals_in[1 : 1 + count])
    wires = wire_values(equation.params["wires"], operands[count:], context)
    attributes = {
        "gate_name": ir.StringAttr.get(name),
        "operandSegmentSizes": array_attribute("i32", [1, count, len(wires)]),
    }
    operands = (register, *operands[:count], *wires)
    return _controlled(context, equation, operands, attributes, name)


@lowers("lanes_run", lazy=True)
def lower_run(
    context: LoweringContext, equation: Equation, register: Value, *parameters: Value
) -> Sequence[Value]:
    """Gates on known wires, their parameters the rows of one array."""
    _check_lanes(equation, *equation.avals_in[1:], axis=1)
    gates, lines = equation.params["gates"], equation.params["lines"]
    sites = [
        context.failures.site_at(
            gate.partition(" ")[0], context.failures.span if line is None else Span(*line)
        )
        for gate, line in zip(gates, lines, strict=True)
    ]
    return emitted(context, equation, [register, *parameters], run_attributes(gates, sites))


@lowers("lanes_unitary", lazy=True)
def lower_unitary(
    context: LoweringContext,
    equation: Equation,
    register: Value,
    matrix: Value,
    *wire_operands: Value,
) -> Sequence[Value]:
    """A matrix, or where `per_lane` one for each lane, which its type tells."""
    if equation.params["per_lane"]:
        _check_lanes(equation, equation.avals_in[1])
    wires = wire_values(equation.params["wires"], wire_operands, context)
    attributes = {"operandSegmentSizes": array_attribute("i32", [1, 1, len(wires)])}
    operands = (register, matrix, *wires)
    return _controlled(context, equation, operands, attributes, "QubitUnitary")


def _check_lanes(equation: Equation, *arrays: Any, axis: int = 0) -> None:
    """Make sure that arrays are as long as there are lanes: the engine looks at none of them."""
    lanes = equation.avals_in[0].lanes
    sizes = [array.shape[axis] for array in arrays]
    assert sizes == [lanes] * len(sizes), f"{equation.primitive.name}: {sizes} for {lanes} lanes"


def _controlled(
    context: LoweringContext,
    equation: Equation,
    operands: Sequence[Value],
    attributes: Mapping[str, Any],
    construct: str,
) -> Sequence[Value]:
    """An operation on wires of which the last ones are controls."""
    values = ir.DenseBoolArrayAttr.get(list(equation.params["control_values"]))
    controlled = {**attributes, "control_values": values}
    return emitted(context, equation, operands, controlled, construct)


@lowers("lanes_measure", lazy=True)
def lower_measure(
    context: LoweringContext, equation: Equation, register: Value, *wire_operands: Value
) -> Sequence[Value]:
    """A measurement of the same qubit in all lanes."""
    _check_lanes(equation, equation.avals_out[1])
    (wire,) = wire_values(equation.params["wires"], wire_operands, context)
    reset = {"reset": ir.BoolAttr.get(equation.params["reset"])}
    return emitted(context, equation, [register, wire], reset, "measure")


@lowers("lanes_sample", lazy=True)
def lower_sample(
    context: LoweringContext, equation: Equation, register: Value, *wire_operands: Value
) -> Sequence[Value]:
    """Packed outcomes of all shots, a row for each lane."""
    _check_lanes(equation, equation.avals_out[0])
    wires = wire_table(equation.params["wires"], wire_operands, context)
    shots = context.number(equation.params["shots"])
    return emitted(context, equation, [register, wires, shots], construct="the QNode")


@lowers("lanes_probs", lazy=True)
def lower_probs(
    context: LoweringContext, equation: Equation, register: Value, *wire_operands: Value
) -> Sequence[Value]:
    """Probabilities, a row for each lane."""
    _check_lanes(equation, equation.avals_out[0])
    wires = wire_table(equation.params["wires"], wire_operands, context)
    return emitted(context, equation, [register, wires], construct="probs")


@lowers("lanes_state", lazy=True)
def lower_state(context: LoweringContext, equation: Equation, register: Value) -> Sequence[Value]:
    """All amplitudes, a row for each lane."""
    _check_lanes(equation, equation.avals_out[0])
    return emitted(context, equation, [register])


@lowers("lanes_pauli_values", lazy=True)
def lower_pauli_values(
    context: LoweringContext, equation: Equation, register: Value, *wire_operands: Value
) -> Sequence[Value]:
    """Expectations of Pauli words, a row for each word."""
    _check_lanes(equation, equation.avals_out[0], axis=1)
    attributes, wires = word_tables(equation.params["words"])
    table = wire_table(wires, wire_operands, context)
    return emitted(context, equation, [register, table], attributes, "expval")
