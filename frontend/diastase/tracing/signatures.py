"""What is known of a function before it is traced: parameters, static ones, declared types.

In: the function and the user's `static_argnums`, `static_argnames`. Out: a `Signature`, which
splits the arguments of a call into static values and the rest, names every leaf of the arguments
in the user's words (`x`, `params['w']`, `args[2]`), and reads type hints.

The trap: a negative static position counts from the function's *last positional parameter*, so
that it means the same in every call; only for functions with `*args` it counts from the end of
the call's arguments.
"""

import functools
import inspect
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Protocol

import jax
from jax.core import ShapedArray
from jax.tree_util import keystr

from diastase.tracing.argument_errors import (
    StaticArgumentOutOfRangeError,
    UnhashableStaticArgumentError,
    UnknownStaticArgumentError,
)
from diastase_runtime.arrays import dlpack
from diastase_runtime.calls.static_arguments import split, typed_key

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_SCALAR_HINTS: dict[type, Any] = {bool: False, int: 0, float: 0.0, complex: 0j}
"""A hint stands for what this value traces as: a weakly typed scalar."""


@dataclass(frozen=True)
class Call:
    """Arguments of one call: the traced ones as given, the static ones by position or name."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    static: tuple[tuple[int | str, Any], ...] = ()

    @functools.cached_property
    def positions(self) -> list[int]:
        """Where the traced positional arguments stand among all of them."""
        taken = {place for place, _ in self.static if isinstance(place, int)}
        count = len(self.args) + len(taken)
        return [position for position in range(count) if position not in taken]

    def merge(
        self, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Put the static values back among traced ones, in the places they were taken from."""
        merged, keywords = list(args), dict(kwargs)
        for place, value in self.static:
            if isinstance(place, int):
                merged.insert(place, value)
            else:
                keywords[place] = value
        return merged, keywords


class Watched(Protocol):
    """The object that a method is bound to, and that may change."""

    def state(self) -> Hashable:
        """What the method's programs depend on, as it is now."""
        ...

    def recording(self, is_inlined: bool = False) -> AbstractContextManager[None]:
        """Inside, what is read of the object is noted: programs depend on it."""
        ...


@dataclass(frozen=True)
class Signature:
    """Parameters of a function, and which of them are static."""

    name: str
    parameters: inspect.Signature | None
    """None where Python knows none (some built-in functions)."""
    static_positions: tuple[int, ...] = ()
    static_names: frozenset[str] = frozenset()
    bound_names: frozenset[str] = frozenset()
    """Parameters to which a `functools.partial` gave a value by name: never declared ones."""
    bound_to: Watched | None = None
    """Of a method: its object, which is static."""

    def split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """Take the static values out of a call."""
        if not self.static_positions and not self.static_names:
            return Call(args, kwargs)
        return Call(*split(args, kwargs, self.static_positions, self.static_names))

    def static_key(self, call: Call) -> Hashable:
        """Key of a call's static values: equal keys mean that one program serves both."""
        values = tuple((place, self._hashable(place, value)) for place, value in call.static)
        return values if self.bound_to is None else (self.bound_to.state(), values)

    @property
    def has_static(self) -> bool:
        """Whether anything but the types of the arguments decides which program serves a call."""
        return bool(self.static_positions or self.static_names or self.bound_to is not None)

    def recording(self, is_inlined: bool = False) -> AbstractContextManager[None]:
        """Inside, the function is traced, perhaps as part of another program."""
        return nullcontext() if self.bound_to is None else self.bound_to.recording(is_inlined)

    def _hashable(self, place: int | str, value: Any) -> Hashable:
        key = typed_key(value)
        try:
            hash(key)
            _refuse_shared_memory(value)
        except TypeError as error:
            name = place if isinstance(place, str) else self.position_name(place)
            raise UnhashableStaticArgumentError(
                function=self.name, argument=name, type=type(value).__name__, reason=str(error)
            ) from error
        return key

    def position_name(self, position: int) -> str:
        """Find the user's name of the argument at a position of the call."""
        names, variadic = self._names_by_position
        if position < len(names):
            return names[position]
        return f"{variadic}[{position - len(names)}]"

    @functools.cached_property
    def _names_by_position(self) -> tuple[list[str], str]:
        """Of positional parameters, and of the one that takes all others."""
        parameters = self._parameter_list()
        variadic = (p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL)
        return [p.name for p in parameters if p.kind in _POSITIONAL], next(variadic, "args")

    def leaf_name(self, path: Sequence[Any], call: Call) -> str:
        """Name of a leaf of `(args, kwargs)`, both without static values: `params['w'][0]`."""
        rest = keystr(tuple(path[2:]))
        if path[0].idx == 1:
            return f"{path[1].key}{rest}"
        return f"{self.position_name(call.positions[path[1].idx])}{rest}"

    def positional_names(self) -> list[str] | None:
        """The names of all positional parameters; None where there may be any number of them."""
        kinds = [p.kind for p in self._parameter_list()]
        if self.parameters is None or inspect.Parameter.VAR_POSITIONAL in kinds:
            return None
        return self._names_by_position[0]

    def bound(self, to: Watched) -> "Signature":
        """Make the signature of a bound method."""
        return replace(self._without_self, bound_to=to)

    @functools.cached_property
    def _without_self(self) -> "Signature":
        """The same, of static positions that are counted from `self`, and no object."""
        parameters = self.parameters
        if parameters is not None:
            parameters = parameters.replace(parameters=list(parameters.parameters.values())[1:])
        positions = tuple(p if p < 0 else p - 1 for p in self.static_positions if p != 0)
        return replace(self, parameters=parameters, static_positions=positions)

    def takes(self, name: str) -> bool:
        """Whether a parameter has this name, as far as Python knows."""
        kinds = {p.name: p.kind for p in self._parameter_list()}
        any_name = self.parameters is None or inspect.Parameter.VAR_KEYWORD in kinds.values()
        return any_name or kinds.get(name, inspect.Parameter.VAR_POSITIONAL) not in _VARIADIC

    def _parameter_list(self) -> list[inspect.Parameter]:
        return [] if self.parameters is None else list(self.parameters.parameters.values())

    def declared(self) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """Abstract arguments by the type hints, or None where they do not say them all."""
        if self.parameters is None or self.static_positions or self.static_names:
            return None
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for parameter in self._parameter_list():
            if parameter.name in self.bound_names:
                continue
            hint = None if parameter.kind in _VARIADIC else declared_type(parameter.annotation)
            if hint is None:
                return None
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                kwargs[parameter.name] = hint
            else:
                args.append(hint)
        return tuple(args), kwargs


def _refuse_shared_memory(value: Any) -> None:
    """`TypeError` of tensors, which are told apart by where they are, not by what they hold."""
    if isinstance(value, tuple | frozenset):
        for each in value:
            _refuse_shared_memory(each)
    elif dlpack.is_exchanged(value):
        raise TypeError("its values may change: pass numbers, as tuple(x.tolist()) gives them")


def declared_type(hint: Any) -> Any | None:
    """Read a type hint as a pytree of abstract values; None for any hint that is none."""
    if hint is inspect.Parameter.empty or hint is None:
        return None
    leaves, tree = jax.tree_util.tree_flatten(hint)
    types = [_declared_leaf(leaf) for leaf in leaves]
    if not types or any(leaf is None for leaf in types):
        return None
    return tree.unflatten(types)


def _declared_leaf(hint: Any) -> Any | None:
    if isinstance(hint, type):
        return jax.typeof(_SCALAR_HINTS[hint]) if hint in _SCALAR_HINTS else None
    if isinstance(hint, jax.ShapeDtypeStruct):
        return jax.typeof(hint)
    return hint if isinstance(hint, ShapedArray) else None


def signature_of(
    function: Callable[..., Any],
    static_argnums: int | Iterable[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
) -> Signature:
    """Read a function's signature and check that the static arguments exist."""
    name = function_name(function)
    positions = _indices(static_argnums)
    names = frozenset(_names(static_argnames))
    bound = frozenset(function.keywords) if isinstance(function, functools.partial) else frozenset()
    parameters = _parameters(function)
    if parameters is None:
        return Signature(name, None, positions, names, bound)
    kinds = {p.name: p.kind for p in parameters.parameters.values()}
    positional = [n for n, kind in kinds.items() if kind in _POSITIONAL]
    if inspect.Parameter.VAR_POSITIONAL not in kinds.values():
        positions = _counted_from_the_start(name, positions, len(positional))
    if unknown := names - kinds.keys():
        if inspect.Parameter.VAR_KEYWORD not in kinds.values():
            raise UnknownStaticArgumentError(
                function=name, names=tuple(sorted(unknown)), parameters=tuple(kinds)
            )
    by_keyword = {positional[p] for p in positions if 0 <= p < len(positional)}
    by_position = {p for p, n in enumerate(positional) if n in names}
    return Signature(
        name, parameters, tuple(sorted({*positions, *by_position})), names | by_keyword, bound
    )


def function_name(function: Callable[..., Any]) -> str:
    """Find the user's name for a function, of whatever kind of callable it is."""
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__name__", None) or type(function).__name__


def misfit(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """What is wrong with arguments for a function, in Python's words; nothing if they fit."""
    parameters = _parameters(function)
    try:
        if parameters is not None:
            parameters.bind(*args, **kwargs)
    except TypeError as error:
        return str(error)
    return ""


def _counted_from_the_start(name: str, positions: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Positions without negative numbers, all of them of parameters that exist."""
    for position in positions:
        if not -count <= position < count:
            raise StaticArgumentOutOfRangeError(function=name, position=position, count=count)
    return tuple(sorted({p % count for p in positions}))


def _parameters(function: Callable[..., Any]) -> inspect.Signature | None:
    """Read the signature, with string annotations evaluated where that is possible."""
    try:
        return inspect.signature(function, eval_str=True)
    except (NameError, SyntaxError, AttributeError, TypeError):
        # A hint names something that is not there (a TYPE_CHECKING import): no declaration.
        pass
    except ValueError:
        return None
    try:
        return inspect.signature(function)
    except (ValueError, TypeError):
        return None


def _indices(value: int | Iterable[int] | None) -> tuple[int, ...]:
    if value is None:
        return ()
    items = (value,) if not isinstance(value, Iterable) else tuple(value)
    return tuple(item.__index__() for item in items)


def _names(value: str | Iterable[str] | None) -> tuple[str, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(value)
