"""The public names of a module: those that are imported when first used, and what there is not.

    __getattr__ = lazy_names(__name__, {"diastase.mitigation": ("mitigate_with_zne",)})
    __dir__ = public_names(__name__)

In: a module's `__name__`, and its table of names by the module that defines them. A submodule is a
name of its parent: `{"diastase": ("debug",)}`.

The trap: a name in the table must not be imported at the top as well, or it is found at once.
"""

import sys
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from diastase.namespace.errors import UnknownNameError


def lazy_names(module: str, table: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """Make the `__getattr__` of a module: import what the table has, refuse everything else."""
    home = {name: source for source, names in table.items() for name in names}

    def get(name: str) -> Any:
        if name not in home:
            raise unknown_name(module, name)
        source = home[name]
        value = (
            import_module(f"{module}.{name}")
            if source == module
            else getattr(import_module(source), name)
        )
        setattr(sys.modules[module], name, value)
        return value

    return get


def public_names(module: str) -> Callable[[], list[str]]:
    """Make the `__dir__` of a module: the names that it has for its users."""
    return lambda: list(sys.modules[module].__all__)


def unknown_name(module: str, name: str) -> UnknownNameError:
    """Say that a module has no such name, and which ones come close."""
    names = {public.lower(): public for public in dir(sys.modules[module])}
    near = [names[found] for found in get_close_matches(name.lower(), names, n=3)]
    instead = f"did you mean {' or '.join(near)}?" if near else f"dir({module}) lists all names"
    return UnknownNameError(module=module, missing=name, instead=instead)
