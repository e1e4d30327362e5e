"""Arithmetic on single numbers: one operation of `arith` or `math`, and no arrays of rank 0.

In: an equation all of whose operands and results are numbers of the types in `_KINDS`. Out: the
operation that the passes would make of StableHLO's, on the numbers themselves (`deferred.Number`).
What is not in the tables here takes the way of all other equations, and means the same there:
conversions of floats to integers (which saturate), divisions of integers (of which some trap),
and all other types.

    %1 = stablehlo.sine %0 : tensor<f64>    instead of this, and what becomes of it:
    %1 = math.sin %0 : f64
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.deferred import Number, scalar_of
from diastase_mlir.lowering.operations import (
    binary,
    compare_floats,
    compare_integers,
    create,
    scalar_constant,
    select,
)
from diastase_mlir.lowering.registry import Equation, Value

_KINDS = {
    np.dtype(np.float32): ("float", ir.F32Type.get),
    np.dtype(np.float64): ("float", ir.F64Type.get),
    np.dtype(np.int32): ("integer", lambda: ir.IntegerType.get_signless(32)),
    np.dtype(np.int64): ("integer", lambda: ir.IntegerType.get_signless(64)),
    np.dtype(np.bool_): ("flag", lambda: ir.IntegerType.get_signless(1)),
}
"""Whether numbers of a type are floats, signed integers or flags, and their type here."""

_UNARY = {
    "float": {
        "abs": "math.absf", "cbrt": "math.cbrt", "ceil": "math.ceil", "cos": "math.cos",
        "exp": "math.exp", "expm1": "math.expm1", "floor": "math.floor", "log": "math.log",
        "log1p": "math.log1p", "neg": "arith.negf", "rsqrt": "math.rsqrt", "sin": "math.sin",
        "sqrt": "math.sqrt", "tan": "math.tan", "tanh": "math.tanh",
    },
}  # fmt: skip

_BINARY = {
    "float": {
        "add": "arith.addf", "add_any": "arith.addf", "atan2": "math.atan2", "div": "arith.divf",
        "max": "arith.maximumf", "min": "arith.minimumf", "mul": "arith.mulf", "pow": "math.powf",
        "rem": "arith.remf", "sub": "arith.subf",
    },
    "integer": {
        "add": "arith.addi", "add_any": "arith.addi", "max": "arith.maxsi", "min": "arith.minsi",
        "mul": "arith.muli", "sub": "arith.subi",
    },
    "flag": {"and": "arith.andi", "or": "arith.ori", "xor": "arith.xori"},
}  # fmt: skip

_COMPARED = {
    "float": {"eq": "oeq", "ge": "oge", "gt": "ogt", "le": "ole", "lt": "olt", "ne": "une"},
    "integer": {"eq": "eq", "ge": "sge", "gt": "sgt", "le": "sle", "lt": "slt", "ne": "ne"},
}

_UNCHANGED = frozenset({"copy", "copy_p", "stop_gradient"})

_NAMES = _UNCHANGED.union(
    {"convert_element_type", "integer_pow", "select_n", "square"},
    *(table for tables in (_UNARY, _BINARY, _COMPARED) for table in tables.values()),
)


def lower_scalars(equation: Equation, operands: Sequence[Value]) -> Sequence[Value] | None:
    """The result of arithmetic on numbers; None for everything else."""
    name = equation.primitive.name
    if name not in _NAMES or equation.avals_out[0].shape != ():
        return None
    kinds = [_kind(aval) for aval in equation.avals_in]
    if None in kinds or _kind(equation.avals_out[0]) is None:
        return None
    if name in _UNCHANGED:
        return list(operands)
    emit = _emitter(name, equation, kinds)
    if emit is None:
        return None
    return [Number(emit(*map(scalar_of, operands)))]


def _kind(aval: Any) -> str | None:
    """Whether an abstract value is a single float, integer or flag."""
    if getattr(aval, "shape", None) != () or aval.dtype not in _KINDS:
        return None
    return _KINDS[aval.dtype][0]


def _emitter(
    name: str, equation: Equation, kinds: Sequence[str | None]
) -> Callable[..., ir.Value] | None:
    """What emits an equation on numbers; None where that is left to others."""
    kind = kinds[0] or ""
    if name == "convert_element_type":
        return _conversion(equation.avals_in[0].dtype, equation.avals_out[0].dtype)
    if name == "select_n":
        return _chosen if kind == "flag" and len(kinds) == 3 else None
    if name == "square" and kind != "flag":
        return lambda number: _product(kind, number, number)
    if name == "integer_pow" and kind == "float" and equation.params["y"] != 0:
        return lambda number: _power(number, equation.params["y"])
    if name in _UNARY.get(kind, {}):
        return lambda number: create(_UNARY[kind][name], [number.type], [number]).result
    same_types = len({aval.dtype for aval in equation.avals_in}) == 1  # `pow` takes integers, too
    if name in _BINARY.get(kind, {}) and same_types:
        return lambda left, right: binary(_BINARY[kind][name], left, right)
    if name in _COMPARED.get(kind, {}):
        compare = compare_floats if kind == "float" else compare_integers
        return lambda left, right: compare(_COMPARED[kind][name], left, right)
    return None


def _conversion(source: Any, target: Any) -> Callable[[ir.Value], ir.Value] | None:
    """From one type to another, where one operation does it."""
    if source == target:
        return lambda number: number
    (before, _), (after, wanted) = _KINDS[source], _KINDS[target]
    wider = np.dtype(target).itemsize > np.dtype(source).itemsize
    names = {
        ("flag", "float"): "arith.uitofp",
        ("flag", "integer"): "arith.extui",
        ("integer", "float"): "arith.sitofp",
        ("integer", "integer"): "arith.extsi" if wider else "arith.trunci",
        ("float", "float"): "arith.extf" if wider else "arith.truncf",
    }
    if after == "flag":
        return _is_not_zero
    name = names.get((before, after))
    if name is None:
        return None
    return lambda number: create(name, [wanted()], [number]).result


def _is_not_zero(number: ir.Value) -> ir.Value:
    zero = scalar_constant(number.type, 0)
    if isinstance(number.type, ir.IntegerType):
        return compare_integers("ne", number, zero)
    return compare_floats("une", number, zero)


def _chosen(which: ir.Value, if_false: ir.Value, if_true: ir.Value) -> ir.Value:
    return select(which, if_true, if_false)


def _product(kind: str, left: ir.Value, right: ir.Value) -> ir.Value:
    return binary(_BINARY[kind]["mul"], left, right)


def _power(number: ir.Value, exponent: int) -> ir.Value:
    """The product of those of the number's repeated squares that make up the exponent."""
    squares = [number]
    while abs(exponent) >> len(squares):
        squares.append(_product("float", squares[-1], squares[-1]))
    factors = [square for bit, square in enumerate(squares) if abs(exponent) >> bit & 1]
    power = reduce(lambda left, right: _product("float", left, right), factors)
    if exponent > 0:
        return power
    return binary("arith.divf", scalar_constant(number.type, 1), power)
