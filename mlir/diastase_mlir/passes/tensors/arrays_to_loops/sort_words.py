"""Elements as integers of 64 bits in the same order, and back: what the library can sort.

    f64: the bits, all but the sign inverted where that is set; NaNs come last then, as -inf becomes
         the least integer: the order begins with it, and NaNs with a sign are the greatest
    i8:  the number

A float that is only compared, not sorted, is made what it is equal to (`compared`). Keys of up to
32 bits leave room for a position below them (`with_position`): such words are all different.
"""

from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import (
    binary,
    compare_floats,
    compare_integers,
    create,
    integer_type,
    scalar_constant,
    select,
)
from diastase_mlir.passes.memory import word, word_type

POSITION_BITS = 32
"""Of a word: of the position, below a key of as many bits."""

_INFINITIES = {"f64": 0x7FF0 << 48, "f32": 0x7F80 << 16, "f16": 0x7C00, "bf16": 0x7F80}
"""The bits of infinity. An element type that is not here is no float that can be sorted."""


def is_sortable(element: ir.Type) -> bool:
    """Whether elements can be words."""
    if isinstance(element, ir.IntegerType):
        return element.width <= 64
    return str(element) in _INFINITIES


def width_of(element: Any) -> int:
    """Bits of an element."""
    return element.width


def as_word(number: ir.Value, order: str) -> ir.Value:
    """An element as a word of its width, extended; each word is of one element only."""
    if order in ("float", "total"):
        bits = _flipped(create("arith.bitcast", [_bits(number.type)], [number]).result)
        if order == "float":
            bits = binary("arith.subi", bits, _least(number.type))
        return _extended(bits)
    if order == "unsigned":
        number = binary("arith.xori", number, _sign(number.type))
    return _extended(number)


def from_word(number: ir.Value, element: ir.Type, order: str) -> ir.Value:
    """The element that a word stands for."""
    bits_type = _bits(element)
    bits = number
    if bits.type != bits_type:
        bits = create("arith.trunci", [bits_type], [bits]).result
    if order in ("float", "total"):
        if order == "float":
            bits = binary("arith.addi", bits, _least(element))
        return create("arith.bitcast", [element], [_flipped(bits)]).result
    return binary("arith.xori", bits, _sign(bits_type)) if order == "unsigned" else bits


def compared(number: ir.Value, order: str) -> ir.Value:
    """An element as what stands for all that are equal to it."""
    if order != "float":
        return number
    zero, nan = (scalar_constant(number.type, value) for value in (0.0, float("nan")))
    number = select(compare_floats("oeq", number, zero), zero, number)
    return select(compare_floats("uno", number, number), nan, number)


def minus_zero(element: ir.Type) -> int:
    """The word of -0.0 as a `float`; that of 0.0 is the next one."""
    width = width_of(element)
    return _wrapped(-1 - _least_bits(element), width)


def with_position(key: ir.Value, position: ir.Value) -> ir.Value:
    """A word of up to 32 bits, and a position below it."""
    return binary("arith.ori", binary("arith.shli", key, word(POSITION_BITS)), position)


def position_in(packed: ir.Value) -> ir.Value:
    """The position below a word."""
    return binary("arith.andi", packed, word((1 << POSITION_BITS) - 1))


def reversed_word(number: ir.Value) -> ir.Value:
    """A word in the reversed order."""
    return binary("arith.xori", number, word(-1))


def _bits(element: ir.Type) -> ir.Type:
    return integer_type(width_of(element))


def _extended(bits: ir.Value) -> ir.Value:
    if bits.type == word_type():
        return bits
    return create("arith.extsi", [word_type()], [bits]).result


def _flipped(bits: ir.Value) -> ir.Value:
    """All bits but the sign inverted where that is set; the same again inverts it."""
    most = scalar_constant(bits.type, (1 << (width_of(bits.type) - 1)) - 1)
    is_negative = compare_integers("slt", bits, scalar_constant(bits.type, 0))
    return select(is_negative, binary("arith.xori", bits, most), bits)


def _sign(kind: ir.Type) -> ir.Value:
    return scalar_constant(kind, 1 << (width_of(kind) - 1))


def _least_bits(element: ir.Type) -> int:
    """The flipped bits of -inf, from which the order of floats is counted, less the least word."""
    width = width_of(element)
    infinity = _INFINITIES[str(element)]
    # -inf is to be the least integer there is.
    return _wrapped(~infinity - (-1 << (width - 1)), width)


def _least(element: ir.Type) -> ir.Value:
    return scalar_constant(_bits(element), _least_bits(element))


def _wrapped(number: int, width: int) -> int:
    number &= (1 << width) - 1
    return number - (1 << width) if number >> (width - 1) else number
