"""Symbols at the two ends of a trace: those of the arguments, and a check of the finished jaxpr.

`check_symbols` walks a program as lowering will: a symbol is known once the variable that defines
it is, and only in the region that it is defined in (equations that lowering inlines are no
regions). A symbol used where it is not known, for example as the size of a loop's result, is
refused here with the user's line.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jax.extend.core import ClosedJaxpr, Jaxpr

from diastase.errors import SizeEscapesError
from diastase_mlir.diagnostics import span_of
from diastase_mlir.jax_internals import (
    SizeScope,
    dimension_symbols,
    is_symbolic,
    substitute,
    symbol_of,
)
from diastase_mlir.program import DimensionBindings, Program

_INLINED = frozenset(
    {
        "jit",
        "closed_call",
        "core_call",
        "eval_jaxpr",
        "custom_jvp_call",
        "custom_vjp_call",
        "checkpoint",
        "remat",
        "remat2",
        "qnode",
    }
)
"""Primitives whose jaxprs are lowered in place: symbols defined inside are known after."""


def input_symbols(
    scope: SizeScope, avals: Sequence[Any]
) -> tuple[list[Any], Mapping[int, Sequence[tuple[str, int]]]]:
    """The arguments over our symbols, and which axes of which argument define them."""
    axes: dict[int, list[tuple[str, int]]] = {}
    symbols: dict[str, Any] = {}
    for position, aval in enumerate(avals):
        for axis, size in enumerate(aval.shape):
            name = symbol_of(size) if is_symbolic(size) else None
            if name is not None and name not in symbols:
                symbols[name] = scope.symbol(name)
                axes.setdefault(position, []).append((name, axis))
    return [_over(aval, symbols) for aval in avals], axes


def _over(aval: Any, symbols: Mapping[str, Any]) -> Any:
    if not any(is_symbolic(size) for size in aval.shape):
        return aval
    sizes = (substitute(size, symbols) if is_symbolic(size) else size for size in aval.shape)
    return aval.update(shape=tuple(sizes))


def check_symbols(program: Program) -> None:
    """Refuse a program that uses a symbol where it has no value."""
    bindings = program.dimensions
    if bindings.values or bindings.axes:
        _check(program.jaxpr.jaxpr, bindings, set(), program.name)


def _check(jaxpr: Jaxpr, bindings: DimensionBindings, known: set[str], construct: str) -> None:
    for variable in (*jaxpr.constvars, *jaxpr.invars):
        _define(variable, bindings, known)
    for equation in jaxpr.eqns:
        inlined = equation.primitive.name in _INLINED
        for inner in _inner_jaxprs(equation.params.values()):
            _check(inner, bindings, known if inlined else set(known), equation.primitive.name)
        for variable in equation.outvars:
            _define(variable, bindings, known)
            unknown = _symbols(variable.aval) - known
            if unknown:
                raise SizeEscapesError(
                    type_name=variable.aval.str_short(),
                    construct=equation.primitive.name,
                    span=span_of(equation.source_info),
                )


def _define(variable: Any, bindings: DimensionBindings, known: set[str]) -> None:
    known.update(bindings.values.get(variable, ()))
    known.update(name for name, _ in bindings.axes.get(variable, ()))


def _symbols(aval: Any) -> set[str]:
    sizes = [size for size in getattr(aval, "shape", ()) if is_symbolic(size)]
    return set[str]().union(*(dimension_symbols(size) for size in sizes))


def _inner_jaxprs(values: Iterable[Any]) -> Iterable[Jaxpr]:
    for value in values:
        if isinstance(value, ClosedJaxpr):
            yield value.jaxpr
        elif isinstance(value, Jaxpr):
            yield value
        elif isinstance(value, tuple | list):
            yield from _inner_jaxprs(value)
