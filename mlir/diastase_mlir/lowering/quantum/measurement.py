"""Lowering of measurements of the state: expectation, variance, probabilities, amplitudes.

Each becomes one operation on the whole register, however many terms its observable has: Pauli
words and their wires are tables, coefficients a vector.
"""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from diastase_mlir.emit.operations import array_attribute, create, integer_type, number_type
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, Value, lowers
from diastase_mlir.lowering.elementwise.moves import concatenate, reshaped
from diastase_mlir.lowering.quantum.registers import as_register, site_attribute, wire_values

_PAULI_CODES = {"X": 1, "Y": 2, "Z": 3}
"""As `PAULI_CODES` of the dialect, which cannot be imported on jaxlib's side of the hand-off."""


_ARRAYS = {"probs": "probabilities", "state": "state", "density_matrix": "density_matrix"}
"""Primitives whose result is an array, and their operations."""


@lowers("expval_pauli", "var_pauli", lazy=True)
def lower_pauli_statistic(
    context: LoweringContext,
    equation: Equation,
    register: Value,
    coefficients: Value,
    *wire_operands: Value,
) -> Sequence[Value]:
    """A statistic of a sum of Pauli words."""
    wires, attributes = word_tables(equation, wire_operands, context)
    return _statistic(context, equation, register, [context.value(coefficients), wires], attributes)


@lowers("expval_matrix", "var_matrix", lazy=True)
def lower_matrix_statistic(
    context: LoweringContext,
    equation: Equation,
    register: Value,
    matrix: Value,
    *wire_operands: Value,
) -> Sequence[Value]:
    """A statistic of a Hermitian matrix."""
    wires = wire_table(equation.params["wires"], wire_operands, context)
    return _statistic(context, equation, register, [context.value(matrix), wires], {})


@lowers("probs", "state", "density_matrix", lazy=True)
def lower_array(
    context: LoweringContext, equation: Equation, register: Value, *wire_operands: Value
) -> Sequence[Value]:
    """An array that the engine fills; its sizes that are not known now are operands."""
    name = equation.primitive.name
    inputs = [as_register(register).materialise()]
    if name != "state":
        inputs.append(wire_table(equation.params["wires"], wire_operands, context))
    aval = equation.avals_out[0]
    sizes = [
        context.dimensions.size_number(size) for size in aval.shape if not isinstance(size, int)
    ]
    attributes = {"site": site_attribute(context, name, equation)}
    if name != "density_matrix":
        segments = [*[1] * len(inputs), len(sizes)]
        attributes["operandSegmentSizes"] = array_attribute("i32", segments)
    result = context.type_of(aval)
    operation = f"quantum.{_ARRAYS[name]}"
    return [create(operation, [result], [*inputs, *sizes], attributes).result]


def _statistic(
    context: LoweringContext,
    equation: Equation,
    register: Value,
    operands: Sequence[ir.Value],
    attributes: dict[str, ir.Attribute],
) -> Sequence[Value]:
    """The operation of the dialect has the primitive's name."""
    name = equation.primitive.name
    attributes["site"] = site_attribute(context, name.partition("_")[0], equation)
    inputs = [as_register(register).materialise(), *operands]
    return [create(f"quantum.{name}", [number_type(ir.F64Type.get())], inputs, attributes).result]


def word_tables(
    equation: Equation, wire_operands: Sequence[Value], context: LoweringContext
) -> tuple[ir.Value, dict[str, ir.Attribute]]:
    """Pauli words: the vector of all wires, and where each word starts, and its letters."""
    words = equation.params["words"]
    factors = [factor for word in words for factor in word]
    attributes = {
        "offsets": array_attribute("i64", [0, *accumulate(len(word) for word in words)]),
        "paulis": array_attribute("i64", [_PAULI_CODES[pauli] for pauli, _ in factors]),
    }
    return wire_table([wire for _, wire in factors], wire_operands, context), attributes


def wire_table(
    wires: Sequence[int | None], wire_operands: Sequence[Value], context: LoweringContext
) -> ir.Value:
    """Wires as a vector: a constant if all are known."""
    if None in wires:
        values = [reshaped(wire, [1]) for wire in wire_values(wires, wire_operands, context)]
        return concatenate(ir.RankedTensorType.get([len(wires)], integer_type(64)), values, 0)
    return context.constant(np.array([wire for wire in wires if wire is not None], dtype=np.int64))
