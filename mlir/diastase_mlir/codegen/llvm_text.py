"""LLVM IR text as MLIR's LLVM prints it, rewritten for the older LLVM inside llvmlite.

The two LLVMs differ in one thing that programs meet: floating-point literals. The newer prints a
short decimal if that reads back as the same value *in the literal's own type*, else `f0x…` (the
bits), `+inf`, `-qnan`, `+nan(0x…)` (quiet, with payload) or `+snan(0x…)`. The older takes a decimal
only if it is exact, and else wants a hexadecimal double for `float` and `double`, and `0xH…` for
`half`. So everything but decimal doubles is written anew from its bits. Types that are nothing but
their bits any more (`codegen.half_floats`) become `i16`.

A literal's type is the nearest type keyword before it on its line; quoted strings and identifiers
are skipped, so a name that looks like a literal or a type is never touched.
"""

import re
import struct
from collections.abc import Collection
from typing import NamedTuple


class _Format(NamedTuple):
    """Layout of a floating-point type."""

    exponent_bits: int
    mantissa_bits: int


_FORMATS = {
    "half": _Format(5, 10),
    "bfloat": _Format(8, 7),
    "float": _Format(8, 23),
    "double": _Format(11, 52),
}

_TOKEN = re.compile(
    r"""
      "[^"]*" | [@%!\#$][-\w.$]+                                 # strings, identifiers: skipped
    | \b(?P<type>half|bfloat|float|double)\b
    | (?<![\w.])(?:
          f0x(?P<bits>[0-9A-Fa-f]+)
        | (?P<sign>[+-])(?P<special>inf|qnan|s?nan\(0x(?P<payload>[0-9A-Fa-f]+)\))
        | (?P<decimal>-?\d+\.\d+(?:e[+-]\d+)?)
      )(?!\w)
    """,
    re.VERBOSE,
)

_CONCERNED = re.compile(r"f0x|[+-](?:inf|qnan|s?nan)|float\b.*\d\.\d|half\b|bfloat")


def for_llvmlite(text: str, as_bits: Collection[str] = ("bfloat",)) -> str:
    """Rewrite every literal that llvmlite's LLVM cannot read, and the types that are `as_bits`."""
    return "\n".join(
        _rewrite_line(line, as_bits) if _CONCERNED.search(line) else line
        for line in text.split("\n")
    )


def _rewrite_line(line: str, as_bits: Collection[str]) -> str:
    """Rewrite one line, from left to right, remembering the last type seen."""
    current = "double"

    def rewrite(match: re.Match[str]) -> str:
        nonlocal current
        if match["type"]:
            current = match["type"]
            return "i16" if current in as_bits else current
        if match["bits"]:
            bits = int(match["bits"], 16)
        elif match["special"]:
            bits = _special_bits(current, match)
        elif match["decimal"] and current != "double":
            bits = _rounded_bits(current, float(match["decimal"]))
        else:
            return match[0]
        return str(bits) if current in as_bits else _spelling(current, bits)

    return _TOKEN.sub(rewrite, line)


def _special_bits(type_name: str, match: re.Match[str]) -> int:
    """Bits of an infinity or a NaN in its own type."""
    exponent_bits, mantissa_bits = _FORMATS[type_name]
    sign = (match["sign"] == "-") << (exponent_bits + mantissa_bits)
    exponent = ((1 << exponent_bits) - 1) << mantissa_bits
    payload = int(match["payload"] or "0", 16)
    quiet = match["special"].startswith(("qnan", "nan")) << (mantissa_bits - 1)
    return sign | exponent | quiet | payload


def _rounded_bits(type_name: str, value: float) -> int:
    """Bits of the nearest value of a type narrower than double."""
    if type_name == "half":
        return struct.unpack("<H", struct.pack("<e", value))[0]
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    if type_name == "float":
        return bits
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16  # to even, as the hardware rounds


def _spelling(type_name: str, bits: int) -> str:
    """Spell a literal of this type and these bits for the older LLVM."""
    if type_name == "half":
        return f"0xH{bits:04X}"
    return f"0x{_widened(bits) if type_name == 'float' else bits:016X}"


def _widened(bits: int) -> int:
    """Bits of the double that equals the float of these bits, NaN payloads kept."""
    sign, exponent, mantissa = bits >> 31, (bits >> 23) & 0xFF, bits & 0x7FFFFF
    if exponent == 0xFF:  # by hand: converting a signalling NaN would make it quiet
        return sign << 63 | 0x7FF << 52 | mantissa << 29
    (value,) = struct.unpack("<f", struct.pack("<I", bits))
    return struct.unpack("<Q", struct.pack("<d", value))[0]
