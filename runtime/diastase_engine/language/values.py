"""Values that meet while a kernel is compiled, and the names that stand for them in one body.

A *static* value is any Python object. The classes here are the others: `Dynamic` (an LLVM value
with its type), `Slot` (a variable: an address on the stack frame, promoted to a register by LLVM)
and `Registers` (a fixed row of slots that is indexed by static integers).

`Scope` has the names of one function body, or of one expansion of an inline function. The rule that
keeps static values honest is there: a static name may not change inside a run-time block, for
whether the block runs is not known; and names first bound in a block end with it.
"""

import builtins
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir

from diastase_engine.language.functions import Source
from diastase_engine.language.types import Type


@dataclass(frozen=True)
class Dynamic:
    """A value that the compiled kernel computes."""

    type: Type
    value: ir.Value
    length: int = 0
    """Elements there are from here on, of an array inside of a record; 0: not known."""


@dataclass(frozen=True)
class Slot:
    """A variable of the compiled kernel."""

    type: Type
    address: ir.Value
    phase: int = 0
    """Of the frame when it was declared; see `grids`."""


@dataclass(frozen=True)
class Registers:
    """A row of variables, `registers(v8, 16)`."""

    slots: tuple[Slot, ...]


@dataclass(frozen=True)
class StaticBinding:
    """A name that stands for a static value, and how deep in run-time blocks it was bound."""

    value: Any
    depth: int


Binding = Slot | StaticBinding


def is_static(value: Any) -> bool:
    """Whether a value is known now, lists and tuples of known values included."""
    if isinstance(value, list | tuple):
        return all(is_static(element) for element in value)  # pyright: ignore
    return not isinstance(value, Dynamic | Registers)


@dataclass
class Scope:
    """Bindings of one body, over the globals of its module."""

    source: Source
    depth: int = 0
    """Number of run-time blocks (`if`, loops) around the statement being compiled."""
    names: dict[str, Binding] = field(default_factory=dict)
    returned: Any = None
    """What an inline function returned."""
    result_type: Type | None = None
    """The result type of a kernel; inline functions return anything."""
    is_inline: bool = False
    finished: bool = False
    """An inline function has returned: what follows is not compiled."""

    def lookup(self, name: str) -> Binding | None:
        """Return the binding of a local name."""
        return self.names.get(name)

    def global_value(self, name: str) -> Any:
        """Return a name of the kernel's module, or a Python built-in; `NameError` where neither."""
        if name in self.source.globals:
            return self.source.globals[name]
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise NameError(name)

    def bind_static(self, name: str, value: Any) -> bool:
        """Bind a static value; false where that would change a name inside a run-time block."""
        known = self.names.get(name)
        if isinstance(known, StaticBinding) and known.depth < self.depth:
            return False
        self.names[name] = StaticBinding(value, self.depth)
        return True

    @contextmanager
    def block(self) -> Generator[None]:
        """Open a run-time block: names first bound in it are forgotten at its end."""
        outer = dict(self.names)
        self.depth += 1
        yield
        self.depth -= 1
        self.names = {name: binding for name, binding in self.names.items() if name in outer}
