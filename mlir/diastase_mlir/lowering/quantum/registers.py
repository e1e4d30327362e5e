"""Lowering of registers: their beginning and end, and how operations take them (`emit.registers`).

The body of a QNode allocates and releases its own register; a number of qubits that is computed is
checked before anything is allocated.
"""

from collections.abc import Mapping, Sequence

from diastase_mlir.emit.operations import create, enumeration, integer_constant
from diastase_mlir.emit.registers import Register, TakenBits
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, Value, lowers
from diastase_mlir.lowering.elementwise.elementwise import compared
from diastase_runtime.abi import ErrorCode


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
    operands = iter(wire_operands)
    values = [context.value(next(operands)) if wire is None else wire for wire in wires]
    return as_register(register).take(values)


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
    "release_qubits": "release", "lanes_allocate": "lanes_alloc",
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
"""As the engine's; a test compares them. A density matrix is a state of twice as many."""


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
    if derivatives := equation.params.get("derivative_wires", 0):  # of a mixed register only
        attributes["derivative_wires"] = enumeration(derivatives)
    kind = context.type_of(equation.avals_out[0])
    return [Register(create("quantum.alloc", [kind], [number], attributes).result)]


def _check_number(context: LoweringContext, equation: Equation, number: ir.Value) -> None:
    """Leave the program if there is no state of so many qubits: loops over all of them follow."""
    site = context.failures.site(f"QNode {equation.params['qnode']}", equation.source_info)
    negative = compared("lt", "SIGNED", number, integer_constant(0))
    context.failures.record(negative, ErrorCode.NEGATIVE_QUBITS, site, [number], leave="now")
    most = MAX_QUBITS // 2 if equation.params.get("mixed") else MAX_QUBITS
    too_many = compared("ge", "SIGNED", number, integer_constant(most))
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
