"""Errors about names that there are not, here or under the name of Catalyst."""

from typing import ClassVar

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
