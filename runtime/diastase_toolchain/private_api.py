"""Private names of a library: declared by feature, looked up here, an error where one is missing.

JAX and PennyLane have no public way to some of what a compiler must know or change. Each such name
stands in one table for each library, with the feature that needs it and why. Only names that
modules and classes hold are declared, not the attributes of the objects that these give.

A probe on import: whether a name is there, and whether a function that is to be replaced takes
what its replacement takes for granted. One that fails disables its feature, and the import goes
on: what stands for the name raises `MissingNameError` when it is used, a patch is not applied.
"""

import builtins
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any, TypeVar

from diastase_toolchain.errors import MissingNameError

libraries: "list[PrivateApi]" = []
"""Those that have been imported."""

T = TypeVar("T")

Place = str
"""`module:name`, or `module:Class.name`."""

absent: set[Place] = set()
"""Names that are taken to be missing, whatever the library has: a test removes each in turn."""


@dataclass(frozen=True)
class Need:
    """Names that a feature needs."""

    feature: str
    """As users call it."""
    why: str
    """What public names cannot do."""
    names: Mapping[str, str]
    """By module, the names in it, with spaces between."""

    def places(self) -> list[Place]:
        """Where each name is looked up."""
        return [
            f"{module}:{name}" for module, names in self.names.items() for name in names.split()
        ]


@dataclass(frozen=True)
class Patch:
    """A function that is replaced, once and for good."""

    feature: str
    """As users call it."""
    why: str
    """What the original cannot do."""
    places: Sequence[Place]
    """Where the library looks it up; a name of Python's own becomes one of the module's.

    `module:name?`: in some versions only, and one such place at least. `module:name*`: wherever a
    module of the library holds the same function under this name.
    """
    parameters: str | None = None
    """The names of what it takes, in order, where the replacement counts on it; `|` between those
    of different versions."""


class PrivateApi:
    """The private names of one library, and what we replace in it."""

    def __init__(
        self, package: str, tested: str, needs: Iterable[Need], patches: Mapping[str, Patch]
    ) -> None:
        """`tested`: the versions with which our tests pass, in words."""
        self.needs, self.patches = tuple(needs), patches
        self._package, self._tested = package, tested
        self._modules: Sequence[tuple[dict[str, Any], Any]] = ()
        self.disabled: dict[str, MissingNameError] = {}
        """By feature: the error that says what is missing."""
        self._names: dict[Place, Any] = {}
        for need in self.needs:
            for place in need.places():
                found = _look_up(place)
                if found is None:
                    self._disable(need.feature, place, "is missing")
                    found = _Missing(self.disabled[need.feature])
                self._names[place] = found
        libraries.append(self)

    def module(self, path: str) -> Any:
        """The declared names of a module; a missing one raises an error when it is used."""
        prefix = f"{path}:"
        found = {
            place.removeprefix(prefix): name
            for place, name in self._names.items()
            if place.startswith(prefix)
        }
        assert found, f"no private name of {path} is declared"
        return SimpleNamespace(**found)

    def or_else(self, place: Place, public: T) -> T:
        """A declared name; or what is public, and does the same in more time or in fewer cases."""
        found = self._names[place]
        return public if isinstance(found, _Missing) else found

    def now(self, place: Place) -> Any:
        """What is under a declared name now: perhaps not what was there on import."""
        return _look_up(place) or self._names[place]

    def patch(self, point: str, replace: Callable[[Any], Any]) -> None:
        """Put `replace(function)` into the places of an entry, if what is there is what we know."""
        patch = self.patches[point]
        found = {place: _look_up(place.rstrip("?*")) for place in patch.places}
        there = {place: function for place, function in found.items() if function is not None}
        for place in found:
            if place not in there and (not there or not place.endswith("?")):
                return self._disable(patch.feature, place, "is missing")
        for place, function in there.items():
            taken = "" if patch.parameters is None else _parameters(function)
            if patch.parameters is not None and taken not in patch.parameters.split(" | "):
                return self._disable(patch.feature, place, f"takes other arguments ({taken})")
        once = cache(replace)  # what is one function in several places stays one
        for place, function in there.items():
            name = place.rstrip("?*").rpartition(":")[2].rpartition(".")[2]
            holders = self._holders(name, function) if place.endswith("*") else [_holder(place)]
            for holder in holders:
                _set(holder, name, once)

    def require(self, feature: str) -> None:
        """Raise the error of a feature that is off."""
        if feature in self.disabled:
            raise self.disabled[feature]

    def _holders(self, name: str, function: Any) -> list[Any]:
        """The library's modules that have a function under its name."""
        if not self._modules:
            names = [other for other in sys.modules if f"{other}.".startswith(f"{self._package}.")]
            self._modules = [(vars(sys.modules[other]), sys.modules[other]) for other in names]
        return [module for held, module in self._modules if name in held and held[name] is function]

    def _disable(self, feature: str, place: Place, reason: str) -> None:
        self.disabled[feature] = MissingNameError(
            package=f"{self._package} {version(self._package)}",
            name=place.rstrip("?*").replace(":", "."),
            reason=reason,
            feature=feature,
            tested=f"{self._package} {self._tested}",
        )


class _Missing:
    """What stands for a missing name: any use raises the error."""

    def __init__(self, error: MissingNameError) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Any:
        raise self._error

    def _use(self, *_: Any, **__: Any) -> Any:
        raise self._error

    __call__ = __iter__ = __getitem__ = __contains__ = __instancecheck__ = __subclasscheck__ = _use
    __bool__ = __len__ = __hash__ = __enter__ = __exit__ = _use

    def __or__(self, other: Any) -> "_Missing":
        return self  # in `isinstance(x, A | B)`

    __ror__ = __or__


def _look_up(place: Place) -> Any:
    """What there is under a name, None if nothing."""
    module, _, path = place.partition(":")
    if place in absent:
        return None
    try:
        found: Any = import_module(module)
    except ImportError:
        return None
    *holders, name = path.split(".")
    for holder in holders:
        found = getattr(found, holder, None)
    # Python's own functions are looked up in a module when it has none of that name.
    return getattr(found, name, None if holders else getattr(builtins, name, None))


def _holder(place: Place) -> Any:
    """The module or the class that has a name."""
    module, _, path = place.partition(":")
    holder: Any = import_module(module)
    for name in path.split(".")[:-1]:
        holder = getattr(holder, name)
    return holder


def _set(holder: Any, name: str, replace: Callable[[Any], Any]) -> None:
    original = getattr(holder, name, None) or getattr(builtins, name)
    held = vars(holder).get(name)
    if isinstance(held, staticmethod):
        setattr(holder, name, staticmethod(replace(original)))
    elif isinstance(held, classmethod):
        setattr(holder, name, classmethod(replace(held.__func__)))
    else:
        setattr(holder, name, replace(original))


def _parameters(function: Any) -> str:
    """The names of what a function in Python takes, under the wrappers of `jit` and the like."""
    while (inner := getattr(function, "__wrapped__", getattr(function, "fun", None))) is not None:
        function = inner
    code = function.__code__
    return " ".join(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
