"""What is known of a block of a circuit's module while it is being read, and what comes of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr, Primitive

from diastase_mlir.bindings import ir
from diastase_mlir.jax_compat import needed_equations, new_variable, rebuilt


@dataclass(eq=False)
class State:
    """A register, as far as a block has been read."""

    variable: Any


@dataclass(eq=False)
class Block:
    """What is known where a block is being read."""

    outer: "Block | None" = None
    entering: State | None = None
    """The register inside of a branch, which takes that of the outer block."""
    atoms: dict[ir.Value, Any] = field(default_factory=dict[ir.Value, Any])
    states: dict[ir.Value, State] = field(default_factory=dict[ir.Value, State])
    """Of registers, and of bits: the one that they were taken from."""
    wires: dict[ir.Value, ir.Value] = field(default_factory=dict[ir.Value, ir.Value])
    equations: list[Any] = field(default_factory=list[Any])
    captured: dict[Any, Any] = field(default_factory=dict[Any, Any])
    """What the block closes over: from the variable outside to the one inside."""
    entered: State | None = None
    """The outer block's register that the branch has taken."""


@dataclass(frozen=True)
class Reading:
    """A region that has been read: a jaxpr, but for what it closes over."""

    block: Block
    body: ClosedJaxpr
    outside: Mapping[Any, Any]
    """From what it closes over to its own variables."""
    arguments: Sequence[Any]
    equations: Sequence[Any]
    results: Sequence[Any]

    def over(self, operands: Sequence[Any]) -> ClosedJaxpr:
        """The jaxpr that takes these operands, some of which it may not need."""
        leading = [
            self.outside[atom] if atom in self.outside else new_variable(atom.aval)
            for atom in operands
        ]
        return rebuilt(self.body, [*leading, *self.arguments], self.equations, self.results)


class OuterRegister:
    """What stands for the register among the operands of a branch, until it is known."""


REGISTER = OuterRegister()


def needed(
    equations: Sequence[Any], results: Iterable[Any], primitives: Mapping[str, Primitive]
) -> list[Any]:
    """Leave out equations of JAX's that give numbers to nobody: angles of gates that are gone.

    Not what gives integers, which may be sizes.
    """

    def stays(equation: Any) -> bool:
        is_ours = equation.primitive.name in primitives
        return (
            is_ours or bool(equation.effects) or not all(is_spare(v.aval) for v in equation.outvars)
        )

    return needed_equations(equations, results, stays)[0]


def is_spare(aval: Any) -> bool:
    """Whether values of a type are no sizes, and have none that nothing else may know."""
    shape, dtype = getattr(aval, "shape", None), getattr(aval, "dtype", None)
    if shape is None or not all(type(size) is int for size in shape):
        return False
    return isinstance(dtype, np.dtype) and np.issubdtype(dtype, np.inexact)
