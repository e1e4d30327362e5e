"""Lowering of measurements of the state: expectation, variance, probabilities, amplitudes.

Each becomes one operation on the whole register, however many terms its observable has: Pauli
words and their wires are tables, coefficients a vector.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.operations import array_attribute, create, integer_type
from diastase_mlir.lowering.quantum import as_register, site_attribute, wire_values
from diastase_mlir.lowering.registry import Equation, Value, lowers
from diastase_mlir.lowering.tensors import box

_PAULI_CODES = {"X": 1, "Y": 2, "Z": 3}
"""As `PAULI_CODES` of the dialect, which cannot be imported on jaxlib's side of the hand-off."""


@lowers("expval_pauli", "var_pauli", lazy=True)
def lower_pauli_statistic(
    context: LoweringContext,
    equation: Equation,
    register: Value,
    coefficients: Value,
    *wire_operands: Value,
) -> Sequence[Value]:
    """A statistic of a sum of Pauli words."""
    words = equation.params["words"]
    factors = [factor for word in words for factor in word]
    attributes = {
        "offsets": array_attribute("i64", [0, *accumulate(len(word) for word in words)]),
        "paulis": array_attribute("i64", [_PAULI_CODES[pauli] for pauli, _ in factors]),
    }
    wires = wire_table([wire for _, wire in factors], wire_operands, context)
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


@lowers("probs", lazy=True)
def lower_probs(
    context: LoweringContext, equation: Equation, register: Value, *wire_operands: Value
) -> Sequence[Value]:
    """Probabilities of the outcomes on some wires."""
    wires = wire_table(equation.params["wires"], wire_operands, context)
    attributes = {"site": site_attribute(context, "probs", equation)}
    operands = [as_register(register).materialise(), wires]
    result = context.type_of(equation.avals_out[0])
    return [create("quantum.probabilities", [result], operands, attributes).result]


@lowers("state", lazy=True)
def lower_state(context: LoweringContext, equation: Equation, register: Value) -> Sequence[Value]:
    """All amplitudes."""
    result = context.type_of(equation.avals_out[0])
    return [create("quantum.state", [result], [as_register(register).materialise()]).result]


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
    value = create(f"quantum.{name}", [ir.F64Type.get()], inputs, attributes).result
    return [box(value)]


def wire_table(
    wires: Sequence[int | None], wire_operands: Sequence[Value], context: LoweringContext
) -> ir.Value:
    """Wires as a vector: a constant if all are known."""
    table_type = ir.RankedTensorType.get([len(wires)], integer_type(64))
    if None in wires:
        values = wire_values(wires, wire_operands, context)
        return create("tensor.from_elements", [table_type], values).result
    numbers = np.array([wire for wire in wires if wire is not None], dtype=np.int64)
    table: Any = ir.DenseElementsAttr.get(numbers, type=table_type)  # pyright: ignore
    return create("arith.constant", [table_type], [], {"value": table}).result
