"""What lowering hands to the pipeline: a module as bytecode, and what the bytecode cannot hold.

The module holds one public function, `abi.ENTRY_FUNCTION`, from tensors to tensors. Imported
functions are private declarations named by `abi.import_symbol`. Locations are the user's lines.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from diastase_runtime.abi import ArrayType, CallbackType, Site
from diastase_runtime.errors import Span
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    from diastase_mlir import dialects
else:
    dialects = LazyModule("diastase_mlir.dialects")

LOWERED = "mlir"
"""The name of what lowering makes, as if it were a stage of the pipeline."""

EQUATION_KINDS: tuple[str, ...] = ("callback", "lapack", "blas", "fourier", "native")
"""What computes an equation: Python, a routine of LAPACK, of BLAS or of ours, or the program's own
code. One that needs several counts as the first of them."""


@dataclass(frozen=True)
class HostEquation:
    """An equation of the program that runs in Python, and why."""

    primitive: str
    reason: str
    """Why it runs there, as a clause: `the user's own callback`."""
    inputs: tuple[str, ...]
    """Types of its operands, as JAX prints them: `float64[n,3]`."""
    outputs: tuple[str, ...]
    users_own: bool = False
    """Whether the user wrote the Python function: `jax.pure_callback` and the like."""
    span: Span | None = None
    """The user's line."""


@dataclass(frozen=True)
class HostCallback:
    """A Python function that compiled code calls, with the types it was traced for."""

    type: CallbackType
    function: Callable[..., Sequence[np.ndarray]]
    equation: HostEquation | None = None
    """What it computes; unknown where no equation stands behind it."""


@dataclass(frozen=True)
class LoweredModule:
    """A program in MLIR, before any pass."""

    name: str
    bytecode: bytes
    arguments: tuple[ArrayType, ...]
    results: tuple[ArrayType, ...]
    sites: tuple[Site, ...] = ()
    """Index: the `site` operand of operations that may fail at run time."""
    callbacks: tuple[HostCallback, ...] = ()
    equation_kinds: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many equations there are of each of `EQUATION_KINDS`, those of nested jaxprs in place of
    the ones around them."""
    uses_engine: bool = False
    fingerprint: str = ""
    """The same for modules that differ in locations only; empty where lowering did not say it."""
    edits: Mapping[str, str] = field(default_factory=dict[str, str])
    """IR with which the compilation goes on after a stage, by the stage's name (`continuation`)."""

    @property
    def equations(self) -> int:
        """How many equations the program has."""
        return sum(self.equation_kinds.values())

    @property
    def native_equations(self) -> int:
        """How many of them never call Python."""
        return self.equations - self.equation_kinds.get("callback", 0)

    @cached_property
    def text(self) -> str:
        """The module as MLIR text, without locations."""
        return dialects.module_text(self.bytecode)
