"""What reads the value of an option: `(option, value) -> value`, or an error with what it takes.

Each is one line in the table of options (`diastase.jit.options.options`).
"""

import operator
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any

import jax
import numpy as np

from diastase.jit.options.errors import InvalidOptionError, UnsupportedOptionError

Reader = Callable[[str, Any], Any]

INTERMEDIATE: dict[Any, str] = {
    None: "none", "none": "none", False: "none",  # also 0
    True: "stage", "stage": "stage", "pipeline": "stage",  # also 1
    2: "changed", "changed": "changed", 3: "pass", "pass": "pass",
}  # fmt: skip


def is_array(value: Any) -> bool:
    """Whether a value is an array, which is neither true nor false, and no option's value."""
    return isinstance(value, np.ndarray | jax.Array)


def flag(option: str, value: Any) -> bool:
    """Read True or False; None is False, as in Catalyst."""
    if value is None or isinstance(value, bool | np.bool_):
        return bool(value)
    raise InvalidOptionError(option=option, value=repr(value), allowed="True or False")


def one_of(*allowed: Any) -> Reader:
    """Make what reads one of these values."""
    return named({value: value for value in allowed})


def named(table: Mapping[Any, Any]) -> Reader:
    """Make what looks values up; several may mean the same."""

    def read(option: str, value: Any) -> Any:
        try:
            return table[value]
        except (KeyError, TypeError):
            allowed = ", ".join(repr(key) for key in table)
            raise InvalidOptionError(option=option, value=repr(value), allowed=allowed) from None

    return read


def only(default: Any, *, instead: str) -> Reader:
    """Make what refuses everything but the default (and nothing), and says what to use instead."""

    def read(option: str, value: Any) -> Any:
        if not is_array(value) and (value == default or not (value or default)):
            return default
        raise UnsupportedOptionError(option=option, value=repr(value), instead=instead)

    return read


def seed_number(option: str, value: Any) -> int | None:
    """Read a number that 32 bits can hold, or none."""
    if value is None:
        return None
    number = None if isinstance(value, bool | np.bool_) else _integer(value)
    if number is None or not 0 <= number < 2**32:
        allowed = "None or an unsigned 32-bit integer, from 0 to 2**32 - 1"
        raise InvalidOptionError(option=option, value=repr(value), allowed=allowed)
    return number


def writable(option: str, value: Any) -> Any:
    """Read something to write text to, or none."""
    if value is None or hasattr(value, "write"):
        return value
    raise InvalidOptionError(option=option, value=repr(value), allowed="an open text file, or None")


def positions(option: str, value: Any) -> tuple[int, ...]:
    """Read one number or several."""
    found = [_integer(item) for item in _several(value)]
    if None in found:
        allowed = "the position of an argument, or several in a tuple"
        raise InvalidOptionError(option=option, value=repr(value), allowed=allowed)
    return tuple(number for number in found if number is not None)


def names(option: str, value: Any) -> tuple[str, ...]:
    """Read one name or several."""
    found = _several(value)
    if any(not isinstance(item, str) for item in found):
        allowed = "the name of an argument, or several in a tuple"
        raise InvalidOptionError(option=option, value=repr(value), allowed=allowed)
    return found


def modules(option: str, value: Any) -> tuple[str, ...]:
    """Read modules or their names, in a list."""
    found = () if value is None or isinstance(value, str) else _several(value)
    read = tuple(part.__name__ if isinstance(part, ModuleType) else part for part in found)
    if isinstance(value, str) or any(not isinstance(part, str) for part in read):
        allowed = "a list of modules, or of their names"
        raise InvalidOptionError(option=option, value=repr(value), allowed=allowed)
    return read


def _several(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    single = isinstance(value, str) or not isinstance(value, Iterable)
    return (value,) if single else tuple(value)


def _integer(value: Any) -> int | None:
    try:
        return operator.index(value)
    except TypeError:
        return None
