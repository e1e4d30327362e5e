"""The library of elementary functions as LLVM IR: every function, for f32 and f64, for some widths.

In: nothing. Out: text with `double diastase_elementary_exp_f64(double)`, and for each width of the
host's vectors `<8 x double> diastase_elementary_exp_f64x8(<8 x double>)`, as `symbols`
says. All forms of a function give the same bits. Trigonometric functions in single precision are
computed in double precision with shorter polynomials and rounded once.

Errors are below one unit in the last place, of `tanh` in double precision below 1.05
(`tests/engine/test_elementary.py` measures them).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from diastase_engine.vector_math import (
    ELEMENTARY_FUNCTIONS,
    exponentials,
    logarithms,
    roots,
    trigonometric,
)
from diastase_engine.vector_math.numbers import Number, constant, vector_of
from diastase_runtime.abi import library_symbol
from diastase_toolchain.machine_code import widths


@dataclass(frozen=True)
class Elementary:
    """How a function is computed, and the magnitude beyond which the C library is asked."""

    formula: Callable[[Number], Number]
    limit: float | None = None


def _trigonometric(formula: Callable[[Number, bool], Number]) -> Elementary:
    def of_either(x: Number) -> Number:
        if x.is_double:
            return formula(x, False)
        return formula(x.doubled(), True).halved()

    return Elementary(of_either, trigonometric.LIMIT)


FORMULAS = {
    "exp": Elementary(exponentials.exp),
    "expm1": Elementary(exponentials.expm1),
    "tanh": Elementary(exponentials.tanh),
    "log": Elementary(logarithms.log),
    "log1p": Elementary(logarithms.log1p),
    "cbrt": Elementary(roots.cbrt),
    "sin": _trigonometric(trigonometric.sin),
    "cos": _trigonometric(trigonometric.cos),
    "tan": _trigonometric(trigonometric.tan),
}
assert set(FORMULAS) == set(ELEMENTARY_FUNCTIONS)
_ELEMENTS: dict[str, ir.Type] = {"f32": ir.FloatType(), "f64": ir.DoubleType()}


def elementary_ir(triple: str) -> str:
    """The module."""
    module = ir.Module("elementary")
    module.triple = triple
    for name, kind, lanes, symbol in _all():
        _define(module, name, kind, lanes, symbol)
    return str(module)


def symbols() -> frozenset[str]:
    """C symbols of all functions."""
    return frozenset(symbol for *_, symbol in _all())


def _all() -> Iterator[tuple[str, str, int, str]]:
    for name in FORMULAS:
        for kind in _ELEMENTS:
            for lanes in (1, *widths(kind)):
                suffix = kind if lanes == 1 else f"{kind}x{lanes}"
                yield name, kind, lanes, library_symbol("elementary", f"{name}_{suffix}")


def _define(module: ir.Module, name: str, kind: str, lanes: int, symbol: str) -> None:
    element, function = _ELEMENTS[kind], FORMULAS[name]
    vector = vector_of(element, lanes)
    defined = ir.Function(module, ir.FunctionType(vector, [vector]), symbol)
    defined.attributes.add("nounwind")
    builder: Any = ir.IRBuilder(defined.append_basic_block("entry"))
    (argument,) = defined.args
    number = Number(builder, lanes, argument)
    result = function.formula(number).value
    if function.limit is not None:
        result = _with_large_arguments(module, builder, name, element, number, result)
    builder.ret(result)


def _with_large_arguments(
    module: ir.Module,
    builder: Any,
    name: str,
    element: ir.Type,
    number: Number,
    result: ir.Value,
) -> ir.Value:
    """Replace the lanes whose argument is large, infinite or NaN by what the C library says."""
    limit = FORMULAS[name].limit
    assert limit is not None
    argument: Any = number.value
    lanes = number.lanes
    magnitude = number.magnitude().value
    large = builder.fcmp_unordered(">", magnitude, constant(element, lanes, limit))
    some = large
    if lanes > 1:
        bits = builder.bitcast(large, ir.IntType(lanes))
        some = builder.icmp_unsigned("!=", bits, ir.Constant(ir.IntType(lanes), 0))
    library = _library_function(module, name, element)
    before = builder.block
    with builder.if_then(some, likely=False):
        corrected = result
        if lanes == 1:
            corrected = builder.call(library, [argument])
        else:
            corrected = _lane_by_lane(builder, library, argument, result, large, lanes)
        after = builder.block
    chosen = builder.phi(argument.type)
    chosen.add_incoming(result, before)
    chosen.add_incoming(corrected, after)
    return chosen


def _lane_by_lane(
    builder: Any, library: ir.Function, argument: Any, result: ir.Value, large: ir.Value,
    lanes: int,
) -> ir.Value:  # fmt: skip
    """The C library's value in the lanes of a mask."""
    i32 = ir.IntType(32)
    for lane in range(lanes):
        index = ir.Constant(i32, lane)
        before = builder.block
        with builder.if_then(builder.extract_element(large, index)):
            value = builder.call(library, [builder.extract_element(argument, index)])
            replaced = builder.insert_element(result, value, index)
            after = builder.block
        merged = builder.phi(argument.type)
        merged.add_incoming(result, before)
        merged.add_incoming(replaced, after)
        result = merged
    return result


def _library_function(module: ir.Module, name: str, element: ir.Type) -> ir.Function:
    symbol = name + ("f" if isinstance(element, ir.FloatType) else "")
    found = module.globals.get(symbol)
    if found is None:
        found = ir.Function(module, ir.FunctionType(element, [element]), symbol)
    return found
