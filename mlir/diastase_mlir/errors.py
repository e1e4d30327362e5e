"""The compiler's errors: lowering, passes, code generation, linking."""

from dataclasses import dataclass
from typing import ClassVar

from diastase_runtime.errors import DiastaseError


@dataclass(eq=False, kw_only=True)
class LoweringError(DiastaseError, NotImplementedError):
    """An operation of the traced program that cannot be compiled.

    Nearly every JAX primitive compiles; one that does not says why. Move the operation out of
    the compiled function, or behind `jax.pure_callback`.
    """

    title: ClassVar[str] = "Cannot compile this operation"
    message: ClassVar[str] = "{primitive}: {reason}"
    label: ClassVar[str] = "{primitive} comes from here"
    help: ClassVar[str] = "compute it outside of the compiled function and pass the result in"
    primitive: str
    reason: str


@dataclass(eq=False, kw_only=True)
class UnsupportedTypeError(DiastaseError, TypeError):
    """A value whose type compiled code has no representation for.

    Compiled programs hold arrays of bool, integers of 8 to 64 bits, float16, bfloat16, float32,
    float64, complex64 and complex128, and PRNG keys. Convert to one of them.
    """

    title: ClassVar[str] = "Unsupported type"
    message: ClassVar[str] = "compiled programs cannot hold values of type {what}"
    help: ClassVar[str] = "convert to one of bool, int8…uint64, float16…float64, complex64/128"
    what: str
