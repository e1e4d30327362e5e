"""Which functions are converted: those of the user, and of modules that `autograph_include` names.

Left alone are the standard library, JAX, NumPy, SciPy, PennyLane, packages built on these, and us.
"""

import sys
from functools import lru_cache
from types import FunctionType, MemberDescriptorType, ModuleType
from typing import Any

from diastase.capture.context import current_settings

_LIBRARIES = frozenset(
    {
        "autograd", "autoray", "catalyst", "chex", "diastase", "diastase_mlir", "diastase_runtime",
        "equinox", "flax", "jax", "jaxlib", "jaxopt", "malt", "networkx", "numpy", "optax",
        "pennylane", "pennylane_lightning", "pytest", "rustworkx", "scipy", "sympy",
    }
)  # fmt: skip
_EXCLUDED = _LIBRARIES | (sys.stdlib_module_names - {"__main__"})
_TAKE_FUNCTIONS = frozenset({"diastase", "catalyst", "jax", "jaxopt", "optax", "pennylane"})


def is_excluded(obj: Any) -> bool:
    """Whether a function or class belongs to a module that is left alone."""
    module = _module_of(obj)
    if module.partition(".")[0] not in _EXCLUDED:
        return False
    included = current_settings().autograph_include
    return not any(module == name or module.startswith(f"{name}.") for name in included)


def is_of_user_class(value: Any) -> bool:
    """Whether an object is of a class of the user's; not so classes, modules and functions."""
    return not (isinstance(value, type | ModuleType | FunctionType) or is_excluded(type(value)))


@lru_cache(1024)
def slots_of(kind: type) -> tuple[str, ...]:
    """The attributes that objects of a class have in `__slots__`."""
    items = (item for base in kind.__mro__ for item in vars(base).items())
    return tuple(name for name, item in items if isinstance(item, MemberDescriptorType))


def takes_functions(function: Any) -> bool:
    """Whether functions given to this one are for programs, so that they are to be converted."""
    if function in (map, filter):
        return True
    return _module_of(function).partition(".")[0] in _TAKE_FUNCTIONS


def _module_of(obj: Any) -> str:
    """The module whose code a function is, also where a decorator has renamed it; or a module."""
    if isinstance(obj, FunctionType):
        return str(obj.__globals__.get("__name__", ""))
    name = "__name__" if isinstance(obj, ModuleType) else "__module__"
    return str(getattr(obj, name, "") or "")


def module_name(module: Any) -> str | None:
    """The name of a module that is given as such or by name."""
    if isinstance(module, ModuleType):
        return module.__name__
    return module if isinstance(module, str) else None
