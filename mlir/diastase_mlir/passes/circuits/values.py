"""Classical values in a circuit: the angles of gates, the numbers of wires.

Arithmetic is done here and now where its operands are known, and is emitted else, at the current
insertion point: in a pass, inside of `with circuit.before(gate)`. The trap: whether two values are
equal is asked after CSE, so it is whether they are one value; what is equal only by mathematics is
not seen.

Example:
    >>> import pennylane as qml
    >>> from diastase import measure, passes, qjit
    >>> from diastase.passes import New, values
    >>> @passes.register_pass("turn_if_odd")
    ... def turn_if_odd(circuit):
    ...     found = [each.operation for block in circuit.blocks for each in block.operations]
    ...     first, second = [x.results[-1] for x in found if x.name == "quantum.measure"]
    ...     (gate,) = circuit.gates()
    ...     (angle,) = gate.parameters
    ...     with circuit.before(gate):
    ...         odd = values.xor(first, second)
    ...         none = values.both(values.opposite(first), values.opposite(second))
    ...         half = values.multiply(angle, values.as_value(0.5))
    ...         sine = values.apply("sin", half)
    ...         turned = values.where(odd, angle, values.where(none, sine))
    ...     print(values.constant_of(angle), values.known(half), values.known(turned))
    ...     print(values.are_equal(angle, angle), values.are_opposite(angle, turned))
    ...     circuit.replace(gate, [New.like(gate, [turned])])
    >>> @qjit
    ... @passes.apply_pass("turn_if_odd")
    ... @qml.qnode(qml.device("lightning.qubit", wires=1))
    ... def circuit():
    ...     measure(0), measure(0)
    ...     qml.RX(1.5, 0)
    ...     return qml.expval(qml.Z(0))
    1.5 0.75 None
    True False
    >>> round(float(circuit()), 6)  # cos(sin(0.75))
    0.776541

"""

import numpy as np

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import create, scalar_constant
from diastase_mlir.passes.operations import constant_of, defining

__all__ = [
    "Number", "add", "apply", "are_equal", "are_opposite", "as_value", "both", "constant_of",
    "is_zero", "known", "matrix_of", "multiply", "negate", "opposite", "where", "xor",
]  # fmt: skip

Number = ir.Value | float

MATRIX = "jax.matrix"
"""An operation that gives a matrix which is known."""


def matrix_of(value: ir.Value) -> np.ndarray | None:
    """The matrix that a value is.

    Args:
        value: the `matrix` of a gate that is given by it.

    Returns:
        A complex array of shape `(2**n, 2**n)`; None where it is known only when the program runs,
        or is large.

    Example:
        >>> import pennylane as qml
        >>> from diastase import passes, qjit
        >>> @passes.register_pass("show_matrices")
        ... def show_matrices(circuit):
        ...     for gate in circuit.gates():
        ...         print(passes.values.matrix_of(gate.matrix).real.tolist())
        >>> @qjit
        ... @passes.apply_pass("show_matrices")
        ... @qml.qnode(qml.device("lightning.qubit", wires=1))
        ... def circuit():
        ...     qml.QubitUnitary([[0, 1], [1, 0]], 0)
        ...     return qml.probs()
        [[0.0, 1.0], [1.0, 0.0]]

    """
    operation = defining(value)
    if operation is None or operation.name != MATRIX:
        return None
    elements = np.array(ir.DenseF64ArrayAttr(operation.attributes["elements"]))
    return elements.view(np.complex128).reshape(ir.RankedTensorType(value.type).shape)


def as_value(number: Number) -> ir.Value:
    """A number as a value.

    Args:
        number: a float, or an MLIR value, which stays what it is.

    Returns:
        An MLIR value of type `f64`.

    """
    if isinstance(number, ir.Value):
        return number
    return scalar_constant(ir.F64Type.get(), number)


def add(first: Number, second: Number) -> Number:
    """The sum of two real numbers.

    Args:
        first: a float, or an MLIR value of type `f64`.
        second: the same.

    Returns:
        A float if both are known, else an MLIR value.

    Example:
        >>> from diastase.passes import values
        >>> values.add(1.0, 2.0)
        3.0

    """
    left, right = known(first), known(second)
    if left is not None and right is not None:
        return left + right
    return _number("arith.addf", [as_value(first), as_value(second)])


def multiply(first: Number, second: Number) -> Number:
    """The product of two real numbers.

    Args:
        first: a float, or an MLIR value of type `f64`.
        second: the same.

    Returns:
        A float if both are known, else an MLIR value.

    Example:
        >>> from diastase.passes import values
        >>> values.multiply(0.5, 3.0)
        1.5

    """
    left, right = known(first), known(second)
    if left is not None and right is not None:
        return left * right
    return _number("arith.mulf", [as_value(first), as_value(second)])


def negate(number: Number) -> Number:
    """The same number with the other sign.

    Args:
        number: a float, or an MLIR value of type `f64`.

    Returns:
        A float if it is known, else an MLIR value.

    Example:
        >>> from diastase.passes import values
        >>> values.negate(0.5)
        -0.5

    """
    now = known(number)
    return -now if now is not None else _number("arith.negf", [as_value(number)])


def where(outcome: ir.Value, number: Number, otherwise: Number = 0.0) -> ir.Value:
    """One of two numbers, by the outcome of a measurement.

    Args:
        outcome: an MLIR value of type `i1`.
        number: a float, or an MLIR value of type `f64`: what it is where the outcome is 1.
        otherwise: the same: what it is where the outcome is 0.

    Returns:
        An MLIR value of type `f64`.

    """
    return _number("arith.select", [outcome, as_value(number), as_value(otherwise)])


def xor(first: ir.Value, second: ir.Value) -> ir.Value:
    """Whether one of two outcomes is 1, and not the other.

    Args:
        first: an MLIR value of type `i1`.
        second: the same.

    Returns:
        An MLIR value of type `i1`.

    """
    return create("arith.xori", [first.type], [first, second]).result


def both(first: ir.Value, second: ir.Value) -> ir.Value:
    """Whether two outcomes are 1.

    Args:
        first: an MLIR value of type `i1`.
        second: the same.

    Returns:
        An MLIR value of type `i1`.

    """
    return create("arith.andi", [first.type], [first, second]).result


def opposite(outcome: ir.Value) -> ir.Value:
    """The outcome that was not found.

    Args:
        outcome: an MLIR value of type `i1`.

    Returns:
        An MLIR value of type `i1`.

    """
    return xor(outcome, scalar_constant(outcome.type, True))


def apply(function: str, *numbers: Number) -> ir.Value:
    """A function of MLIR's `math` dialect, of real numbers.

    Args:
        function: its name in the dialect, `"sin"`, say.
        *numbers: floats, or MLIR values of type `f64`, as many as it takes.

    Returns:
        An MLIR value of type `f64`.

    """
    return _number(f"math.{function}", [as_value(number) for number in numbers])


def is_zero(number: Number) -> bool:
    """Whether a number is known to be exactly zero.

    Args:
        number: a float, or an MLIR value of type `f64`.

    Returns:
        False where it is known only when the program runs.

    Example:
        >>> from diastase.passes import values
        >>> values.is_zero(0.0), values.is_zero(1e-300)
        (True, False)

    """
    return known(number) == 0.0


def are_equal(first: ir.Value, second: ir.Value) -> bool:
    """Whether two scalars are certainly equal.

    Args:
        first: an MLIR value.
        second: the same.

    Returns:
        True if they are one value, or known and equal.

    """
    if first == second:
        return True
    value = known(first)
    return value is not None and value == known(second)


def are_opposite(first: ir.Value, second: ir.Value) -> bool:
    """Whether one real number is certainly the other with the other sign.

    Args:
        first: an MLIR value of type `f64`.
        second: the same.

    Returns:
        True if one is computed as the negative of the other, or both are known and opposite.

    """
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
    """The number itself.

    Args:
        number: a float, or an MLIR value of type `f64`.

    Returns:
        A float, or None where it is known only when the program runs.

    """
    return constant_of(number) if isinstance(number, ir.Value) else number


def _number(name: str, operands: list[ir.Value]) -> ir.Value:
    return create(name, [ir.F64Type.get()], operands).result
