"""Errors of JAX's transformations on QNodes."""

from dataclasses import dataclass
from typing import ClassVar

from diastase_runtime.errors import DiastaseError


@dataclass(eq=False, kw_only=True)
class QuantumTransformError(DiastaseError, NotImplementedError):
    """A JAX transformation reached a QNode.

        qjit(jax.vmap(circuit))

    Differentiation and batching of QNodes are not there yet; loop over the points with
    `diastase.for_loop` instead.
    """

    title: ClassVar[str] = "Not supported yet"
    message: ClassVar[str] = "{transform} of the QNode {name}"
    help: ClassVar[str] = "derivatives and batches of QNodes come with a later version"
    name: str
    transform: str
