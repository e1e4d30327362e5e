"""What the frontend hands to the compiler: a traced program, as data.

The jaxpr is JAX's own, over *symbolic* dimensions (`jax.export` dimension expressions in the
shapes of its variables), at any depth of nesting. Where a symbol takes its value is not in the
jaxpr; `DimensionBindings` says it, keyed by the jaxpr's own variables: lowering sets a symbol as
soon as it has lowered the variable that defines it, so a symbol is never used before its
definition, and one defined inside a region is visible in that region only.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from jax.extend.core import ClosedJaxpr, Var


@dataclass(frozen=True)
class DimensionBindings:
    """Where each dimension symbol of a program is defined."""

    values: Mapping[Var, tuple[str, ...]] = field(default_factory=dict)
    """Scalar integer variables that *are* the value of these symbols."""
    axes: Mapping[Var, tuple[tuple[str, int], ...]] = field(default_factory=dict)
    """Arrays whose size along an axis defines a symbol: `(symbol, axis)` pairs."""


@dataclass(frozen=True)
class Program:
    """A traced program: `Traced` in the API holds one, `lower` takes one."""

    name: str
    """The user's name for it; for messages and printed IR, never a linker symbol."""
    jaxpr: ClosedJaxpr
    dimensions: DimensionBindings = field(default_factory=DimensionBindings)
