"""What is known of a block of a circuit's module while it is read, and the equations made of it.

What passes compute with, `arith` and `math` on numbers, are JAX's functions (`equation_of`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.core import ShapedArray
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
    measured: set[int] = field(default_factory=set[int])
    """Equations of measurements whose outcomes have been read, by identity."""
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


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "arith.addf": lax.add, "arith.subf": lax.sub, "arith.mulf": lax.mul, "arith.divf": lax.div,
    "arith.remf": lax.rem, "arith.negf": lax.neg, "arith.maximumf": lax.max,
    "arith.minimumf": lax.min, "arith.xori": lax.bitwise_xor, "arith.andi": lax.bitwise_and,
    "arith.select": lax.select, "arith.addi": lax.add, "arith.subi": lax.sub, "arith.muli": lax.mul,
    "math.absf": lax.abs, "math.acos": lax.acos, "math.acosh": lax.acosh, "math.asin": lax.asin,
    "math.asinh": lax.asinh, "math.atan": lax.atan, "math.atan2": lax.atan2,
    "math.atanh": lax.atanh, "math.cbrt": lax.cbrt, "math.ceil": lax.ceil, "math.cos": lax.cos,
    "math.cosh": lax.cosh, "math.erf": lax.erf, "math.exp": lax.exp, "math.expm1": lax.expm1,
    "math.floor": lax.floor, "math.log": lax.log, "math.log1p": lax.log1p, "math.powf": lax.pow,
    "math.roundeven": lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
    "math.rsqrt": lax.rsqrt, "math.sin": lax.sin, "math.sinh": lax.sinh, "math.sqrt": lax.sqrt,
    "math.tan": lax.tan, "math.tanh": lax.tanh,
}  # fmt: skip
"""By the names of operations."""

_TYPES = {"f64": np.dtype(np.float64), "i64": np.dtype(np.int64), "i1": np.dtype(np.bool_)}
_AVALS = {name: ShapedArray((), dtype) for name, dtype in _TYPES.items()}


def aval_of(value: ir.Value) -> ShapedArray | None:
    """The abstract value of a number that a pass has made; None for what is no number."""
    return _AVALS.get(str(value.type))


@dataclass(frozen=True)
class Template:
    """An equation of its own variables, and which operand of the operation each of them is."""

    equation: Any
    places: tuple[int, ...]


def equation_of(operation: ir.Operation) -> Template | None:
    """An equation that computes what an operation does; None if unknown."""
    kinds = tuple(str(value.type) for value in operation.operands)
    if operation.name not in _FUNCTIONS or not _TYPES.keys() >= set(kinds):
        return None
    return _equation(operation.name, kinds)


@cache
def _equation(name: str, kinds: tuple[str, ...]) -> Template:
    operands = [jax.ShapeDtypeStruct((), _TYPES[kind]) for kind in kinds]
    jaxpr = jax.make_jaxpr(_FUNCTIONS[name])(*operands).jaxpr
    (equation,) = jaxpr.eqns
    return Template(equation, tuple(map(jaxpr.invars.index, equation.invars)))
