"""Lowering of gates and mid-circuit measurements into the `quantum` dialect.

Each takes its qubits out of the register (`registers`), gives them to one operation of the
dialect, and puts that operation's results in their places. Many gates in a row on known wires are
one equation by now (`rerolling.operations`) and become a `quantum.run`: each gate keeps its site,
and parameters that are no numbers are elements of one vector.

The trap: the operands are targets, then controls, and the attribute `operandSegmentSizes` says how
many of each.
"""

from collections.abc import Iterable, Sequence

from diastase_mlir.emit.operations import (
    array_attribute,
    create,
    enumeration,
    integer_type,
    number_type,
)
from diastase_mlir.emit.registers import Register, bit_type
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, Value, lowers
from diastase_mlir.lowering.elementwise.moves import concatenate, reshaped
from diastase_mlir.lowering.quantum.registers import (
    as_register,
    emitted,
    site_attribute,
    take,
    wire_values,
)
from diastase_mlir.rerolling import lines_of_run
from diastase_mlir.rewritings import Table, tell


@lowers("gate", lazy=True)
def lower_gate(
    context: LoweringContext, equation: Equation, register: Value, *operands: Value
) -> Sequence[Value]:
    """A gate by name."""
    count = equation.params["num_parameters"]
    parameters = [context.value(operand) for operand in operands[:count]]
    taken = take(register, equation.params["wires"], operands[count:], context)
    controls = equation.params["control_values"]
    attributes = {
        "gate_name": ir.StringAttr.get(equation.params["name"]),
        "site": site_attribute(context, equation.params["name"], equation),
        **_control_attributes(controls, [len(parameters), len(taken.bits) - len(controls)]),
    }
    results = [bit_type()] * len(taken.bits)
    gate = create("quantum.gate", results, [*parameters, *taken.bits], attributes)
    return [taken.give_back(gate.results)]


def _marked(register: Value, equation: Equation) -> Value:
    """Say where an array has derivatives that are to be found by a sweep back (`adjoint`)."""
    if not equation.params.get("differentiated", False):
        return register
    state = as_register(register).materialise()
    return Register(create("quantum.differentiated", [state.type], [state]).result)


_GATES_BY_ARRAY = {"unitary": "QubitUnitary", "diagonal": "DiagonalQubitUnitary"}
"""Gates given by a matrix or by its diagonal, and what errors call them."""


@lowers(*_GATES_BY_ARRAY, lazy=True)
def lower_gate_by_array(
    context: LoweringContext,
    equation: Equation,
    register: Value,
    array: Value,
    *wire_operands: Value,
) -> Sequence[Value]:
    """The operation of the dialect has the primitive's name."""
    name = equation.primitive.name
    register = _marked(register, equation)
    taken = take(register, equation.params["wires"], wire_operands, context)
    controls = equation.params["control_values"]
    attributes = {
        "site": site_attribute(context, _GATES_BY_ARRAY[name], equation),
        **_control_attributes(controls, [1, len(taken.bits) - len(controls)]),
    }
    operands = [context.value(array), *taken.bits]
    gate = create(f"quantum.{name}", [bit_type()] * len(taken.bits), operands, attributes)
    return [taken.give_back(gate.results)]


@lowers("check_wires", lazy=True)
def lower_check_wires(
    context: LoweringContext, equation: Equation, register: Value, *wire_operands: Value
) -> Sequence[Value]:
    """A check of wires on which nothing acts."""
    checked = Register(as_register(register).materialise())
    wires = wire_values(equation.params["wires"], wire_operands, context)
    attributes = {"site": site_attribute(context, equation.params["construct"], equation)}
    create("quantum.check_wires", [], [checked.value, *wires], attributes)
    return [checked]


@lowers("prepare", lazy=True)
def lower_prepare(
    context: LoweringContext,
    equation: Equation,
    register: Value,
    amplitudes: Value,
    *wire_operands: Value,
) -> Sequence[Value]:
    """Amplitudes for wires in |0...0>."""
    register = _marked(register, equation)
    taken = take(register, equation.params["wires"], wire_operands, context)
    attributes = {
        "site": site_attribute(context, "StatePrep", equation),
        "operandSegmentSizes": array_attribute("i32", [1, len(taken.bits)]),
    }
    operands = [context.value(amplitudes), *taken.bits]
    result = create("quantum.prepare", [bit_type()] * len(taken.bits), operands, attributes)
    return [taken.give_back(result.results)]


@lowers("superoperator", "replace", lazy=True)
def lower_superoperator(
    context: LoweringContext,
    equation: Equation,
    register: Value,
    matrix: Value,
    *wire_operands: Value,
) -> Sequence[Value]:
    """A channel, or a density matrix in the place of what there was."""
    name, params = equation.primitive.name, equation.params
    register = _marked(register, equation)
    taken = take(register, params["wires"], wire_operands, context)
    attributes = {
        "site": site_attribute(context, params.get("construct", "QubitDensityMatrix"), equation),
        "operandSegmentSizes": array_attribute("i32", [1, len(taken.bits)]),
    }
    if "checked" in params:
        attributes["checked"] = ir.BoolAttr.get(params["checked"])
    operands = [context.value(matrix), *taken.bits]
    made = create(f"quantum.{name}", [bit_type()] * len(taken.bits), operands, attributes)
    return [taken.give_back(made.results)]


@lowers("half", lazy=True)
def lower_half(context: LoweringContext, equation: Equation, register: Value) -> Sequence[Value]:
    """A second register."""
    which = {"which": enumeration(equation.params["which"])}
    return emitted(context, equation, [register], which, "a derivative")


@lowers("kraus", lazy=True)
def lower_kraus(
    context: LoweringContext,
    equation: Equation,
    register: Value,
    matrices: Value,
    *wire_operands: Value,
) -> Sequence[Value]:
    """One of the operators of a channel, drawn."""
    taken = take(register, equation.params["wires"], wire_operands, context)
    attributes = {
        "site": site_attribute(context, equation.params["construct"], equation),
        "operandSegmentSizes": array_attribute("i32", [1, len(taken.bits)]),
    }
    operands = [context.value(matrices), *taken.bits]
    result = create("quantum.kraus", [bit_type()] * len(taken.bits), operands, attributes)
    return [taken.give_back(result.results)]


@lowers("global_phase", lazy=True)
def lower_global_phase(
    context: LoweringContext, equation: Equation, register: Value, phi: Value
) -> Sequence[Value]:
    """A factor on the whole state."""
    return emitted(context, equation, [register, phi], construct="GlobalPhase")


@lowers("measure", lazy=True)
def lower_measure(
    context: LoweringContext, equation: Equation, register: Value, *wire_operands: Value
) -> Sequence[Value]:
    """A mid-circuit measurement."""
    taken = take(register, equation.params["wires"], wire_operands, context)
    postselect = equation.params["postselect"]
    attributes = {
        "word": ir.StringAttr.get(equation.params["word"]),
        "reset": ir.BoolAttr.get(equation.params["reset"]),
        "postselect": enumeration(-1 if postselect is None else postselect),
        "site": site_attribute(context, "measure", equation),
    }
    results = [*[bit_type()] * len(taken.bits), number_type(integer_type(1))]
    *bits, outcome = create("quantum.measure", results, taken.bits, attributes).results
    return [taken.give_back(bits), outcome]


def _control_attributes(
    controls: Sequence[bool], leading_segments: Sequence[int]
) -> dict[str, ir.Attribute]:
    """Control values, and how many operands belong to each operand of the definition."""
    return {
        "control_values": ir.DenseBoolArrayAttr.get(list(controls)),
        "operandSegmentSizes": array_attribute("i32", [*leading_segments, len(controls)]),
    }


@lowers("operations", lazy=True)
def lower_run(
    context: LoweringContext, equation: Equation, register: Value, *operands: Value
) -> Sequence[Value]:
    """One operation on the register; gives the register after the last gate."""
    register = as_register(register).materialise()
    values = [context.value(operand) for operand in operands]
    gates = equation.params["operations"]
    sizes = [value.type.shape[0] if value.type.rank else 1 for value in values]
    lines = lines_of_run(gates, equation.params["places"], sizes)
    sites = [context.failures.site(gate.params["name"], gate.source_info) for gate in gates]
    context.uses_engine = True
    context.counts.several(gates)
    vector = [_vector(values)] if any(value.type.rank for value in values) else values
    texts = [str(line) for line in lines]
    tell(Table(gates, equation.params["places"], sizes, texts))
    attributes = run_attributes(texts, sites)
    run = create("quantum.run", [register.type], [register, *vector], attributes)
    return [Register(run.result)]


def run_attributes(lines: Iterable[str], sites: Sequence[int]) -> dict[str, ir.Attribute]:
    """The gates of a run, each with its site."""
    texts = [ir.StringAttr.get(line) for line in lines]
    return {"gates": ir.ArrayAttr.get(texts), "sites": ir.DenseI64ArrayAttr.get(sites)}


def _vector(values: Sequence[ir.Value]) -> ir.Value:
    """All elements of vectors and numbers."""
    parts = [value if value.type.rank else reshaped(value, [1]) for value in values]
    size = sum(part.type.shape[0] for part in parts)
    return concatenate(ir.RankedTensorType.get([size], ir.F64Type.get()), parts, 0)
