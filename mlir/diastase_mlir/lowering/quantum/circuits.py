"""Lowering of QNodes: a register of the right size, the body in place, the end of the register.

The number of qubits may be computed; it is checked before anything is allocated.
"""

from collections.abc import Sequence

from diastase_mlir.emit.operations import (
    create,
    integer_constant,
)
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, Value, lowers
from diastase_mlir.lowering.elementwise.elementwise import compared
from diastase_mlir.lowering.quantum.registers import (
    Register,
    as_register,
    register_type,
    site_attribute,
)
from diastase_runtime.abi import ErrorCode

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
    create("quantum.release", [], [as_register(register).materialise()])
    return []


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
