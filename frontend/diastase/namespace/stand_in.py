"""diastase under Catalyst's name, for programs that are not to be changed at all.

While it stands in, `import catalyst` gives the module `diastase` itself, `catalyst.debug` is
`diastase.debug`, and `@qml.qjit` without `compiler=` compiles here.

The trap: `import catalyst.x` looks for `x` in the folder of the module `catalyst`, which is ours,
and would load our file a second time. So modules that Catalyst has stand in `sys.modules`, and a
finder before all others refuses the rest.
"""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import MetaPathFinder
from threading import RLock
from typing import Any

from diastase.capture.pennylane_compat import stand_in_for_catalyst
from diastase.namespace.lazy_names import CatalystImportedError, NoSuchModuleError

_MODULES = (
    "", ".autograph", ".debug", ".jit", ".passes", ".pipelines", ".utils", ".utils.exceptions",
)  # fmt: skip

_INSTEAD = {
    "from_plxpr": "PennyLane's own jaxprs are not made with this version of JAX; "
    "qjit(f).trace(*args).jaxpr is the jaxpr of a program, with its circuits",
    "jax_primitives": "rules of decomposition are given to PennyLane: qml.add_decomps, "
    "or qml.transforms.decompose(fixed_decomps=…, alt_decomps=…) on the QNode",
}
"""Modules that Catalyst documents, of its own frontend: what to use."""


@contextmanager
def acting_as_catalyst() -> Generator[None]:
    """Inside, `import catalyst` gives diastase, and PennyLane's default compiler is ours.

    `import diastase.as_catalyst` does the same for the rest of the process.

    Yields:
        Nothing.

    Raises:
        CatalystImportedError: an `ImportError`, if another `catalyst` has been imported before.

    Example:
        >>> from diastase import acting_as_catalyst
        >>> with acting_as_catalyst():
        ...     import catalyst
        ...     catalyst.__name__
        'diastase'

    """
    end = act_as_catalyst()
    try:
        yield
    finally:
        end()


class _Entered:
    """How often we act as Catalyst, in all threads, and what ends it when none does any more."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.count = 0
        self.end: Callable[[], None] = lambda: None


_entered = _Entered()


def act_as_catalyst() -> Callable[[], None]:
    """Give `import catalyst` our modules, from now on; returns what ends that.

    Blocks may overlap, those of several threads in any order: the last one that ends undoes it.
    """
    with _entered.lock:
        if _entered.count == 0:
            _entered.end = _install()
        _entered.count += 1

    def end() -> None:
        with _entered.lock:
            _entered.count -= 1
            if _entered.count == 0:
                _entered.end()

    return end


def _install() -> Callable[[], None]:
    there = sys.modules.get("catalyst")
    if there is not None:
        raise CatalystImportedError(file=str(getattr(there, "__file__", there)))
    modules = {f"catalyst{name}": import_module(f"diastase{name}") for name in _MODULES}
    end_in_pennylane = stand_in_for_catalyst()
    sys.modules.update(modules)
    others = _OtherModules()
    sys.meta_path.insert(0, others)

    def end() -> None:
        end_in_pennylane()
        sys.meta_path.remove(others)
        for name in [name for name in sys.modules if f"{name}.".startswith("catalyst.")]:
            del sys.modules[name]

    return end


class _OtherModules(MetaPathFinder):
    """Finds modules of Catalyst's that are not in `sys.modules`: there are none."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        if fullname.startswith("catalyst."):
            there = ", ".join(f"catalyst{name}" for name in _MODULES)
            instead = _INSTEAD.get(fullname.split(".")[1], f"there are {there}")
            raise NoSuchModuleError(module=fullname, instead=instead)
