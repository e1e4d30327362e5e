"""The public names: what users may call and catch, where they find it, and what kind it is of.

`python docs/public_names.py` lists them. The reference pages are made of them, and a test holds
each to what a docstring must say (`tests/test_reference.py`).

Public are the names in `__all__` of the modules below, the classes of what public functions give,
and the members of all these classes that have no underscore. A name that several modules have is
listed once, where users are told to import it from.
"""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from types import GenericAlias, ModuleType
from typing import Any, Literal

MODULES = (
    "diastase", "diastase.debug", "diastase.passes", "diastase.passes.values", "diastase.pipelines",
    "diastase.distributed", "diastase.testing", "diastase.jaxpr", "diastase.errors",
    "diastase.autograph", "diastase.jit", "diastase.utils", "diastase.utils.exceptions",
    "diastase_runtime", "diastase_runtime.distributed",
)  # fmt: skip
"""In the order of the reference; of a name in several, the first has it."""

GIVEN = {
    "diastase.api.control_flow": ("Conditional", "Switch"),
    "diastase.callbacks.pure": ("PureCallback",),
    "diastase.jit.stages.stages": ("Traced", "Lowered", "Compiled"),
    "diastase.inspection.report": ("Report",),
    "diastase.inspection.explorer.page": ("Page",),
    "diastase.inspection.costs": ("CircuitCosts", "MemoryStatistics"),
    "diastase.inspection.resources.results": ("CompiledSpecs", "CompiledResources"),
    "diastase.debugging.profiling": ("Profile", "ProgramProfile"),
    "diastase_runtime.distributed.futures": ("MappedFutures",),
}
"""Classes of what public functions give; users see them and need not import them."""

BETWEEN_LAYERS = {
    "diastase.QJIT": ("compiled_for", "like", "derived", "programs", "signature"),
    "diastase.CompileOptions": (
        "but", "circuit_passes", "directory", "for_compiler", "learns_sizes", "report", "single",
    ),
    "diastase.jit.stages.stages.Compiled": (
        "alternatives", "compilation", "direct_call", "found_module", "module", "prepared",
    ),
    "diastase.passes.Circuit": ("auxiliary_wire", "of", "refresh"),
    "diastase.passes.New": ("create",),
    "diastase.inspection.resources.results.CompiledResources": ("shown",),
    "diastase.jit.stages.stages.Lowered": ("module",),
    "diastase_runtime": (
        "EngineWork", "Executable", "LARGEST_COPIED_RESULT", "Observer", "blas_core", "c_source",
        "exchange_engine", "observe",
    ),
    "diastase_runtime.SavedFunction": ("calls",),
    "diastase_runtime.distributed": ("map_content",),
    "diastase.debugging.profiling.Profile": ("call", "callback", "entry", "loaded"),
}  # fmt: skip
"""Without an underscore since other rooms of ours use them: no promise to users."""

Kind = Literal["class", "data", "error", "function", "method", "module", "property"]


@dataclass(frozen=True)
class PublicName:
    """A name, as a user writes it: `diastase.debug.print`, `diastase.QJIT.save`."""

    module: str
    """From which it is imported."""
    qualified: str
    """In the module: `QJIT.save`."""
    value: Any
    """What it is; of a property, the property."""
    kind: Kind

    def __str__(self) -> str:
        return f"{self.module}.{self.qualified}"

    @cached_property
    def docstring(self) -> str:
        """Its own, without indentation; empty where there is none, or only that of a base."""
        if self.kind == "data" or not getattr(self.value, "__doc__", None):
            return ""
        if self.kind == "method" or not isinstance(self.value, type):
            return inspect.cleandoc(self.value.__doc__)
        return inspect.cleandoc(vars(self.value).get("__doc__") or "")


def public_names() -> Iterator[PublicName]:
    """All of them: module by module, a class before its members."""
    seen: set[int] = set()
    for module in MODULES:
        yield from _of_module(module, _listed(module), seen)
    for module, classes in GIVEN.items():
        yield from _of_module(module, classes, seen)


def _of_module(module: str, names: tuple[str, ...], seen: set[int]) -> Iterator[PublicName]:
    for name in names:
        value = getattr(_module(module), name)
        if name in BETWEEN_LAYERS.get(module, ()) or (id(value) in seen and _is_one(value)):
            continue
        seen.add(id(value))
        yield PublicName(module, name, value, _kind(value))
        if isinstance(value, type) and not issubclass(value, BaseException):
            yield from _members(module, name, value, seen)


def _members(module: str, name: str, of: type, seen: set[int]) -> Iterator[PublicName]:
    """What a class and its bases of ours define; what several inherit is that of the first."""
    left_out = {*BETWEEN_LAYERS.get(f"{module}.{name}", ())}
    for base in of.__mro__:
        if not base.__module__.startswith("diastase"):
            continue
        for member, value in vars(base).items():
            kind = _member_kind(value)
            if member.startswith("_") or member in left_out or kind is None:
                continue
            left_out.add(member)
            if id(value) not in seen:  # `llvmir` is `llvm_ir`
                seen.add(id(value))
                yield PublicName(module, f"{name}.{member}", value, kind)


def _listed(module: str) -> tuple[str, ...]:
    found = _module(module)
    defined = (name for name, value in vars(found).items() if _is_defined_in(value, found))
    return tuple(getattr(found, "__all__", None) or defined)


def _is_defined_in(value: Any, module: ModuleType) -> bool:
    """Of modules without `__all__`: their own functions, without an underscore."""
    own = inspect.isfunction(value) and value.__module__ == module.__name__
    return own and not value.__name__.startswith("_")


def _module(name: str) -> ModuleType:
    """A module, or what is one as an attribute of another: `diastase.passes.values`."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        parent, _, last = name.rpartition(".")
        return getattr(import_module(parent), last)


def _kind(value: Any) -> Kind:
    if isinstance(value, ModuleType):
        return "module"
    if isinstance(value, type):
        return "error" if issubclass(value, BaseException) else "class"
    is_alias = isinstance(value, GenericAlias) or type(value).__module__ == "typing"
    return "function" if callable(value) and not is_alias else "data"


def _member_kind(value: Any) -> Kind | None:
    if isinstance(value, property | cached_property):
        return "property"
    is_method = inspect.isfunction(value) or isinstance(value, classmethod | staticmethod)
    return "method" if is_method else None


def _is_one(value: Any) -> bool:
    """Whether a thing is told from others by where it is, as `True` is not."""
    return not isinstance(value, bool | int | str | None)


if __name__ == "__main__":
    for public in public_names():
        print(f"{public.kind:10}{public}")
