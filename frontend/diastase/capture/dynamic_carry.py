"""Sizes that change on the way through a loop, or differ between branches.

A `SizePattern` says which axes of a list of values they are, in groups: all axes of a group have
one size at all times, unknown until run time. Values that enter or leave a region get new symbols
for them, one for each group, by three steps:

    fresh = pattern.fresh(avals)      # the types, over new symbols
    ... values of the types fresh.avals come to be: arguments of a region, or an equation's results
    fresh.name(values)                # their axes define the symbols

The trap: each place needs symbols of its own, also each further attempt to trace a region. What is
learnt of a symbol (that it is at least 3, say) holds where it was learnt and nowhere else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diastase.capture.context import current_context
from diastase.dynamic_shapes.dimensions import DimensionTable
from diastase_mlir.jax_compat import symbol_of, unwrap_tracer

Axis = tuple[int, int]
"""Position of a value in a list, and an axis of it."""


@dataclass(frozen=True)
class SizePattern:
    """The axes whose sizes change, in groups that share a size."""

    groups: tuple[tuple[Axis, ...], ...] = ()

    def fresh(self, avals: Sequence[Any]) -> "FreshSizes":
        """These types with a new symbol for each group."""
        symbols: dict[Axis, Any] = {}
        defining: dict[int, list[tuple[str, int]]] = {}
        for group in self.groups:
            symbol = dimension_table().new_symbol()
            symbols.update(dict.fromkeys(group, symbol))
            position, axis = group[0]
            defining.setdefault(position, []).append((str(symbol_of(symbol)), axis))
        return FreshSizes([_with_sizes(aval, k, symbols) for k, aval in enumerate(avals)], defining)


@dataclass(frozen=True)
class FreshSizes:
    """Types over new symbols, and which axes of which value define them."""

    avals: Sequence[Any]
    defining: Mapping[int, Sequence[tuple[str, int]]]

    def name(self, values: Sequence[Any]) -> None:
        """Let the axes of these values define the symbols."""
        for position, axes in self.defining.items():
            dimension_table().name_axes(unwrap_tracer(values[position]), axes)


def grouped(keys: Mapping[Axis, Any]) -> SizePattern:
    """The axes, those of equal keys in one group."""
    groups: dict[Any, list[Axis]] = {}
    for axis, key in keys.items():
        groups.setdefault(key, []).append(axis)
    return SizePattern(tuple(tuple(group) for group in groups.values()))


def same_size(size: Any, other: Any) -> bool:
    """Whether two sizes are known to be equal."""
    return bool(size == other)


def dimension_table() -> DimensionTable:
    """The symbols of the trace that we are in."""
    context = current_context()
    assert context is not None, "control flow is recorded only while tracing"
    return context.dimensions


def _with_sizes(aval: Any, position: int, symbols: Mapping[Axis, Any]) -> Any:
    shape = tuple(symbols.get((position, axis), size) for axis, size in enumerate(aval.shape))
    return aval if shape == aval.shape else aval.update(shape=shape)
