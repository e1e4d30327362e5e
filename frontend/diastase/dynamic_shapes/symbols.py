"""Symbols at the two ends of a trace: those of the arguments, and a check of the finished jaxpr.

The size of an argument's axis is a number, a symbol, or an expression over symbols (`2*m`). A
symbol that is nowhere an axis of its own takes its value from an expression that is linear in it,
`m = size // 2`; whoever calls the program has checked that this is exact
(`jit.stages.argument_checks`).

`check_symbols` walks a program as lowering will: a symbol is known once the variable that defines
it is, and only in the region that it is defined in (equations that lowering inlines are no
regions). A symbol used where it is not known, for example as the size of a loop's result, is
refused here with the user's line.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from jax.extend.core import Jaxpr

from diastase.dynamic_shapes.errors import SizeEscapesError, UnsolvableSizeError
from diastase.primitives.define import Role, has_role
from diastase_mlir.diagnostics import span_of
from diastase_mlir.jax_compat import (
    CALLS,
    SizeScope,
    dimension_symbols,
    dimension_terms,
    factor_symbol,
    is_symbolic,
    jaxprs_in,
    substitute,
    symbol_expression,
    symbol_of,
)
from diastase_mlir.program import DimensionBindings, Program


@dataclass(frozen=True)
class AxisSize:
    """The size of one axis of the flat arguments, and the symbol that it gives a value, if any."""

    argument: int
    axis: int
    size: Any
    """A number, or an expression over symbols."""
    symbol: str | None = None
    factor: int = 1
    rest: Any = 0
    """`size == factor * symbol + rest`, where `rest` is over symbols that have values by then."""


def axis_sizes(avals: Sequence[Any], names: Sequence[str] | None = None) -> list[AxisSize]:
    """All axes of the arguments, in an order in which each one's symbols have values before."""
    axes = [
        AxisSize(argument, axis, size)
        for argument, aval in enumerate(avals)
        for axis, size in enumerate(aval.shape)
    ]
    known: set[str] = set()
    ordered = [_plain(axis, known) for axis in axes if _is_plain(axis.size)]
    waiting = [axis for axis in axes if not _is_plain(axis.size)]
    while waiting:
        axis = next((axis for axis in waiting if _solvable(axis.size, known)), None)
        if axis is None:
            raise _unsolvable(waiting[0], known, names)
        waiting.remove(axis)
        ordered.append(_solved(axis, known))
    return ordered


def _unsolvable(
    axis: AxisSize, known: Set[str], names: Sequence[str] | None
) -> UnsolvableSizeError:
    return UnsolvableSizeError(
        argument=names[axis.argument] if names else str(axis.argument),
        size=str(axis.size),
        unknown=" and ".join(sorted(dimension_symbols(axis.size) - known)),
    )


def _is_plain(size: Any) -> bool:
    """Whether a size is a number or a symbol alone."""
    return not is_symbolic(size) or symbol_of(size) is not None


def _plain(axis: AxisSize, known: set[str]) -> AxisSize:
    name = symbol_of(axis.size) if is_symbolic(axis.size) else None
    if name is None or name in known:
        return axis
    known.add(name)
    return replace(axis, symbol=name)


def _solvable(size: Any, known: Set[str]) -> bool:
    """Whether an expression has a value, or is linear in the one symbol that has none."""
    unknown = dimension_symbols(size) - known
    if len(unknown) != 1:
        return not unknown
    (name,) = unknown
    factor, rest = _factor_and_rest(size, name)
    return factor != 0 and (not is_symbolic(rest) or name not in dimension_symbols(rest))


def _solved(axis: AxisSize, known: set[str]) -> AxisSize:
    unknown = dimension_symbols(axis.size) - known
    if not unknown:
        return axis
    (name,) = unknown
    known.add(name)
    factor, rest = _factor_and_rest(axis.size, name)
    return replace(axis, symbol=name, factor=factor, rest=rest)


def _factor_and_rest(size: Any, name: str) -> tuple[int, Any]:
    factor = sum(
        coefficient
        for factors, coefficient in dimension_terms(size)
        if [(factor_symbol(factor), power) for factor, power in factors] == [(name, 1)]
    )
    return factor, size - factor * symbol_expression(size, name)


@dataclass(frozen=True)
class InputSymbols:
    """The arguments over our symbols, and where these have their values."""

    avals: list[Any]
    axes: Mapping[int, Sequence[tuple[str, int]]]
    """By argument: which of its axes define which symbols."""
    solved: Mapping[str, Any]
    """Symbols that are no axis, as expressions over those that are."""


def input_symbols(
    scope: SizeScope, avals: Sequence[Any], names: Sequence[str] | None = None
) -> InputSymbols:
    """Take the symbols of the arguments over into the scope of a trace."""
    axes: dict[int, list[tuple[str, int]]] = {}
    symbols: dict[str, Any] = {}
    solved: dict[str, Any] = {}
    for axis in axis_sizes(avals, names):
        if axis.symbol is None:
            continue
        symbols[axis.symbol] = scope.symbol(axis.symbol)
        name = axis.symbol
        if symbol_of(axis.size) is None:
            name = f"{axis.symbol}_{axis.argument}_{axis.axis}"
            rest = _over(axis.rest, symbols)
            solved[axis.symbol] = (scope.symbol(name) - rest) // axis.factor
        axes.setdefault(axis.argument, []).append((name, axis.axis))
    avals = [
        aval.update(shape=tuple(_over(size, symbols) for size in aval.shape))
        if any(map(is_symbolic, aval.shape))
        else aval
        for aval in avals
    ]
    return InputSymbols(avals, axes, solved)


def _over(size: Any, symbols: Mapping[str, Any]) -> Any:
    return substitute(size, symbols) if is_symbolic(size) else size


def check_symbols(program: Program) -> None:
    """Refuse a program that uses a symbol where it has no value."""
    bindings = program.dimensions
    if bindings.values or bindings.axes:
        _check(program.jaxpr.jaxpr, bindings, set(bindings.solved), program.name)


def _check(jaxpr: Jaxpr, bindings: DimensionBindings, known: set[str], construct: str) -> None:
    for variable in (*jaxpr.constvars, *jaxpr.invars):
        _define(variable, bindings, known)
    for equation in jaxpr.eqns:
        inlined = equation.primitive.name in CALLS or has_role(equation, Role.INLINED)
        for inner in jaxprs_in(equation.params):
            _check(inner, bindings, known if inlined else set(known), equation.primitive.name)
        for variable in equation.outvars:
            _define(variable, bindings, known)
            unknown = symbols_of([variable.aval]) - known
            if unknown:
                raise SizeEscapesError(
                    type_name=variable.aval.str_short(),
                    construct=equation.primitive.name,
                    span=span_of(equation.source_info),
                )


def _define(variable: Any, bindings: DimensionBindings, known: set[str]) -> None:
    known.update(bindings.values.get(variable, ()))
    known.update(name for name, _ in bindings.axes.get(variable, ()))


def symbols_of(avals: Iterable[Any]) -> set[str]:
    """The symbols in the sizes of arrays."""
    sizes = [size for aval in avals for size in getattr(aval, "shape", ()) if is_symbolic(size)]
    return set[str]().union(*map(dimension_symbols, sizes))
