"""Scalars, slices and short vectors that are put into the IR when somebody needs them as arrays.

Programs written out gate by gate, and their derivatives, take numbers out of arrays, compute with
them, and put them together again, thousands of times. As tensors each of these steps is an array
of one element, which five passes take apart again. Deferred values (`registry.Lazy`) are what
these steps are about: a number, a place in an array, a list of numbers:

    slice, then squeeze        `Slice`, then `Number` by one `tensor.extract`
    sin, mul, add of numbers   `Number` by one operation of `arith` or `math`
    (1,)-arrays, concatenated  `Elements`, one `tensor.from_elements` where the array is asked for

The trap: what is emitted inside of a loop must not be used after it. So a value is kept only
where it was emitted in the block in which the deferred value was made; a block of its own emits
it anew.
"""

from collections.abc import Callable, Sequence
from typing import Any

from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.operations import (
    create,
    index_constant,
    scalar_constant,
    signless_type,
)
from diastase_mlir.lowering.registry import Value
from diastase_mlir.lowering.tensors import (
    box,
    extract,
    extract_slice,
    tensor_type,
    typed_shape,
    unbox,
)


def _block() -> ir.Block:
    """Where operations are emitted now."""
    point: Any = ir.InsertionPoint.current
    return point.block


class Deferred:
    """What deferred values have in common: the value, once it is in the IR."""

    def __init__(self) -> None:
        self._block = _block()
        self._value: ir.Value | None = None

    def materialise(self) -> ir.Value:
        """The value as a tensor."""
        if self._value is not None:
            return self._value
        value = self._emitted()
        if _block() == self._block:
            self._value = value
        return value

    def _emitted(self) -> ir.Value:
        raise NotImplementedError


class Number(Deferred):
    """A scalar that is no tensor."""

    def __init__(self, scalar: ir.Value) -> None:
        super().__init__()
        self.scalar = scalar

    def _emitted(self) -> ir.Value:
        return box(self.scalar)


class Literal(Deferred):
    """A number that stands in the jaxpr."""

    def __init__(self, number: Any, element: ir.Type, emit: Callable[[], ir.Value]) -> None:
        super().__init__()
        self.number, self._element, self._emitted = number, element, emit

    @property
    def scalar(self) -> ir.Value:
        """The number as a constant of `arith`."""
        return scalar_constant(self._element, self.number)


class Slice(Deferred):
    """A strided slice with bounds known now, not yet taken."""

    def __init__(
        self,
        source: ir.Value,
        offsets: Sequence[int],
        sizes: Sequence[int],
        strides: Sequence[int],
    ) -> None:
        super().__init__()
        self.source = source
        self.offsets, self.sizes, self.strides = tuple(offsets), tuple(sizes), tuple(strides)

    def part(self, offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int]) -> "Slice":
        """A slice of the slice."""
        begins = (
            own + step * offset
            for own, step, offset in zip(self.offsets, self.strides, offsets, strict=True)
        )
        steps = (own * step for own, step in zip(self.strides, strides, strict=True))
        return Slice(self.source, tuple(begins), sizes, tuple(steps))

    @property
    def is_one(self) -> bool:
        """Whether it has one element."""
        return all(size == 1 for size in self.sizes)

    @property
    def scalar(self) -> ir.Value:
        """Its first element."""
        return extract(self.source, [index_constant(offset) for offset in self.offsets])

    def _emitted(self) -> ir.Value:
        return extract_slice(self.source, self.offsets, self.sizes, self.strides)


class Elements(Deferred):
    """A vector, given by its elements."""

    def __init__(self, scalars: Sequence[ir.Value]) -> None:
        super().__init__()
        self.scalars = list(scalars)

    def _emitted(self) -> ir.Value:
        kind = typed_shape([len(self.scalars)], self.scalars[0].type)
        return create("tensor.from_elements", [kind], self.scalars).result


def scalar_of(value: Value) -> ir.Value:
    """The number that a value of rank 0 is."""
    if isinstance(value, (Number, Literal, Slice)):
        return value.scalar
    tensor = value if isinstance(value, ir.Value) else value.materialise()
    number = _constant(tensor)
    if number is None:
        return unbox(tensor)
    return scalar_constant(signless_type(tensor_type(tensor).element_type), number)


def known_integer(value: Value) -> int | None:
    """The integer that a value of rank 0 is, where it stands in the program."""
    number = value.number if isinstance(value, Literal) else None
    if isinstance(value, ir.Value):
        number = _constant(value)
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


def elements_of(value: Value) -> list[ir.Value] | None:
    """The elements of a vector, where they are values already, or it has one only."""
    if isinstance(value, Elements):
        return value.scalars
    if isinstance(value, Slice) and value.sizes == (1,):
        return [value.scalar]
    return None
