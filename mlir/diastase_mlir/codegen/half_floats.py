"""Conversions from and to 16-bit floats, by our own code where the processor has no instructions.

LLVM cannot be trusted with these types. Where a processor has no instruction for a conversion (f64
to f16 on nearly all of x86-64, f32 to f16 on the older half of it) it calls functions that few C
libraries have; where one computes with bfloat16, instruction selection aborts the process for some
comparisons. So passes do all arithmetic in f32, and what is left are conversions.

In: LLVM IR text as MLIR's LLVM prints it. Out: text in which conversions are calls of functions
that are defined there, but for those between f16 and f32 on processors that have instructions for
them. Types without instructions are names for 16 bits from here on, that are loaded, stored and
chosen between: `codegen.llvm_text` writes `i16` for them.

    %2 = fptrunc double %1 to half    ->    %2 = call half @diastase_half_of_double(double %1)

A conversion rounds once, to the nearest number, of two the even one; a NaN stays one, and becomes
quiet. An f64 becomes an f32 first, but rounded *to odd*: if it lies between two of them, the one
whose last bit is set. That is never half-way between two numbers of 16 bits, so rounding it gives
what rounding the f64 would (Boldo and Melquiond, "When double rounding is odd", 2005).
"""

import re

from diastase_toolchain import machine_code

_CONVERSION = re.compile(
    r"= fp(?:ext|trunc) (?:contract )?(?P<source>half|bfloat|float|double) (?P<value>%[\w.]+)"
    r" to (?P<target>half|bfloat|float|double)\b"
)


def with_half_floats(text: str) -> str:
    """Turn conversions that have no instructions into calls, and define what they call."""
    called: list[str] = []

    def call(conversion: re.Match[str]) -> str:
        source, value, target = conversion.group("source", "value", "target")
        name = f"diastase_{target}_of_{source}"
        if name not in _DEFINITIONS or (name in _INSTRUCTIONS and _has_instructions()):
            return conversion[0]
        if name not in called:
            called.append(name)
        return f"= call {target} @{name}({source} {value})"

    text = _CONVERSION.sub(call, text)
    for name in called:  # which grows: a definition may call another
        text += _CONVERSION.sub(call, _DEFINITIONS[name])
    return text


def emulated_float_types() -> tuple[str, ...]:
    """The types for which this processor has no instructions that we use."""
    return ("bfloat",) if _has_instructions() else ("bfloat", "half")


def _has_instructions() -> bool:
    """Whether the processor converts between f16 and f32."""
    host = machine_code.host_processor()
    return host.triple.startswith(("aarch64", "arm64")) or "+f16c" in host.features.split(",")


_INSTRUCTIONS = ("diastase_float_of_half", "diastase_double_of_half", "diastase_half_of_float")

_FLOAT_SIGN, _FLOAT_INFINITY, _FLOAT_QUIET = 1 << 31, 0xFF << 23, 1 << 22
_HALF_SIGN, _HALF_INFINITY, _HALF_QUIET = 1 << 15, 0x1F << 10, 1 << 9
_BIASES = (127 - 15) << 23
"""What exponents of `float` are larger by."""
_HALF_LEAST_NORMAL, _HALF_OVERFLOW = (127 - 14) << 23, (127 + 16) << 23
"""2^-14 and 2^16, as bits of `float`."""
_ONE_HALF = (127 - 1) << 23
"""Its last bit is worth as much as the least number of `half`: what is added to it is rounded to
multiples of that."""

_ROUNDED_TO_ODD = """
  %nearest = fptrunc double %number to float
  %back = fpext float %nearest to double
  %length = call double @llvm.fabs.f64(double %number)
  %length.back = call double @llvm.fabs.f64(double %back)
  %too.large = fcmp ogt double %length.back, %length
  %one.less = zext i1 %too.large to i32
  %nearest.bits = bitcast float %nearest to i32
  %truncated = sub i32 %nearest.bits, %one.less
  %inexact = fcmp one double %back, %number
  %last = zext i1 %inexact to i32
  %odd.bits = or i32 %truncated, %last
  %odd = bitcast i32 %odd.bits to float"""

_DEFINITIONS = {
    "diastase_float_of_bfloat": """
define internal float @diastase_float_of_bfloat(bfloat %number) alwaysinline {
  %half = bitcast bfloat %number to i16
  %wide = zext i16 %half to i32
  %bits = shl i32 %wide, 16
  %result = bitcast i32 %bits to float
  ret float %result
}
""",
    "diastase_double_of_bfloat": """
define internal double @diastase_double_of_bfloat(bfloat %number) alwaysinline {
  %single = fpext bfloat %number to float
  %result = fpext float %single to double
  ret double %result
}
""",
    "diastase_bfloat_of_float": f"""
define internal bfloat @diastase_bfloat_of_float(float %number) alwaysinline {{
  %bits = bitcast float %number to i32
  %shifted = lshr i32 %bits, 16
  %odd = and i32 %shifted, 1
  %rounding = add i32 %odd, {0x7FFF}
  %nearest = add i32 %bits, %rounding
  %quiet = or i32 %bits, {_FLOAT_QUIET}
  %is.nan = fcmp uno float %number, %number
  %chosen = select i1 %is.nan, i32 %quiet, i32 %nearest
  %upper = lshr i32 %chosen, 16
  %half = trunc i32 %upper to i16
  %result = bitcast i16 %half to bfloat
  ret bfloat %result
}}
""",
    "diastase_bfloat_of_double": f"""
define internal bfloat @diastase_bfloat_of_double(double %number) alwaysinline {{{_ROUNDED_TO_ODD}
  %result = fptrunc float %odd to bfloat
  ret bfloat %result
}}
""",
    "diastase_float_of_half": f"""
define internal float @diastase_float_of_half(half %number) alwaysinline {{
  %half = bitcast half %number to i16
  %wide = zext i16 %half to i32
  %sign.bit = and i32 %wide, {_HALF_SIGN}
  %sign = shl i32 %sign.bit, 16
  %length = and i32 %wide, {_HALF_SIGN - 1}
  %shifted = shl i32 %length, 13
  %normal = add i32 %shifted, {_BIASES}
  %largest.exponent = add i32 %normal, {_BIASES}
  %quiet = or i32 %largest.exponent, {_FLOAT_QUIET}
  %is.nan = icmp ugt i32 %length, {_HALF_INFINITY}
  %special = select i1 %is.nan, i32 %quiet, i32 %largest.exponent
  %is.special = icmp uge i32 %length, {_HALF_INFINITY}
  %large = select i1 %is.special, i32 %special, i32 %normal
  %beyond.bits = or i32 %shifted, {_HALF_LEAST_NORMAL}
  %beyond = bitcast i32 %beyond.bits to float
  %least = bitcast i32 {_HALF_LEAST_NORMAL} to float
  %subnormal = fsub float %beyond, %least
  %subnormal.bits = bitcast float %subnormal to i32
  %is.subnormal = icmp ult i32 %length, {1 << 10}
  %unsigned = select i1 %is.subnormal, i32 %subnormal.bits, i32 %large
  %bits = or i32 %unsigned, %sign
  %result = bitcast i32 %bits to float
  ret float %result
}}
""",
    "diastase_double_of_half": """
define internal double @diastase_double_of_half(half %number) alwaysinline {
  %single = fpext half %number to float
  %result = fpext float %single to double
  ret double %result
}
""",
    "diastase_half_of_float": f"""
define internal half @diastase_half_of_float(float %number) alwaysinline {{
  %bits = bitcast float %number to i32
  %sign.bit = and i32 %bits, {_FLOAT_SIGN}
  %sign = lshr i32 %sign.bit, 16
  %length = and i32 %bits, {_FLOAT_SIGN - 1}
  %shifted = lshr i32 %length, 13
  %odd = and i32 %shifted, 1
  %rounding = add i32 %odd, {0xFFF - _BIASES}
  %nearest = add i32 %length, %rounding
  %normal = lshr i32 %nearest, 13
  %small = bitcast i32 %length to float
  %one.half = bitcast i32 {_ONE_HALF} to float
  %sum = fadd float %small, %one.half
  %sum.bits = bitcast float %sum to i32
  %subnormal = sub i32 %sum.bits, {_ONE_HALF}
  %is.subnormal = icmp ult i32 %length, {_HALF_LEAST_NORMAL}
  %finite = select i1 %is.subnormal, i32 %subnormal, i32 %normal
  %payload = and i32 %shifted, {_HALF_QUIET - 1}
  %nan = or i32 %payload, {_HALF_INFINITY | _HALF_QUIET}
  %is.nan = icmp ugt i32 %length, {_FLOAT_INFINITY}
  %special = select i1 %is.nan, i32 %nan, i32 {_HALF_INFINITY}
  %overflows = icmp uge i32 %length, {_HALF_OVERFLOW}
  %unsigned = select i1 %overflows, i32 %special, i32 %finite
  %wide = or i32 %unsigned, %sign
  %half = trunc i32 %wide to i16
  %result = bitcast i16 %half to half
  ret half %result
}}
""",
    "diastase_half_of_double": f"""
define internal half @diastase_half_of_double(double %number) alwaysinline {{{_ROUNDED_TO_ODD}
  %result = fptrunc float %odd to half
  ret half %result
}}
""",
}
"""LLVM IR of each conversion that may have no instruction, by name."""
