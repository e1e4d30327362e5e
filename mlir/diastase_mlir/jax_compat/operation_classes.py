"""Keep MLIR's bindings from looking for Python classes of operations that we do not need.

Whenever the bindings hand out an operation they look for its class: they import a module named
after the dialect, which takes up to 170 ms (`linalg`), and where there is none they search again
each time, which is a tenth of a compilation. An operation without a class of its own has all that
we use: name, operands, results, attributes, regions.

In: the bindings' registry. Classes that somebody imports explicitly are still used.
"""

import sys
from types import ModuleType
from typing import Any

_DIALECTS = (
    "affine bufferization cf complex index linalg llvm math memref quantum scf shape stablehlo "
    "tensor ub"
).split()


def do_without(registry: Any, *others: str) -> None:
    """Let empty modules stand for these dialects, in front of the bindings' own."""
    for dialect in (*_DIALECTS, *others):
        name = f"{__name__}.{dialect}"
        sys.modules.setdefault(name, ModuleType(name, "Deliberately empty."))
    registry.dialect_search_modules = [__name__, *registry.dialect_search_modules]
