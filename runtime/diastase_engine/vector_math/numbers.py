"""Arithmetic from which elementary functions are written: on one number, or on a vector of them.

In: LLVM values of type `double` or `float`, or vectors of them. Out: instructions, the same for
every width, so that a vector function and its scalar form give the same bits. Only what is written
is done: no reassociation, no contraction; `fma` rounds once, everywhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Union

from llvmlite import ir

DOUBLE = ir.DoubleType()

Operand = Union["Number", float]


@dataclass(frozen=True)
class Format:
    """How a number is kept in bits."""

    element: ir.Type
    integer: ir.IntType
    digits: int
    """Bits of a number between 1 and 2 after the point."""
    bias: int
    """What is added to an exponent."""

    @property
    def rounding(self) -> float:
        """Added to a number below 2^(digits - 1), it leaves an integer in the last bits."""
        return 1.5 * 2.0**self.digits

    @property
    def rounding_bits(self) -> int:
        """As an integer."""
        return (self.bias + self.digits) << self.digits | 1 << (self.digits - 1)


_DOUBLE = Format(DOUBLE, ir.IntType(64), 52, 1023)
_SINGLE = Format(ir.FloatType(), ir.IntType(32), 23, 127)


def _format_of(value: Any) -> Format:
    """That of an LLVM value's lanes, floats or integers."""
    kind = value.type
    element = kind.element if isinstance(kind, ir.VectorType) else kind
    return _DOUBLE if element in (_DOUBLE.element, _DOUBLE.integer) else _SINGLE


def vector_of(element: ir.Type, lanes: int) -> ir.Type:
    """The type of so many elements; of one, the element's own."""
    return element if lanes == 1 else ir.VectorType(element, lanes)


def constant(element: ir.Type, lanes: int, value: float) -> ir.Constant:
    """The same constant in every lane."""
    if lanes == 1:
        return ir.Constant(element, value)
    return ir.Constant(vector_of(element, lanes), [ir.Constant(element, value)] * lanes)


@dataclass(frozen=True)
class Mask:
    """A truth value for every lane."""

    builder: Any
    lanes: int
    value: ir.Value

    def __or__(self, other: "Mask") -> "Mask":
        return Mask(self.builder, self.lanes, self.builder.or_(self.value, other.value))

    def __and__(self, other: "Mask") -> "Mask":
        return Mask(self.builder, self.lanes, self.builder.and_(self.value, other.value))


@dataclass(frozen=True)
class Bits:
    """As many bits as a number has, for every lane; arithmetic wraps around."""

    builder: Any
    lanes: int
    value: ir.Value

    @property
    def format(self) -> Format:
        """That of a number of so many bits."""
        return _format_of(self.value)

    def _same(self, value: int) -> ir.Constant:
        return constant(self.format.integer, self.lanes, value)

    def _with(self, instruction: str, other: "Bits | int") -> "Bits":
        second = other.value if isinstance(other, Bits) else self._same(other)
        result = getattr(self.builder, instruction)(self.value, second)
        return Bits(self.builder, self.lanes, result)

    def __add__(self, other: "Bits | int") -> "Bits":
        return self._with("add", other)

    def __sub__(self, other: "Bits | int") -> "Bits":
        return self._with("sub", other)

    def __and__(self, other: "Bits | int") -> "Bits":
        return self._with("and_", other)

    def __or__(self, other: "Bits | int") -> "Bits":
        return self._with("or_", other)

    def __xor__(self, other: "Bits | int") -> "Bits":
        return self._with("xor", other)

    def __lshift__(self, count: int) -> "Bits":
        return self._with("shl", count)

    def __rshift__(self, count: int) -> "Bits":
        return self._with("ashr", count)

    def is_zero(self) -> Mask:
        """Where no bit is set."""
        truth = self.builder.icmp_signed("==", self.value, self._same(0))
        return Mask(self.builder, self.lanes, truth)

    def as_number(self) -> "Number":
        """The number with these bits."""
        kind = vector_of(self.format.element, self.lanes)
        return Number(self.builder, self.lanes, self.builder.bitcast(self.value, kind))

    def rounded(self) -> "Number":
        """The nearest numbers to integers of at most 32 bits."""
        # All processors convert 32 bits, and few convert 64.
        narrow = vector_of(ir.IntType(32), self.lanes)
        kind = vector_of(self.format.element, self.lanes)
        value = self.value if self.format is _SINGLE else self.builder.trunc(self.value, narrow)
        return Number(self.builder, self.lanes, self.builder.sitofp(value, kind))


@dataclass(frozen=True)
class Number:
    """A float for every lane."""

    builder: Any
    lanes: int
    value: ir.Value

    @property
    def format(self) -> Format:
        """Single or double precision."""
        return _format_of(self.value)

    @property
    def is_double(self) -> bool:
        """Not single precision."""
        return self.format is _DOUBLE

    def like(self, other: Operand) -> "Number":
        """A number or constant of as many lanes as this."""
        if isinstance(other, Number):
            return other
        same = constant(self.format.element, self.lanes, other)
        return Number(self.builder, self.lanes, same)

    def _with(self, instruction: str, other: Operand) -> "Number":
        result = getattr(self.builder, instruction)(self.value, self.like(other).value)
        return Number(self.builder, self.lanes, result)

    def __add__(self, other: Operand) -> "Number":
        return self._with("fadd", other)

    def __radd__(self, other: float) -> "Number":
        return self.like(other) + self

    def __sub__(self, other: Operand) -> "Number":
        return self._with("fsub", other)

    def __rsub__(self, other: float) -> "Number":
        return self.like(other) - self

    def __mul__(self, other: Operand) -> "Number":
        return self._with("fmul", other)

    def __rmul__(self, other: float) -> "Number":
        return self.like(other) * self

    def __truediv__(self, other: Operand) -> "Number":
        return self._with("fdiv", other)

    def __rtruediv__(self, other: float) -> "Number":
        return self.like(other) / self

    def __neg__(self) -> "Number":
        return Number(self.builder, self.lanes, self.builder.fneg(self.value))

    def _is(self, predicate: str, other: Operand) -> Mask:
        truth = self.builder.fcmp_ordered(predicate, self.value, self.like(other).value)
        return Mask(self.builder, self.lanes, truth)

    def __lt__(self, other: Operand) -> Mask:
        return self._is("<", other)

    def __gt__(self, other: Operand) -> Mask:
        return self._is(">", other)

    def __ge__(self, other: Operand) -> Mask:
        return self._is(">=", other)

    def equals(self, other: Operand) -> Mask:
        """Where two numbers are equal; nowhere for NaN."""
        return self._is("==", other)

    def doubled(self) -> "Number":
        """In double precision."""
        kind = vector_of(DOUBLE, self.lanes)
        return Number(self.builder, self.lanes, self.builder.fpext(self.value, kind))

    def halved(self) -> "Number":
        """In single precision, rounded."""
        kind = vector_of(_SINGLE.element, self.lanes)
        return Number(self.builder, self.lanes, self.builder.fptrunc(self.value, kind))

    def bits(self) -> Bits:
        """The bits of the numbers."""
        kind = vector_of(self.format.integer, self.lanes)
        return Bits(self.builder, self.lanes, self.builder.bitcast(self.value, kind))

    def magnitude(self) -> "Number":
        """Without the sign."""
        return (self.bits() & (self._sign - 1)).as_number()

    def with_sign_of(self, other: "Number") -> "Number":
        """Give this number, which must not be negative, another's sign."""
        return (self.bits() | (other.bits() & -self._sign)).as_number()

    @property
    def _sign(self) -> int:
        """The bit in which it stands."""
        return 1 << (self.format.integer.width - 1)


def fma(a: Number, b: Operand, c: Operand) -> Number:
    """`a * b + c`, rounded once."""
    kind = vector_of(a.format.element, a.lanes)
    element = f"f{a.format.integer.width}"
    name = f"llvm.fma.{element}" if a.lanes == 1 else f"llvm.fma.v{a.lanes}{element}"
    function = a.builder.module.globals.get(name)
    if function is None:
        function = ir.Function(a.builder.module, ir.FunctionType(kind, [kind] * 3), name)
    result = a.builder.call(function, [a.value, a.like(b).value, a.like(c).value])
    return Number(a.builder, a.lanes, result)


def select(mask: Mask, chosen: Operand, otherwise: Number) -> Number:
    """One of two numbers in every lane."""
    value = mask.builder.select(mask.value, otherwise.like(chosen).value, otherwise.value)
    return Number(mask.builder, mask.lanes, value)


def at_most(x: Number, limit: float) -> Number:
    """The lesser one, NaN for NaN."""
    return select(x > limit, limit, x)


def at_least(x: Number, limit: float) -> Number:
    """The greater one, NaN for NaN."""
    return select(x < limit, limit, x)


def polynomial(x: Number, coefficients: Sequence[float]) -> Number:
    """Sum of `coefficients[k] * x**k`: even and odd powers apart, two shorter chains."""
    if len(coefficients) < 4:
        return _horner(x, coefficients)
    square = x * x
    return fma(_horner(square, coefficients[1::2]), x, _horner(square, coefficients[::2]))


def _horner(x: Number, coefficients: Sequence[float]) -> Number:
    *lower, last = coefficients
    result = x.like(last)
    for coefficient in reversed(lower):
        result = fma(result, x, coefficient)
    return result


def exact_sum(a: Number, b: Number) -> tuple[Number, Number]:
    """Rounded sum and its rounding error (Dekker); `a` must be 0 or have the larger exponent."""
    total = a + b
    return total, (a - total) + b


def exact_sum_of_any(a: Number, b: Number) -> tuple[Number, Number]:
    """Rounded sum and its rounding error, whichever is larger (Knuth)."""
    total = a + b
    second = total - a
    return total, (a - (total - second)) + (b - second)


def exact_product(a: Number, b: Operand) -> tuple[Number, Number]:
    """Rounded product and its rounding error."""
    product = a * b
    return product, fma(a, b, -product)


def nearest_integer(x: Number, factor: float) -> tuple[Number, Bits]:
    """Of `x * factor`, as a number and as an integer: below 2^51 (2^22), anything for others."""
    form = x.format
    shifted = fma(x, factor, form.rounding)
    return shifted - form.rounding, shifted.bits() - form.rounding_bits


def power_of_two(exponent: Bits) -> Number:
    """2 to an exponent of normal numbers."""
    form = exponent.format
    return ((exponent + form.bias) << form.digits).as_number()


def scaled(x: Number, exponent: Bits) -> Number:
    """`x` times 2 to an exponent of any number; `x` is about 1, and the product rounded once."""
    form = exponent.format
    # In two steps: 2^1024 is no number, nor is 2^-1074 a normal one.
    biased = exponent + 2 * form.bias
    half = biased >> 1
    return x * (half << form.digits).as_number() * ((biased - half) << form.digits).as_number()
