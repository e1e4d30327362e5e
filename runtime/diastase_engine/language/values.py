"""Values that meet while a kernel is compiled.

A *static* value is any Python object. The classes here are the others: `Dynamic` (an LLVM value
with its type), `Slot` (a variable: an address on the stack frame, promoted to a register by LLVM)
and `Registers` (a fixed row of slots that is indexed by static integers).
"""

from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from diastase_engine.language.types import Type


@dataclass(frozen=True)
class Dynamic:
    """A value that the compiled kernel computes."""

    type: Type
    value: ir.Value


@dataclass(frozen=True)
class Slot:
    """A variable of the compiled kernel."""

    type: Type
    address: ir.Value


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
