"""The public names of a module: those that are imported when first used, and what there is not.

    __getattr__ = lazy_names(__name__, {"diastase.mitigation": ("mitigate_with_zne",)})
    __dir__ = public_names(__name__)

In: a module's `__name__`, and its table of names by the module that defines them. A submodule is a
name of its parent: `{"diastase": ("debug",)}`. The errors about names that there are not, here or
under the name of Catalyst, stand here, too.

The trap: a name in the table must not be imported at the top as well, or it is found at once.
"""

import sys
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any, ClassVar

from diastase_runtime.errors import DiastaseError


class UnknownNameError(DiastaseError, AttributeError):
    """A name that diastase, or a module of it, does not have.

        diastase.Qjit

    The help has the names that come close; `dir(diastase)` shows all of them.
    """

    title: ClassVar[str] = "No such name"
    message: ClassVar[str] = "{module} has no {missing}"
    help: ClassVar[str] = "{instead}"
    module: str
    missing: str
    instead: str


class CatalystImportedError(DiastaseError, ImportError):
    """`import diastase.as_catalyst` after something has imported another `catalyst`.

        import catalyst
        import diastase.as_catalyst

    Functions that were imported from it would go on being its own. Import `diastase.as_catalyst`
    first, in a new process.
    """

    title: ClassVar[str] = "Another catalyst is there already"
    message: ClassVar[str] = "`catalyst` has been imported from {file}"
    help: ClassVar[str] = "import diastase.as_catalyst before anything that imports catalyst"
    file: str


class NoSuchModuleError(DiastaseError, ModuleNotFoundError):
    """`import catalyst.x` of a module that diastase does not have under Catalyst's name.

        import diastase.as_catalyst
        import catalyst.compiler

    What Catalyst documents is in `catalyst`, `catalyst.debug`, `catalyst.passes` and a few others;
    modules of its implementation have no counterpart here.
    """

    title: ClassVar[str] = "No such module"
    message: ClassVar[str] = "diastase, which stands in for catalyst, has no {module}"
    help: ClassVar[str] = "{instead}"
    module: str
    instead: str


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
