"""Errors about operations inside functions that something else than diastase calls."""

from dataclasses import dataclass
from typing import ClassVar

from diastase_runtime.errors import DiastaseError, Span


class ForeignRegionError(DiastaseError, NotImplementedError):
    """A quantum operation inside a function that something else than diastase calls.

    Inside `jax.grad`, `jax.jvp`, …, operations would be applied a wrong number of times, so they
    are refused. `jax.lax.cond`, `switch`, `while_loop`, `fori_loop`, `scan`, `map` and `jax.vmap`
    may contain operations if they are looked up where JAX has them: `jax.lax.scan(…)`, not
    `from jax.lax import scan` before diastase is imported.

    Inside a quantum function that PennyLane turns into an operator or a tape (`qml.prod`,
    `qml.matrix`), loops, branches and `measure` of diastase have no place. `adjoint` and `ctrl`
    take functions with loops and branches.
    """

    title: ClassVar[str] = "Not supported yet"
    message: ClassVar[str] = "{operation} inside {region}"
    label: ClassVar[str] = "applied here"
    help: ClassVar[str] = "{hint}"
    operation: str
    region: str
    hint: str


@dataclass(frozen=True)
class ForeignRegion:
    """A kind of function that something else than diastase calls, and what to do instead."""

    description: str
    hint: str

    def refusal(self, operation: str, span: Span | None = None) -> ForeignRegionError:
        """The error for an operation in it."""
        return ForeignRegionError(
            operation=operation, region=self.description, hint=self.hint, span=span
        )
