"""Types declared by hints: how calls are brought to their form, and the warning if they differ."""

import inspect
import sys
import warnings
from collections.abc import Hashable, Set
from dataclasses import dataclass
from types import FrameType
from typing import Any

from diastase.api.errors import RecompilationWarning
from diastase.api.specialisations import Arguments, types_key
from diastase.tracing.signatures import Signature
from diastase_mlir.diagnostics import is_user_file

_RECOMPILING = "Provided arguments did not match declared signature, recompiling..."


@dataclass(frozen=True)
class Declaration:
    """What a function was compiled for when it was decorated."""

    parameters: inspect.Signature
    bound_names: Set[str]
    """Parameters to which a `functools.partial` gave a value by name."""
    types: Hashable

    @staticmethod
    def of(signature: Signature, arguments: Arguments) -> "Declaration":
        """What is declared, of a function whose types all are."""
        assert signature.parameters is not None
        return Declaration(signature.parameters, signature.bound_names, _strong(arguments))

    def in_place(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments in the places in which the declaration has them, defaults included."""
        bound = self.parameters.bind(*args, **kwargs)
        bound.apply_defaults()
        for name in self.bound_names - kwargs.keys():
            bound.arguments.pop(name)
        return bound.args, bound.kwargs

    def warn_unless_met(self, arguments: Arguments) -> None:
        """Warn of a recompilation; weak types alone are no reason to, nor are JAX's settings."""
        if _strong(arguments) != self.types:
            warnings.warn(_RECOMPILING, RecompilationWarning, stacklevel=_level_of_the_user())


def _strong(arguments: Arguments) -> Hashable:
    """The types of arguments, none of them weak."""
    avals = [aval.update(weak_type=False) for aval in arguments.avals]
    return arguments.tree, types_key(avals)


def _level_of_the_user() -> int:
    """How far up the stack of our caller the user's call is."""
    level = 1
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    return level
