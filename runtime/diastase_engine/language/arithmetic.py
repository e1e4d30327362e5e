"""Operators of the kernel language as tables: Python operator -> LLVM instruction.

Operands are `Dynamic` of equal type when an instruction is built; `unify` gets them there. A
static number takes the type of the other operand, a number meets a vector in all its lanes, and
nothing else converts by itself but numbers that are stored (`stored`), which are `f64` outside.
"""

import ast
import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from diastase_engine.language.guards import Guard, guard
from diastase_engine.language.types import (
    F64,
    I1,
    I64,
    LANE_SET,
    PAIR,
    STORED,
    VECTOR,
    PointerType,
    Type,
)
from diastase_engine.language.values import Dynamic

# Contraction to fused multiply-add is wanted; reassociation brought no speed and would change NaN.
FAST_MATH = ("contract",)

STATIC_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
STATIC_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda item, container: item in container,
    ast.NotIn: lambda item, container: item not in container,
}
# `>>` keeps the sign, as Python's does; shift_right_logical does not. `//` and `%` are missing on
# purpose: LLVM rounds towards zero, Python does not.
INTEGER_INSTRUCTIONS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.LShift: "shl",
    ast.RShift: "ashr",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
}
GUARDED: dict[type[ast.operator], Guard] = {
    ast.Mult: "product",
    ast.LShift: "shift",
    ast.RShift: "shift",
}
"""Operations on integers of which checked builds ask whether they can be."""
LOGIC_INSTRUCTIONS: dict[type[ast.operator], str] = {
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
}
FLOAT_INSTRUCTIONS: dict[type[ast.operator], str] = {
    ast.Add: "fadd",
    ast.Sub: "fsub",
    ast.Mult: "fmul",
    ast.Div: "fdiv",
}
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


class TypeMismatch(Exception):
    """Two types do not fit; the text says which."""


def constant(kind: Type, number: object) -> Dynamic:
    """Make a constant; `TypeMismatch` where the number is not one of that type."""
    if kind.is_integer and isinstance(number, int) and (kind is not I1 or number in (0, 1)):
        return Dynamic(kind, ir.Constant(kind.llvm, int(number)))
    if kind is F64 and isinstance(number, int | float):
        return Dynamic(kind, ir.Constant(kind.llvm, float(number)))
    if kind is STORED and isinstance(number, int | float):
        return Dynamic(kind, ir.Constant(kind.llvm, float(number)))
    if kind.is_vector and isinstance(number, int | float):
        return Dynamic(kind, ir.Constant(kind.llvm, [float(number)] * kind.lanes))
    raise TypeMismatch(f"{number!r} is not a value of type {kind.name}")


def natural_type(number: object) -> Type:
    """Type that a static number has on its own."""
    for python_type, kind in ((bool, I1), (int, I64), (float, F64)):
        if isinstance(number, python_type):
            return kind
    raise TypeMismatch(f"{number!r} is not a value that a kernel can hold")


def splat(builder: Any, number: Dynamic, lanes: int) -> ir.Value:
    """Build a vector with one number in all lanes."""
    undefined = ir.Constant(ir.VectorType(number.type.llvm, lanes), ir.Undefined)
    first = builder.insert_element(undefined, number.value, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
    return builder.shuffle_vector(first, undefined, zeros)


def convert(builder: Any, value: Any, kind: Type) -> Dynamic:
    """`value` as `kind`: a static number, a value of that type, or a number for a vector."""
    if not isinstance(value, Dynamic):
        return constant(kind, value)
    if value.type == kind:
        return value
    if kind is STORED and value.type is F64:
        return Dynamic(STORED, narrowed(builder, value.value, STORED.llvm))
    if kind.is_vector and value.type is F64:
        number = convert(builder, value, STORED) if kind in (VECTOR, PAIR) else value
        return Dynamic(kind, splat(builder, number, kind.lanes))
    raise TypeMismatch(f"a value of type {value.type.name} where {kind.name} is needed")


def narrowed(builder: Any, value: Any, kind: ir.Type) -> ir.Value:
    """Numbers rounded to the precision of amplitudes."""
    return value if value.type == kind else builder.fptrunc(value, kind)


def widened(builder: Any, value: Any, kind: ir.Type) -> ir.Value:
    """Numbers in double precision."""
    return value if value.type == kind else builder.fpext(value, kind)


def unify(builder: Any, left: Any, right: Any) -> tuple[Dynamic, Dynamic]:
    """Both operands in one type."""
    kinds = [value.type for value in (left, right) if isinstance(value, Dynamic)]
    kind = next((kind for kind in kinds if kind.is_vector), kinds[0])
    return convert(builder, left, kind), convert(builder, right, kind)


def binary(builder: Any, operation: ast.operator, left: Any, right: Any) -> Dynamic:
    """One binary operation, at least one operand of which is dynamic."""
    if isinstance(left, Dynamic) and isinstance(left.type, PointerType):
        return _offset(builder, operation, left, right)
    first, second = unify(builder, left, right)
    instruction = _instructions(first.type).get(type(operation))
    if instruction is None:
        raise TypeMismatch(f"no {type(operation).__name__} on {first.type.name}")
    if first.type is I64 and type(operation) in GUARDED:
        what = GUARDED[type(operation)]
        guard(
            builder, what, *((first.value, second.value) if what == "product" else (second.value,))
        )
    flags = FAST_MATH if first.type.is_float else ()
    build = getattr(builder, instruction)
    result = (
        build(first.value, second.value, flags=flags) if flags else build(first.value, second.value)
    )
    return Dynamic(first.type, result)


def compare(builder: Any, operation: ast.cmpop, left: Any, right: Any) -> Dynamic:
    """One comparison; on floats it is false where an operand is NaN, except `!=`.

    Of two vectors it is one for each lane.
    """
    first, second = unify(builder, left, right)
    sign = COMPARISONS.get(type(operation))
    is_number = first.type.is_integer or first.type is F64
    if sign is None or not (is_number or _has_lanes(first.type)):
        raise TypeMismatch(f"no {type(operation).__name__} on {first.type.name}")
    if first.type.is_integer:
        return Dynamic(I1, builder.icmp_signed(sign, first.value, second.value))
    ordered = builder.fcmp_unordered if sign == "!=" else builder.fcmp_ordered
    kind = LANE_SET if first.type.is_vector else I1
    return Dynamic(kind, ordered(sign, first.value, second.value))


def _has_lanes(kind: Type) -> bool:
    return kind.is_vector and kind.lanes == LANE_SET.lanes


def _instructions(kind: Type) -> dict[type[ast.operator], str]:
    if kind in (I1, LANE_SET):
        return LOGIC_INSTRUCTIONS
    return INTEGER_INSTRUCTIONS if kind.is_integer else FLOAT_INSTRUCTIONS


def _offset(builder: Any, operation: ast.operator, base: Dynamic, index: Any) -> Dynamic:
    """Pointer arithmetic: `pointer + n` counts elements."""
    if not isinstance(operation, ast.Add) or not isinstance(base.type, PointerType):
        raise TypeMismatch(f"only + works on {base.type.name}")
    step = convert(builder, index, I64)
    element = base.type.element.llvm
    return Dynamic(base.type, builder.gep(base.value, [step.value], source_etype=element))
