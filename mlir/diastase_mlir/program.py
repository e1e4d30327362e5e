"""What the frontend hands to the compiler: a traced program, as data.

The jaxpr is JAX's own, over *symbolic* dimensions (`jax.export` dimension expressions in the
shapes of its variables), at any depth of nesting. Where a symbol takes its value is not in the
jaxpr; `DimensionBindings` says it, keyed by the jaxpr's own variables: lowering sets a symbol as
soon as it has lowered the variable that defines it, so a symbol is never used before its
definition, and one defined inside a region is visible in that region only.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from jax.extend.core import ClosedJaxpr, Var

from diastase_runtime.errors import Span

Comparison = Literal[">=", "<", "==", "!="]


@dataclass(frozen=True)
class DimensionBindings:
    """Where each dimension symbol of a program is defined."""

    values: Mapping[Var, tuple[str, ...]] = field(default_factory=dict)
    """Scalar integer variables that *are* the value of these symbols."""
    axes: Mapping[Var, tuple[tuple[str, int], ...]] = field(default_factory=dict)
    """Arrays whose size along an axis defines a symbol: `(symbol, axis)` pairs."""
    solved: Mapping[str, Any] = field(default_factory=dict)
    """Symbols that have their values from others: `m` is `s // 2` where an axis has size `2*m`."""


@dataclass(frozen=True)
class Assumption:
    """`left comparison right` was taken to hold while tracing: the program must not run else."""

    number: int
    """Its place in `Program.assumptions`."""
    left: Any
    right: Any
    """Dimension expressions or numbers."""
    comparison: Comparison
    text: str
    """The same in the user's words: `n >= 2`, `x.shape[0] == n`."""
    question: str
    """What was asked, whatever the answer; the same in every trace of the same function."""
    span: Span | None
    at_start: bool
    """Checked before anything else; if not, by an equation `assume` of the jaxpr."""


@dataclass(frozen=True)
class Program:
    """A traced program: `Traced` in the API holds one, `lower` takes one."""

    name: str
    """The user's name for it; for messages and printed IR, never a linker symbol."""
    jaxpr: ClosedJaxpr
    dimensions: DimensionBindings = field(default_factory=DimensionBindings)
    assumptions: tuple[Assumption, ...] = ()
    argument_names: tuple[str, ...] = ()
    """The user's words for the arguments, for printed IR."""
