"""Classical values in a circuit: the angles of gates, the numbers of wires.

Arithmetic is done here and now where its operands are known, and is emitted else, at the current
insertion point. The trap: whether two values are equal is asked after CSE, so it is whether they
are one value; what is equal only by mathematics is not seen.
"""

import numpy as np

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import create, scalar_constant
from diastase_mlir.passes.operations import constant_of, defining

__all__ = [
    "Number", "add", "are_equal", "are_opposite", "as_value", "both", "constant_of", "is_zero",
    "known", "matrix_of", "multiply", "negate", "opposite", "where", "xor",
]  # fmt: skip

Number = ir.Value | float

MATRIX = "jax.matrix"
"""An operation that gives a matrix which is known."""


def matrix_of(value: ir.Value) -> np.ndarray | None:
    """The matrix that a value is, None where it is known only when the program runs, or large."""
    operation = defining(value)
    if operation is None or operation.name != MATRIX:
        return None
    elements = np.array(ir.DenseF64ArrayAttr(operation.attributes["elements"]))
    return elements.view(np.complex128).reshape(ir.RankedTensorType(value.type).shape)


def as_value(number: Number) -> ir.Value:
    """A number as a value."""
    if isinstance(number, ir.Value):
        return number
    return scalar_constant(ir.F64Type.get(), number)


def add(first: Number, second: Number) -> Number:
    """The sum of two real numbers."""
    left, right = known(first), known(second)
    if left is not None and right is not None:
        return left + right
    return _number("arith.addf", [as_value(first), as_value(second)])


def multiply(first: Number, second: Number) -> Number:
    """The product of two real numbers."""
    left, right = known(first), known(second)
    if left is not None and right is not None:
        return left * right
    return _number("arith.mulf", [as_value(first), as_value(second)])


def negate(number: Number) -> Number:
    """The same number with the other sign."""
    now = known(number)
    return -now if now is not None else _number("arith.negf", [as_value(number)])


def where(outcome: ir.Value, number: Number, otherwise: Number = 0.0) -> ir.Value:
    """One of two numbers, by the outcome of a measurement."""
    return _number("arith.select", [outcome, as_value(number), as_value(otherwise)])


def xor(first: ir.Value, second: ir.Value) -> ir.Value:
    """Whether one of two outcomes is 1, and not the other."""
    return create("arith.xori", [first.type], [first, second]).result


def both(first: ir.Value, second: ir.Value) -> ir.Value:
    """Whether two outcomes are 1."""
    return create("arith.andi", [first.type], [first, second]).result


def opposite(outcome: ir.Value) -> ir.Value:
    """The outcome that was not found."""
    return xor(outcome, scalar_constant(outcome.type, True))


def is_zero(number: Number) -> bool:
    """Whether a number is known to be exactly zero."""
    return known(number) == 0.0


def are_equal(first: ir.Value, second: ir.Value) -> bool:
    """Whether two scalars are certainly equal."""
    if first == second:
        return True
    value = known(first)
    return value is not None and value == known(second)


def are_opposite(first: ir.Value, second: ir.Value) -> bool:
    """Whether one real number is certainly the other with the other sign."""
    left, right = known(first), known(second)
    if left is not None and right is not None:
        return left == -right
    return _is_negated(first, second) or _is_negated(second, first)


def _is_negated(value: ir.Value, other: ir.Value) -> bool:
    """Whether `value` is computed as `-other`."""
    operation = defining(value)
    return (
        operation is not None and operation.name == "arith.negf" and operation.operands[0] == other
    )


def known(number: Number) -> float | None:
    """The number itself, None where it is known only when the program runs."""
    return constant_of(number) if isinstance(number, ir.Value) else number


def _number(name: str, operands: list[ir.Value]) -> ir.Value:
    return create(name, [ir.F64Type.get()], operands).result
