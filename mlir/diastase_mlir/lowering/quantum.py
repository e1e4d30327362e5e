"""Lowering of gates, mid-circuit measurements and QNodes into the `quantum` dialect.

A jaxpr threads one register; the dialect has qubits. A `Register` is the register with some
qubits taken out, by known wire: gates on known wires take the bit of the gate before, so the
data flow per wire is explicit. Whoever needs the register as a value (control flow, a measurement
of an observable, an operation on a traced wire, which could be any qubit) materialises it: all
bits go back in.

The trap: a `Register` is changed in place and handed on as the equation's result. That is sound
because registers are used linearly: nobody looks at the one before.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.operations import (
    array_attribute,
    compare_integers,
    create,
    enumeration,
    integer_type,
    scalar_constant,
)
from diastase_mlir.lowering.registry import Equation, Value, lowers
from diastase_mlir.lowering.sizes import leave_if
from diastase_mlir.lowering.tensors import box, unbox
from diastase_runtime.abi import ErrorCode

MAX_QUBITS = 40
"""As the engine's; a test compares them."""


def register_type() -> ir.Type:
    """`!quantum.register`."""
    return ir.Type.parse("!quantum.register")


def bit_type() -> ir.Type:
    """`!quantum.bit`."""
    return ir.Type.parse("!quantum.bit")


@dataclass
class Register:
    """A register value, and the qubits that are out of it at the moment."""

    value: ir.Value
    bits: dict[int, ir.Value] = field(default_factory=dict)

    def materialise(self) -> ir.Value:
        """Put all qubits back."""
        for wire, bit in self.bits.items():
            self.insert(_wire_constant(wire), bit)
        self.bits.clear()
        return self.value

    def extract(self, wire: ir.Value) -> ir.Value:
        """Take out a qubit; the caller puts it back."""
        return create("quantum.extract", [bit_type()], [self.value, wire]).result

    def insert(self, wire: ir.Value, bit: ir.Value) -> None:
        """Put a qubit back."""
        operands = [self.value, wire, bit]
        self.value = create("quantum.insert", [register_type()], operands).result

    def bit(self, wire: int) -> ir.Value:
        """The qubit of a known wire, taken out if need be."""
        if wire not in self.bits:
            self.bits[wire] = self.extract(_wire_constant(wire))
        return self.bits[wire]


@dataclass(frozen=True)
class TakenBits:
    """The qubits on which an operation acts, and where their successors go."""

    register: Register
    wires: tuple[int | ir.Value, ...]
    bits: list[ir.Value]

    def give_back(self, bits: Iterable[ir.Value]) -> Register:
        """Continue with these qubits in their places."""
        for wire, bit in zip(self.wires, bits, strict=True):
            if isinstance(wire, int):
                self.register.bits[wire] = bit
            else:
                self.register.insert(wire, bit)
        return self.register


def as_register(value: Value) -> Register:
    """A register from wherever it comes: an operation, or a block argument."""
    return Register(value) if isinstance(value, ir.Value) else _checked(value)


def take(
    register: Value,
    wires: Sequence[int | None],
    wire_operands: Sequence[Value],
    context: LoweringContext,
) -> TakenBits:
    """Take the qubits on these wires out; `None` stands for the next operand."""
    taken_from = as_register(register)
    if None not in wires:
        known = tuple(wire for wire in wires if wire is not None)
        return TakenBits(taken_from, known, [taken_from.bit(wire) for wire in known])
    taken_from.materialise()
    values = wire_values(wires, wire_operands, context)
    return TakenBits(taken_from, tuple(values), [taken_from.extract(wire) for wire in values])


def wire_values(
    wires: Sequence[int | None], wire_operands: Sequence[Value], context: LoweringContext
) -> list[ir.Value]:
    """All wires as `i64` values; `None` stands for the next operand."""
    operands = iter(wire_operands)
    return [
        unbox(context.value(next(operands))) if wire is None else _wire_constant(wire)
        for wire in wires
    ]


def site_attribute(context: LoweringContext, construct: str, equation: Equation) -> ir.Attribute:
    """The number of this place in the user's program."""
    context.uses_engine = True
    return enumeration(context.site_number(construct, equation.source_info))


@lowers("allocate_qubits", lazy=True)
def lower_allocate(
    context: LoweringContext, equation: Equation, *operands: Value
) -> Sequence[Value]:
    """A new register, its number of qubits known or computed; marked with the circuit's passes."""
    known = equation.params["num_wires"]
    if known is None:
        number = unbox(context.value(operands[0]))
        _check_number(context, equation, number)
    else:
        number = scalar_constant(integer_type(64), known)
    attributes = {"site": site_attribute(context, f"QNode {equation.params['qnode']}", equation)}
    if context.circuit_passes:
        attributes["passes"] = ir.ArrayAttr.get([_mark(call) for call in context.circuit_passes])
    return [Register(create("quantum.alloc", [register_type()], [number], attributes).result)]


def _mark(call: Any) -> ir.Attribute:
    """A pass with its options, as `transform_circuits` reads it."""
    options = {name: _option(value) for name, value in call.options}
    mark: dict[str, ir.Attribute] = {
        "name": ir.StringAttr.get(call.name),
        "options": ir.DictAttr.get(options),
    }
    return ir.DictAttr.get(mark)


def _option(value: bool | int | float | str) -> ir.Attribute:
    match value:
        case bool():
            return ir.BoolAttr.get(value)
        case int():
            return ir.IntegerAttr.get(integer_type(64), value)
        case float():
            return ir.FloatAttr.get(ir.F64Type.get(), value)
        case str():
            return ir.StringAttr.get(value)


def _check_number(context: LoweringContext, equation: Equation, number: ir.Value) -> None:
    """Leave the program if there is no state of so many qubits: loops over all of them follow."""
    site = context.site(f"QNode {equation.params['qnode']}", equation.source_info)
    least, most = (scalar_constant(integer_type(64), bound) for bound in (0, MAX_QUBITS))
    negative = compare_integers("slt", number, least)
    leave_if(context, negative, ErrorCode.NEGATIVE_QUBITS, site, [number])
    too_many = compare_integers("sge", number, most)
    leave_if(context, too_many, ErrorCode.TOO_MANY_QUBITS, site, [number])


@lowers("release_qubits", lazy=True)
def lower_release(context: LoweringContext, equation: Equation, register: Value) -> Sequence[Value]:
    """The end of a register."""
    create("quantum.release", [], [as_register(register).materialise()])
    return []


@lowers("gate", lazy=True)
def lower_gate(
    context: LoweringContext, equation: Equation, register: Value, *operands: Value
) -> Sequence[Value]:
    """A gate by name."""
    count = equation.params["num_parameters"]
    parameters = [scalar(context.value(operand)) for operand in operands[:count]]
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


@lowers("unitary", lazy=True)
def lower_unitary(
    context: LoweringContext,
    equation: Equation,
    register: Value,
    matrix: Value,
    *wire_operands: Value,
) -> Sequence[Value]:
    """A gate by its matrix."""
    taken = take(register, equation.params["wires"], wire_operands, context)
    controls = equation.params["control_values"]
    attributes = {
        "site": site_attribute(context, "QubitUnitary", equation),
        **_control_attributes(controls, [1, len(taken.bits) - len(controls)]),
    }
    operands = [context.value(matrix), *taken.bits]
    gate = create("quantum.unitary", [bit_type()] * len(taken.bits), operands, attributes)
    return [taken.give_back(gate.results)]


@lowers("diagonal", lazy=True)
def lower_diagonal(
    context: LoweringContext,
    equation: Equation,
    register: Value,
    elements: Value,
    *wire_operands: Value,
) -> Sequence[Value]:
    """A gate by its diagonal."""
    taken = take(register, equation.params["wires"], wire_operands, context)
    controls = equation.params["control_values"]
    attributes = {
        "site": site_attribute(context, "DiagonalQubitUnitary", equation),
        **_control_attributes(controls, [1, len(taken.bits) - len(controls)]),
    }
    operands = [context.value(elements), *taken.bits]
    gate = create("quantum.diagonal", [bit_type()] * len(taken.bits), operands, attributes)
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
    taken = take(register, equation.params["wires"], wire_operands, context)
    attributes = {
        "site": site_attribute(context, "StatePrep", equation),
        "operandSegmentSizes": array_attribute("i32", [1, len(taken.bits)]),
    }
    operands = [context.value(amplitudes), *taken.bits]
    result = create("quantum.prepare", [bit_type()] * len(taken.bits), operands, attributes)
    return [taken.give_back(result.results)]


@lowers("global_phase", lazy=True)
def lower_global_phase(
    context: LoweringContext, equation: Equation, register: Value, phi: Value
) -> Sequence[Value]:
    """A factor on the whole state."""
    operands = [as_register(register).materialise(), scalar(context.value(phi))]
    attributes = {"site": site_attribute(context, "GlobalPhase", equation)}
    return [
        Register(create("quantum.global_phase", [register_type()], operands, attributes).result)
    ]


@lowers("measure", lazy=True)
def lower_measure(
    context: LoweringContext, equation: Equation, register: Value, *wire_operands: Value
) -> Sequence[Value]:
    """A mid-circuit measurement."""
    taken = take(register, equation.params["wires"], wire_operands, context)
    postselect = equation.params["postselect"]
    attributes = {
        "reset": ir.BoolAttr.get(equation.params["reset"]),
        "postselect": enumeration(-1 if postselect is None else postselect),
        "site": site_attribute(context, "measure", equation),
    }
    results = [bit_type(), integer_type(1)]
    bit, outcome = create("quantum.measure", results, taken.bits, attributes).results
    return [taken.give_back([bit]), box(outcome)]


@lowers("qnode", keys=True)
def lower_qnode(context: LoweringContext, equation: Equation, *operands: Value) -> Sequence[Value]:
    """The body in place: it allocates and releases its own register."""
    with context.marking_circuits(equation.params.get("passes", ())):
        return context.lower_jaxpr(equation.params["jaxpr"], operands)


@lowers("inlined", lazy=True, keys=True)
def lower_inlined(
    context: LoweringContext, equation: Equation, *operands: Value
) -> Sequence[Value]:
    """A jaxpr in place."""
    return context.lower_jaxpr(equation.params["jaxpr"], operands)


def scalar(value: ir.Value) -> ir.Value:
    """The element of a rank-0 tensor; a constant directly, as circuits are full of them."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "stablehlo.constant":
        return unbox(value)
    number = ir.DenseElementsAttr(owner.attributes["value"]).get_splat_value()
    return create("arith.constant", [number.type], [], {"value": number}).result


def _control_attributes(
    controls: Sequence[bool], leading_segments: Sequence[int]
) -> dict[str, ir.Attribute]:
    """Control values, and how many operands belong to each operand of the definition."""
    return {
        "control_values": ir.DenseBoolArrayAttr.get(list(controls)),
        "operandSegmentSizes": array_attribute("i32", [*leading_segments, len(controls)]),
    }


def _wire_constant(wire: int) -> ir.Value:
    return scalar_constant(integer_type(64), wire)


def _checked(value: Value) -> Register:
    assert isinstance(value, Register), f"not a register: {value!r}"
    return value
