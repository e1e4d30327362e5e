"""The one entry into tracing: a flat function and abstract values in, a `TracedProgram` out.

The caller (`api`) flattens pytrees: `function` takes and returns flat lists of arrays. The jaxpr
is JAX's, over symbolic dimensions, with every `jax.jit` inlined; nothing is ever cached here, so
tracing the same function twice gives two programs whose symbols are unrelated.

The trap: the jaxpr's constants are the concrete arrays that the function closed over. They are
values of the program, not arguments; a function that closes over a *tracer* is refused.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from diastase_mlir.program import DimensionBindings, Program


@dataclass(frozen=True)
class TracedProgram:
    """A traced function: what the compiler takes, and how to read its arguments and results."""

    program: Program
    in_avals: tuple[Any, ...]
    """Abstract values of the flat arguments, weak types included."""
    out_avals: tuple[Any, ...]
    """Abstract values of the flat results; sizes may be symbolic dimensions."""
    sizes: Any
    """Which variables hold the sizes that occur: for the explicit form (`explicit_jaxpr`)."""


def trace(
    function: Callable[..., Sequence[Any]],
    argument_avals: Sequence[Any],
    name: str,
    argument_names: Sequence[str] | None = None,
) -> TracedProgram:
    """Trace `function(*flat arguments) -> flat results` over these abstract values.

    `argument_avals`: `jax.core.ShapedArray`s (`jax.typeof(x)` or `shaped_abstractify(x)`; weak
    types and typed PRNG keys kept). `name`: the user's name for the program.
    `argument_names`: one for each flat argument, used in JAX's messages (`x`, `params['w']`).
    Pytrees are the caller's: flatten before, and remember the tree of the results, e.g. by
    storing it from inside `function`.
    """
    raise NotImplementedError


def is_tracing() -> bool:
    """Whether this thread is inside `trace`: a `qjit` function called now is traced inline."""
    raise NotImplementedError
