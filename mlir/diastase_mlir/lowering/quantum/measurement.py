"""Lowering of measurements, and of what else takes whole registers.

Each becomes one operation on the registers (`emitted`), however many terms its observable has:
Pauli words and their wires are tables, coefficients a vector. A register that is only read, by an
expectation or as one of two vectors, stays the current one.

An outcome script is an `i64` of the program, the address of what the engine knows of a circuit that
is run several times.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np

from diastase_mlir.emit.operations import array_attribute, integer_constant, integer_type
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, Value, lowers
from diastase_mlir.lowering.elementwise.elementwise import compared
from diastase_mlir.lowering.elementwise.moves import concatenate, reshaped
from diastase_mlir.lowering.quantum.registers import emitted, wire_values
from diastase_runtime.abi import ErrorCode
from diastase_runtime.gate_table import PAULI_CODES

_CONSTRUCTS = {"expval_pauli": "expval", "expval_matrix": "expval"} | dict.fromkeys(
    ("var_pauli", "var_matrix", "square_pauli"), "var"
)
"""What errors call what takes an observable, if it is a measurement."""


@lowers("expval_pauli", "var_pauli", "square_pauli", "add_pauli_sum", "add_pauli_words", lazy=True)
def lower_pauli_sum(
    context: LoweringContext, equation: Equation, *operands: Value
) -> Sequence[Value]:
    """A statistic of a sum of Pauli words, or a vector plus such a sum of another."""
    attributes, wires = word_tables(equation.params["words"])
    return _on_wires(context, equation, operands, wires, attributes)


def word_tables(
    words: Sequence[Sequence[tuple[str, int | None]]],
) -> tuple[dict[str, ir.Attribute], list[int | None]]:
    """Pauli words as attributes, and the wires of all their factors."""
    factors = [factor for word in words for factor in word]
    attributes = {
        "offsets": array_attribute("i64", [0, *accumulate(len(word) for word in words)]),
        "paulis": array_attribute("i64", [PAULI_CODES[pauli] for pauli, _ in factors]),
    }
    return attributes, [wire for _, wire in factors]


@lowers(
    "expval_matrix", "var_matrix", "apply_sparse", "project_on", "add_operator", "add_diagonal",
    lazy=True,
)  # fmt: skip
def lower_matrix(context: LoweringContext, equation: Equation, *operands: Value) -> Sequence[Value]:
    """A statistic of a matrix, or a sparse one, or a projector, applied to some wires."""
    return _on_wires(context, equation, operands, equation.params["wires"], {})


def _on_wires(
    context: LoweringContext,
    equation: Equation,
    operands: Sequence[Value],
    wires: Sequence[int | None],
    attributes: Mapping[str, ir.Attribute],
) -> Sequence[Value]:
    """An operation that takes a table of wires in the place of those that are operands."""
    count = len(operands) - [*wires].count(None)
    inputs = [*operands[:count], wire_table(wires, operands[count:], context)]
    construct = _CONSTRUCTS.get(equation.primitive.name, "an observable")
    return emitted(context, equation, inputs, attributes, construct)


@lowers("probs", "state", "density_matrix", lazy=True)
def lower_array(
    context: LoweringContext, equation: Equation, register: Value, *wire_operands: Value
) -> Sequence[Value]:
    """An array that the engine fills; its sizes that are not known now are operands."""
    name, inputs = equation.primitive.name, [register]
    if name != "state":
        inputs.append(wire_table(equation.params["wires"], wire_operands, context))
    shape = equation.avals_out[0].shape
    sizes = [context.dimensions.size_number(size) for size in shape if not isinstance(size, int)]
    attributes: dict[str, ir.Attribute] = {}
    if name != "density_matrix":
        segments = [*[1] * len(inputs), len(sizes)]
        attributes["operandSegmentSizes"] = array_attribute("i32", segments)
    return emitted(context, equation, [*inputs, *sizes], attributes, name)


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
    shots = context.number(equation.params["shots"])
    return emitted(context, equation, [register, wires, shots], construct="the QNode")


_FALLIBLE = frozenset({"next_run", "require_weight"})
"""There may be too many runs, and a postselection may be impossible."""


@lowers(
    "uniform", "outcome_script", "next_run", "run_weight", "run_is_valid", "require_weight",
    "end_script", "follow_script", lazy=True,
)  # fmt: skip
def lower_script(context: LoweringContext, equation: Equation, *operands: Value) -> Sequence[Value]:
    """A random number, or what is asked of a script or done with it."""
    context.failures.fallible += equation.primitive.name in _FALLIBLE
    mode = {name: ir.StringAttr.get(text) for name, text in equation.params.items()}
    return emitted(context, equation, operands, mode)


@lowers("trajectories", lazy=True)
def lower_trajectories(
    context: LoweringContext, equation: Equation, count: Value
) -> Sequence[Value]:
    """A script, which may need more memory than there is."""
    context.failures.fallible += 1
    shots = {"shots": ir.BoolAttr.get(equation.params["shots"])}
    return emitted(context, equation, [count], shots)


@lowers("run_members", lazy=True)
def lower_run_members(
    context: LoweringContext, equation: Equation, script: Value
) -> Sequence[Value]:
    """An array that the engine fills."""
    size = context.dimensions.size_number(equation.avals_out[0].shape[0])
    return emitted(context, equation, [script, size])


@lowers("copy_register", "add_scaled", "inner_product", lazy=True)
def lower_vectors(
    context: LoweringContext, equation: Equation, *operands: Value
) -> Sequence[Value]:
    """A second register, a sum of two, or a complex number."""
    flags = {name: ir.BoolAttr.get(flag) for name, flag in equation.params.items()}
    return emitted(context, equation, operands, flags, "an observable")


@lowers("record", "set_amplitudes", "tape_length", lazy=True)
def lower_tape(context: LoweringContext, equation: Equation, *operands: Value) -> Sequence[Value]:
    """A register that keeps what it is given from now on, or with all amplitudes written."""
    construct = "a derivative" if equation.primitive.name == "record" else ""
    return emitted(context, equation, operands, construct=construct)


@lowers("sweep", lazy=True)
def lower_sweep(
    context: LoweringContext, equation: Equation, register: Value, adjoint: Value
) -> Sequence[Value]:
    """Derivatives, an array that the engine fills."""
    length = context.dimensions.size_number(equation.avals_out[0].shape[0])
    return emitted(context, equation, [register, adjoint, length], construct="a derivative")


def wire_table(
    wires: Sequence[int | None], wire_operands: Sequence[Value], context: LoweringContext
) -> ir.Value:
    """Wires as a vector: a constant if all are known."""
    if None in wires:
        values = [reshaped(wire, [1]) for wire in wire_values(wires, wire_operands, context)]
        return concatenate(ir.RankedTensorType.get([len(wires)], integer_type(64)), values, 0)
    return context.constant(np.array([wire for wire in wires if wire is not None], dtype=np.int64))
