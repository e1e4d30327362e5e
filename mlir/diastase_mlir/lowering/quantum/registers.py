"""Registers while lowering: one value in a jaxpr, qubits in the `quantum` dialect.

A jaxpr threads one register; the dialect has qubits. A `Register` is the register with some
qubits taken out, by known wire: gates on known wires take the bit of the gate before, so the
data flow per wire is explicit. Whoever needs the register as a value (control flow, a measurement
of an observable, an operation on a traced wire, which could be any qubit) materialises it: all
bits go back in. The body of a QNode allocates and releases its own register; a number of qubits
that is computed is checked before anything is allocated.

The trap: a `Register` is changed in place and handed on as the equation's result. That is sound
because registers are used linearly: nobody looks at the one before.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from diastase_mlir.emit.operations import create, enumeration, integer_constant
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, Value, lowers
from diastase_mlir.lowering.elementwise.elementwise import compared
from diastase_runtime.abi import ErrorCode


def register_type(single: bool) -> ir.Type:
    """`!quantum.register`, or that of amplitudes in single precision."""
    return ir.Type.parse("!quantum.single_register" if single else "!quantum.register")


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
            self.insert(integer_constant(wire), bit)
        self.bits.clear()
        return self.value

    def extract(self, wire: ir.Value) -> ir.Value:
        """Take out a qubit; the caller puts it back."""
        return create("quantum.extract", [bit_type()], [self.value, wire]).result

    def insert(self, wire: ir.Value, bit: ir.Value) -> None:
        """Put a qubit back."""
        operands = [self.value, wire, bit]
        self.value = create("quantum.insert", [self.value.type], operands).result

    def bit(self, wire: int) -> ir.Value:
        """The qubit of a known wire, taken out if need be."""
        if wire not in self.bits:
            self.bits[wire] = self.extract(integer_constant(wire))
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
    """All wires as numbers of 64 bits; `None` stands for the next operand."""
    operands = iter(wire_operands)
    return [
        context.value(next(operands)) if wire is None else integer_constant(wire) for wire in wires
    ]


_OPERATIONS = {
    "copy_register": "copy", "follow_script": "follow", "probs": "probabilities",
    "release_qubits": "release",
}  # fmt: skip
"""Those that the dialect calls otherwise than the primitive is called."""


def emitted(
    context: LoweringContext,
    equation: Equation,
    operands: Sequence[Value],
    attributes: Mapping[str, ir.Attribute] | None = None,
    construct: str = "",
) -> list[Value]:
    """The results of the operation of an equation; all qubits are in the registers that it takes.

    `construct`: what errors call it, if it may fail.
    """
    name = equation.primitive.name
    values = [context.value(operand) for operand in operands]
    attributes = dict(attributes or {})
    if construct:
        attributes["site"] = site_attribute(context, construct, equation)
    context.uses_engine = True
    kinds = [context.type_of(aval) for aval in equation.avals_out]
    results = create(f"quantum.{_OPERATIONS.get(name, name)}", kinds, values, attributes).results
    return [
        Register(result) if hasattr(aval, "mlir_type") else result
        for result, aval in zip(results, equation.avals_out, strict=True)
    ]


def site_attribute(context: LoweringContext, construct: str, equation: Equation) -> ir.Attribute:
    """The number of this place in the user's program."""
    context.uses_engine = True
    return enumeration(context.failures.site(construct, equation.source_info))


def _checked(value: Value) -> Register:
    assert isinstance(value, Register), f"not a register: {value!r}"
    return value


MAX_QUBITS = 40
"""As the engine's; a test compares them."""


@lowers("allocate_qubits", lazy=True)
def lower_allocate(
    context: LoweringContext, equation: Equation, *operands: Value
) -> Sequence[Value]:
    """A new register, its number of qubits known or computed."""
    known = equation.params["num_wires"]
    if known is None:
        number = context.value(operands[0])
        _check_number(context, equation, number)
    else:
        number = integer_constant(known)
    attributes = {"site": site_attribute(context, f"QNode {equation.params['qnode']}", equation)}
    kind = register_type(equation.params.get("single", False))
    return [Register(create("quantum.alloc", [kind], [number], attributes).result)]


def _check_number(context: LoweringContext, equation: Equation, number: ir.Value) -> None:
    """Leave the program if there is no state of so many qubits: loops over all of them follow."""
    site = context.failures.site(f"QNode {equation.params['qnode']}", equation.source_info)
    negative = compared("lt", "SIGNED", number, integer_constant(0))
    context.failures.record(negative, ErrorCode.NEGATIVE_QUBITS, site, [number], leave="now")
    too_many = compared("ge", "SIGNED", number, integer_constant(MAX_QUBITS))
    context.failures.record(too_many, ErrorCode.TOO_MANY_QUBITS, site, [number], leave="now")


@lowers("release_qubits", lazy=True)
def lower_release(context: LoweringContext, equation: Equation, register: Value) -> Sequence[Value]:
    """The end of a register."""
    return emitted(context, equation, [register])


@lowers("qnode", keys=True)
def lower_qnode(context: LoweringContext, equation: Equation, *operands: Value) -> Sequence[Value]:
    """The body, which allocates and releases its own register."""
    return context.lower_jaxpr(equation.params["jaxpr"], operands)


@lowers("inlined", lazy=True, keys=True)
def lower_inlined(
    context: LoweringContext, equation: Equation, *operands: Value
) -> Sequence[Value]:
    """A jaxpr in place."""
    return context.lower_jaxpr(equation.params["jaxpr"], operands)
