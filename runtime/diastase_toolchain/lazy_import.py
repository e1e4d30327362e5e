"""Modules that are imported when something of theirs is first used.

    if TYPE_CHECKING:
        from diastase_mlir import compilation
    else:
        compilation = LazyModule("diastase_mlir.driver.compilation")

So type checkers and the check of our layers see an import like any other, and importing diastase
does not wait for what most programs never use. Signals wait for an import: one that is left halfway
cannot be made again where it registers something, as dialects are.
"""

import sys
from contextlib import nullcontext
from importlib import import_module
from typing import Any

from diastase_toolchain.signals import signals_held


class LazyModule:
    """Stands for a module; has what the module has."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        with nullcontext() if self._name in sys.modules else signals_held():
            module = import_module(self._name)
        value = getattr(module, attribute)
        setattr(self, attribute, value)
        return value

    def __repr__(self) -> str:
        return f"<{self._name}, imported when it is used>"
