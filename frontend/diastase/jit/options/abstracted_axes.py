"""`abstracted_axes`: which axes of the arguments are known at run time only, and their names.

In: the user's option, as `jax.jit` once took it. A *specification* names axes of an array: a tuple
with a name or None for each of the first axes, or a dictionary from axes to names. The option is
one specification for all arguments; a tuple with an entry for each positional argument; or a
dictionary with an entry for each named parameter. An entry is a specification or, for an argument
that is a pytree, a pytree of them; one specification stands for all leaves below it. Out: the types
of the arguments, with a symbol for each name.

The trap: with static arguments, a tuple may count all arguments or the traced ones only (as in
Catalyst); its length says which. `self` of a method may be counted or not in the same way.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
from jax.core import ShapedArray
from jax.tree_util import keystr

from diastase.jit.options.errors import AbstractedAxesError, AxisSizesDifferError
from diastase.tracing.signatures import Call, Signature
from diastase_mlir.jax_compat import SizeScope

_OPTION = "abstracted_axes"


@dataclass(frozen=True)
class AbstractedAxes:
    """The option, checked as far as it can be without arguments."""

    given: Any
    symbols: Mapping[str, str]
    """By name of an axis: its symbol, the name itself where that is an identifier."""

    def types(
        self, signature: Signature, call: Call, avals: Sequence[ShapedArray], names: Sequence[str]
    ) -> tuple[ShapedArray, ...]:
        """Put symbols into the types of a call's leaves, which have these names."""
        scope = SizeScope()
        first: dict[str, tuple[int, int]] = {}
        types: list[ShapedArray] = []
        specifications = self._of_leaves(signature, call)
        for position, (aval, specification) in enumerate(zip(avals, specifications, strict=True)):
            shape = list(aval.shape)
            for axis, name in _named_axes(*specification, aval, names[position]):
                other, other_axis = first.setdefault(name, (position, axis))
                expected, size = avals[other].shape[other_axis], aval.shape[axis]
                if str(expected) != str(size):
                    raise AxisSizesDifferError(
                        function=signature.name,
                        name=name,
                        first=names[other],
                        first_axis=other_axis,
                        first_size=expected,
                        second=names[position],
                        second_axis=axis,
                        second_size=size,
                    )
                shape[axis] = scope.symbol(self.symbols[name])
            types.append(aval.update(shape=tuple(shape)))
        return tuple(types)

    def for_method(self, signature: Signature) -> "AbstractedAxes":
        """The option for a bound method; where it has an entry for `self`, without that."""
        given = self.given
        if _is_specification(given) or not isinstance(given, tuple):
            return self
        names = signature.positional_names()
        counted = names is not None and len(given) == len(names) + 1
        return replace(self, given=given[1:]) if counted else self

    def _of_leaves(self, signature: Signature, call: Call) -> list[tuple[str, Any]]:
        """Place and specification for each leaf of the traced arguments, in their order."""
        given = self.given
        if _is_specification(given):
            leaves = jax.tree_util.tree_leaves((call.args, call.kwargs))
            return [(_OPTION, given)] * len(leaves)
        if isinstance(given, dict):
            _check_names(given, signature)
            places = {name: (f"{_OPTION}[{name!r}]", entry) for name, entry in given.items()}
        else:
            places = self._by_name(signature, call)
        leaves: list[tuple[str, Any]] = []
        for name, value in _traced_arguments(signature, call):
            place, entry = places.get(name, (_OPTION, None))
            leaves += [(place, spec) for spec in _broadcast(place, entry, name, value)]
        return leaves

    def _by_name(self, signature: Signature, call: Call) -> dict[str, tuple[str, Any]]:
        """The entries of a tuple, each with its place, by the names of their arguments."""
        names, static = signature.positional_names(), set(signature.static_positions)
        if names is None:
            positions = call.positions
            count = len(call.args) + sum(isinstance(place, int) for place, _ in call.static)
            names, static = list(map(signature.position_name, range(count))), set(range(count))
            static -= set(positions)
        traced = [name for position, name in enumerate(names) if position not in static]
        names = traced if len(self.given) == len(traced) else names
        given = {name for name, _ in _traced_arguments(signature, call)}
        missing = [name for name in names[len(self.given) :] if name in given]
        if len(self.given) > len(names) or missing:
            arguments = ", ".join(names) or "no arguments"
            problem = f"has {len(self.given)} entries, but {signature.name} takes {arguments}"
            raise AbstractedAxesError(place=_OPTION, problem=problem)
        entries = zip(names, self.given, strict=False)
        return {name: (f"{_OPTION}[{k}]", entry) for k, (name, entry) in enumerate(entries)}


def read_abstracted_axes(given: Any) -> AbstractedAxes | None:
    """Check the option as far as it can be without arguments."""
    if given is None:
        return None
    if not isinstance(given, tuple | dict):
        raise AbstractedAxesError(place=_OPTION, problem=f"is {given!r}, no tuple or dictionary")
    names: set[str] = set()
    leaves, _ = jax.tree_util.tree_flatten_with_path(given, is_leaf=_is_specification)
    for path, specification in leaves:
        place = _OPTION + keystr(path)
        if not _is_specification(specification):
            raise AbstractedAxesError(place=place, problem=f"is {specification!r}")
        names.update(name for _, name in _checked_items(specification, place))
    return AbstractedAxes(given, _symbols(names))


def _is_specification(value: Any) -> bool:
    """Whether a value names axes of one array (or would, if what it holds were names)."""
    if value is None:
        return True
    if not isinstance(value, tuple | dict):
        return False
    items = value.values() if isinstance(value, dict) else value
    return not any(isinstance(item, tuple | dict | list) for item in items)


def _checked_items(specification: Any, place: str) -> Iterator[tuple[int, str]]:
    """Axes and their names."""
    if not isinstance(specification, dict):
        specification = {
            axis: name for axis, name in enumerate(specification or ()) if name is not None
        }
    for axis, name in specification.items():
        if type(axis) is not int:
            raise AbstractedAxesError(
                place=place, problem=f"has {axis!r} for the number of an axis"
            )
        if not isinstance(name, str) or not name:
            problem = f"has {name!r} for the name of axis {axis}, not a string"
            raise AbstractedAxesError(place=place, problem=problem)
        yield axis, name


def _symbols(names: set[str]) -> dict[str, str]:
    """A symbol for each name: itself, or something like it that can stand in an expression."""
    symbols = {name: name for name in names if name.isidentifier()}
    for name in sorted(names - symbols.keys()):
        symbol = "_" + re.sub(r"\W", "_", name)
        while symbol in symbols.values():
            symbol += "_"
        symbols[name] = symbol
    return symbols


def _named_axes(
    place: str, specification: Any, aval: ShapedArray, argument: str
) -> Iterator[tuple[int, str]]:
    """The axes of an array that a specification names, counted from the first."""
    seen: set[int] = set()
    for axis, name in _checked_items(specification, place):
        if not -aval.ndim <= axis < aval.ndim or axis % aval.ndim in seen:
            why = "twice" if -aval.ndim <= axis < aval.ndim else "which it does not have"
            problem = f"names axis {axis} of argument {argument} ({aval.str_short()}), {why}"
            raise AbstractedAxesError(place=place, problem=problem)
        seen.add(axis % aval.ndim)
        yield axis % aval.ndim, name


def _traced_arguments(signature: Signature, call: Call) -> list[tuple[str, Any]]:
    """Names and values, in the order in which JAX flattens them."""
    positional = zip(call.positions, call.args, strict=True)
    named = sorted(call.kwargs.items())
    return [(signature.position_name(position), value) for position, value in positional] + named


def _check_names(given: Mapping[str, Any], signature: Signature) -> None:
    for name in given:
        if not signature.takes(name):
            problem = f"names {name!r}, which {signature.name} does not take"
            raise AbstractedAxesError(place=_OPTION, problem=problem)


def _broadcast(place: str, entry: Any, argument: str, value: Any) -> list[Any]:
    """A specification for each leaf of an argument."""
    try:
        full = jax.tree.broadcast(entry, value, is_leaf=_is_specification)
    except ValueError as error:
        problem = f"does not have the structure of argument {argument}: {error}"
        raise AbstractedAxesError(place=place, problem=problem) from None
    return jax.tree_util.tree_structure(value).flatten_up_to(full)
