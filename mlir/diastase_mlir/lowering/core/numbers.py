"""What rules ask about values of rank 0: the number that a constant is, and the scalar."""

from collections.abc import Callable
from typing import Any

from diastase_mlir.emit.operations import scalar_constant, signless_type
from diastase_mlir.emit.tensors import tensor_type, unbox
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.registry import Value


class Literal:
    """A number that stands in the jaxpr, and in the IR where somebody needs it."""

    def __init__(self, number: Any, emit: Callable[[], ir.Value]):
        self.number, self.materialise = number, emit


def scalar_of(value: Value) -> ir.Value:
    """The number that a value of rank 0 is, as a scalar."""
    tensor = value if isinstance(value, ir.Value) else value.materialise()
    number = _constant(tensor)
    if number is None:
        return unbox(tensor)
    return scalar_constant(signless_type(tensor_type(tensor).element_type), number)


def known_integer(value: Value) -> int | None:
    """The integer that a value of rank 0 is, where it stands in the program."""
    if isinstance(value, Literal):
        return int(value.number)
    number = _constant(value) if isinstance(value, ir.Value) else None
    return None if number is None else int(number)


def _constant(tensor: ir.Value) -> Any:
    """The number that a constant of rank 0 holds."""
    owner = tensor.owner
    if isinstance(owner, ir.Block) or owner.name != "stablehlo.constant":
        return None
    if isinstance(tensor_type(tensor).element_type, ir.ComplexType):
        return None  # the bindings cannot look into complex elements
    attribute: Any = ir.DenseElementsAttr(owner.attributes["value"]).get_splat_value()
    return attribute.value
